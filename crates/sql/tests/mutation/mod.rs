//! Statements of a corpus, and what becomes of them by chance.

/// The tables and functions that the corpus speaks of.
pub const SCHEMA: &str = include_str!("../corpus/schema.sql");
const STATEMENTS: &str = include_str!("../corpus/statements.sql");

/// What takes a token's place, one a line: words, signs and numbers at edges.
const TOKENS: &str = include_str!("../corpus/tokens.txt");

/// xorshift64*
pub struct Random(u64);

impl Random {
    /// Numbers that follow from a seed.
    pub fn of(seed: u64) -> Self {
        // So that seeds side by side begin apart: splitmix64.
        let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self((state ^ (state >> 27)) | 1)
    }

    /// The next number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    /// One of these.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Statements as tokens.
pub struct Corpus {
    statements: Vec<Vec<&'static str>>,
    others: Vec<&'static str>,
}

impl Corpus {
    /// The corpus of this folder.
    pub fn own() -> Self {
        let texts = SCHEMA.split("\n\n").chain(STATEMENTS.split("\n\n"));
        Self { statements: texts.map(tokens).collect(), others: TOKENS.lines().collect() }
    }

    /// A text: one statement or several, mostly with some tokens changed.
    pub fn case(&self, random: &mut Random) -> String {
        let mut tokens = random.one(&self.statements).clone();
        for _ in 0..random.below(6) {
            self.change(&mut tokens, random);
        }
        let mut text = tokens.concat();
        if random.below(12) == 0 {
            with_noise(&mut text, random);
        }
        text
    }

    fn change(&self, tokens: &mut Vec<&'static str>, random: &mut Random) {
        let length = tokens.len();
        if length == 0 {
            return tokens.push(*random.one(&self.others));
        }
        let from = random.below(length);
        let to = (from + random.below(8)).min(length);
        match random.below(10) {
            0 => drop(tokens.drain(from..to)),
            1 => {
                let range = tokens[from..to].to_vec();
                let at = random.below(length);
                tokens.splice(at..at, range);
            }
            2 | 3 => tokens[from] = *random.one(&self.others),
            4 | 5 => drop(tokens.splice(from..from, [" ", *random.one(&self.others), " "])),
            6 => {
                // a part of another statement in place of a part of this one
                let other = random.one(&self.statements);
                let start = random.below(other.len());
                let end = (start + random.below(20)).min(other.len());
                tokens.splice(from..to, other[start..end].iter().copied());
            }
            7 => {
                tokens.insert(to, ")");
                tokens.insert(from, *random.one(&["(", "(SELECT ", "coalesce(", "CAST("]));
            }
            8 => {
                // deep or long
                let times = *random.one(&[2, 10, 70, 500, 3000]);
                let range = tokens[from..(from + 1 + random.below(3)).min(length)].to_vec();
                let many = range.iter().copied().cycle().take(range.len() * times);
                tokens.splice(from..from, many.collect::<Vec<_>>());
            }
            _ => {
                tokens.push("; ");
                let other = random.one(&self.statements).clone();
                tokens.extend(other);
            }
        }
    }
}

/// Words, numbers, white space, and each sign for itself.
fn tokens(text: &'static str) -> Vec<&'static str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut starts = vec![0];
    let mut last = None;
    for (at, c) in text.char_indices() {
        let this = class(c);
        if at > 0 && (last != Some(this) || this == 2) {
            starts.push(at);
        }
        last = Some(this);
    }
    starts.push(text.len());
    starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

fn with_noise(text: &mut String, random: &mut Random) {
    for _ in 0..=random.below(5) {
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match random.below(3) {
            0 => text.truncate(at),
            1 => text.insert(at, char::from_u32(random.below(0x3000) as u32).unwrap_or('\u{FFFD}')),
            _ => text.insert(at, char::from(random.below(128) as u8)),
        }
    }
}
