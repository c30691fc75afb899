//! The reader of PostgreSQL's regular expressions.
//!
//! Role         makes a [`Tree`] of a text, or says with PostgreSQL's words what is wrong with it
//! Invariants   I1 it does not go deeper than [`DEPTH_MAX`] brackets

use std::iter::Peekable;
use std::str::Chars;

use crate::outcome::SqlError;

use super::class;
use super::tree::{DEPTH_MAX, Flags, Node, Part, Preference, Tree};

/// The highest count.
const COUNT_MAX: u32 = 255;

/// 2201B with PostgreSQL's reason.
pub(super) fn invalid(reason: &str) -> SqlError {
    SqlError::new(b"2201B", format!("invalid regular expression: {reason}"))
}

const OPERAND: &str = "quantifier operand invalid";
const BRACKETS: &str = "parentheses () not balanced";
const ESCAPE: &str = "invalid escape \\ sequence";
const COUNTS: &str = "invalid repetition count(s)";

/// A character as the library writes it.
pub(super) fn written(c: char) -> String {
    if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\x{{{:x}}}", u32::from(c)) }
}

/// What stands at one place of an expression.
enum Item {
    /// something that may stand there several times
    Operand(Part),
    /// a place, which may not
    Place(Part),
    /// nothing: a comment
    Nothing,
}

pub(super) struct Reader<'p> {
    left: Peekable<Chars<'p>>,
    flags: Flags,
    nodes: Vec<Node>,
    /// groups that are open or closed, and those that are closed
    groups: usize,
    closed: usize,
    depth: usize,
}

impl<'p> Reader<'p> {
    pub(super) fn new(pattern: &'p str, flags: Flags) -> Self {
        let left = pattern.chars().peekable();
        Self { left, flags, nodes: Vec::new(), groups: 0, closed: 0, depth: 0 }
    }

    pub(super) fn read(mut self) -> Result<Tree, SqlError> {
        if !self.flags.literal {
            self.read_prefixes()?;
        }
        let top = if self.flags.literal {
            let left: Vec<char> = self.left.by_ref().collect();
            let parts = left.into_iter().map(|c| self.node(Node::Atom(written(c)))).collect();
            self.node(Node::All(parts))
        } else {
            self.either()?
        };
        if self.left.next().is_some() {
            return Err(invalid(BRACKETS));
        }
        Ok(Tree::new(self.nodes, top, self.groups, self.flags.any_case))
    }

    fn node(&mut self, node: Node) -> Part {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn takes(&mut self, c: char) -> bool {
        self.left.next_if_eq(&c).is_some()
    }

    fn begins_with(&self, text: &str) -> bool {
        let mut ahead = self.left.clone();
        text.chars().all(|c| ahead.next() == Some(c))
    }

    /// `***:`, `***=` and `(?flags)`.
    fn read_prefixes(&mut self) -> Result<(), SqlError> {
        if self.begins_with("***") {
            self.left.by_ref().take(3).for_each(drop);
            match self.left.next() {
                Some('=') => {
                    self.flags.literal = true;
                    return Ok(());
                }
                Some(':') => {}
                _ => return Err(invalid(OPERAND)),
            }
        }
        let mut ahead = self.left.clone();
        let is_option = ahead.next() == Some('(')
            && ahead.next() == Some('?')
            && ahead.next().is_some_and(|c| c.is_ascii_alphabetic());
        if !is_option {
            return Ok(());
        }
        self.left.by_ref().take(2).for_each(drop);
        loop {
            match self.left.next() {
                Some(')') => return Ok(()),
                Some(letter) if self.flags.set(letter)? => {}
                _ => return Err(invalid("invalid embedded option")),
            }
        }
    }

    /// Branches with `|` between them.
    fn either(&mut self) -> Result<Part, SqlError> {
        let mut branches = vec![self.branch()?];
        while self.takes('|') {
            branches.push(self.branch()?);
        }
        Ok(match branches.as_slice() {
            [one] => *one,
            _ => self.node(Node::Either(branches)),
        })
    }

    fn branch(&mut self) -> Result<Part, SqlError> {
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            match self.left.peek() {
                None | Some('|') => break,
                Some(')') if self.depth > 0 => break,
                Some(_) => {}
            }
            match self.item()? {
                Item::Nothing => {}
                Item::Place(place) => {
                    self.skip_blanks();
                    if self.is_count() {
                        return Err(invalid(OPERAND));
                    }
                    parts.push(place);
                }
                Item::Operand(operand) => {
                    let counted = self.counted(operand)?;
                    parts.push(counted);
                }
            }
        }
        Ok(self.node(Node::All(parts)))
    }

    /// Blanks and comments of expanded syntax.
    fn skip_blanks(&mut self) {
        while self.flags.expanded {
            match self.left.peek() {
                Some('#') => while self.left.next().is_some_and(|c| c != '\n') {},
                Some(c) if c.is_ascii_whitespace() => drop(self.left.next()),
                _ => return,
            }
        }
    }

    /// Whether a count begins here.
    fn is_count(&self) -> bool {
        let mut ahead = self.left.clone();
        match ahead.next() {
            Some('*' | '+' | '?') => true,
            Some('{') => ahead.next().is_some_and(|c| c.is_ascii_digit()),
            _ => false,
        }
    }

    /// An operand with its count, if it has one.
    fn counted(&mut self, of: Part) -> Result<Part, SqlError> {
        self.skip_blanks();
        if !self.is_count() {
            return Ok(of);
        }
        let (least, most, decides) = match self.left.next() {
            Some('*') => (0, None, true),
            Some('+') => (1, None, true),
            Some('?') => (0, Some(1), true),
            _ => self.counts()?,
        };
        let is_shortest = self.takes('?');
        let prefers = match (decides, is_shortest) {
            (false, _) => Preference::None,
            (true, true) => Preference::Shortest,
            (true, false) => Preference::Longest,
        };
        self.skip_blanks();
        if self.is_count() {
            return Err(invalid(OPERAND));
        }
        Ok(self.node(Node::Repeat { of, least, most, prefers }))
    }

    /// What stands in `{}`, and whether it decides which match is taken: one number does not.
    fn counts(&mut self) -> Result<(u32, Option<u32>, bool), SqlError> {
        let least = self.number()?.ok_or_else(|| invalid(COUNTS))?;
        let mut most = Some(least);
        let has_comma = self.takes(',');
        if has_comma {
            most = self.number()?;
            if most.is_some_and(|most| most < least) {
                return Err(invalid(COUNTS));
            }
        }
        match self.left.next() {
            Some('}') => Ok((least, most, has_comma)),
            None => Err(invalid("braces {} not balanced")),
            Some(_) => Err(invalid(COUNTS)),
        }
    }

    fn number(&mut self) -> Result<Option<u32>, SqlError> {
        let mut number = None;
        while let Some(digit) = self.left.peek().and_then(|c| c.to_digit(10)) {
            self.left.next();
            let so_far = number.unwrap_or(0) * 10 + digit;
            if so_far > COUNT_MAX {
                return Err(invalid(COUNTS));
            }
            number = Some(so_far);
        }
        Ok(number)
    }

    fn item(&mut self) -> Result<Item, SqlError> {
        let Some(c) = self.left.next() else { return Ok(Item::Nothing) };
        let place = |this: &mut Self, text: &str| Item::Place(this.node(Node::Atom(text.into())));
        let any = if self.flags.within_lines { "[^\\n]" } else { "(?s:.)" };
        let atom = match c {
            '*' | '+' | '?' => return Err(invalid(OPERAND)),
            '{' if self.left.peek().is_some_and(char::is_ascii_digit) => {
                return Err(invalid(OPERAND));
            }
            ')' => return Err(invalid(BRACKETS)),
            '(' => return self.group(),
            '^' if self.flags.line_ends => return Ok(place(self, "(?m:^)")),
            '^' => return Ok(place(self, "\\A")),
            '$' if self.flags.line_ends => return Ok(place(self, "(?m:$)")),
            '$' => return Ok(place(self, "\\z")),
            '.' => any.to_owned(),
            '[' => {
                for (written, meant) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
                    if self.begins_with(written) {
                        self.left.by_ref().take(written.len()).for_each(drop);
                        return Ok(place(self, meant));
                    }
                }
                class::read(&mut self.left, self.flags)?
            }
            '\\' => return self.escaped(),
            c => written(c),
        };
        Ok(Item::Operand(self.node(Node::Atom(atom))))
    }

    /// Behind an opening bracket.
    fn group(&mut self) -> Result<Item, SqlError> {
        let mut number = None;
        if self.takes('?') {
            match self.left.next() {
                Some(':') => {}
                Some('#') => {
                    return match self.left.by_ref().find(|c| *c == ')') {
                        Some(_) => Ok(Item::Nothing),
                        None => Err(invalid(BRACKETS)),
                    };
                }
                Some('=' | '!' | '<') => {
                    let message = "a regular expression with a look ahead or behind, (?=...), is \
                                   not supported";
                    return Err(SqlError::new(b"0A000", message));
                }
                _ => return Err(invalid(OPERAND)),
            }
        } else {
            self.groups += 1;
            number = Some(self.groups);
        }
        if self.depth == DEPTH_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        self.depth += 1;
        let inner = self.either()?;
        self.depth -= 1;
        if !self.takes(')') {
            return Err(invalid(BRACKETS));
        }
        self.closed += usize::from(number.is_some());
        Ok(Item::Operand(self.node(Node::Group(number, inner))))
    }

    /// Behind a backslash.
    fn escaped(&mut self) -> Result<Item, SqlError> {
        let Some(c) = self.left.next() else { return Err(invalid(ESCAPE)) };
        let place = match c {
            'A' => Some("\\A"),
            'Z' => Some("\\z"),
            'm' => Some("\\b{start}"),
            'M' => Some("\\b{end}"),
            'y' => Some("\\b"),
            'Y' => Some("\\B"),
            _ => None,
        };
        if let Some(place) = place {
            return Ok(Item::Place(self.node(Node::Atom(place.to_owned()))));
        }
        if c.is_ascii_digit() && c != '0' && self.is_reference(c)? {
            let message = "a regular expression with a back reference, \\1, is not supported";
            return Err(SqlError::new(b"0A000", message));
        }
        let atom = match class::escaped_class(c) {
            // The end of a line is none of these where they stay within lines.
            Some(class) if self.flags.within_lines && matches!(c, 'D' | 'W') => {
                format!("[{class}&&[^\\n]]")
            }
            Some(class) => class.to_owned(),
            None => written(escaped_char(c, &mut self.left)?),
        };
        Ok(Item::Operand(self.node(Node::Atom(atom))))
    }

    /// Whether `\` and a digit refer to a group: one digit always does, more of them when there are
    /// so many groups.
    fn is_reference(&self, first: char) -> Result<bool, SqlError> {
        let digits = self.left.clone().take_while(char::is_ascii_digit);
        let digits: String = std::iter::once(first).chain(digits).take(9).collect();
        let number: usize = digits.parse().unwrap_or(usize::MAX);
        if number <= self.closed {
            return Ok(true);
        }
        match digits.len() {
            1 => Err(invalid("invalid backreference number")),
            _ => Ok(false),
        }
    }
}

/// The character that an escape means, behind the backslash and its first letter.
pub(super) fn escaped_char(first: char, left: &mut Peekable<Chars<'_>>) -> Result<char, SqlError> {
    let mut digits = |radix: u32, least: usize, most: usize, begin: u32| {
        let (mut value, mut count) = (begin, 0);
        while count < most
            && let Some(digit) = left.peek().and_then(|c| c.to_digit(radix))
        {
            left.next();
            value = value.wrapping_mul(radix).wrapping_add(digit);
            count += 1;
        }
        if count < least { Err(invalid(ESCAPE)) } else { Ok(value) }
    };
    let code = match first {
        'a' => 7,
        'b' => 8,
        'B' => u32::from('\\'),
        'e' => 27,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        'c' => left.next().map(|c| u32::from(c) & 31).ok_or_else(|| invalid(ESCAPE))?,
        'u' => digits(16, 4, 4, 0)?,
        'U' => digits(16, 8, 8, 0)?,
        'x' => digits(16, 1, 255, 0)?,
        '0' => digits(8, 0, 2, 0)?,
        octal if octal.is_digit(8) => digits(8, 0, 2, octal.to_digit(8).unwrap_or_default())?,
        other if other.is_ascii_alphanumeric() => return Err(invalid(ESCAPE)),
        other => u32::from(other),
    };
    char::from_u32(code).ok_or_else(|| invalid(ESCAPE))
}
