//! A regular expression as PostgreSQL reads it, as a tree.
//!
//! Role         [`super::Pattern`] has it read and compiles what [`Tree::write`] makes of it: the
//!              text of the same expression as the library `regex` has it. [`super::dissect`]
//!              asks its parts where groups begin and end
//! Invariants   I1 brackets nest at most [`DEPTH_MAX`] deep, so every recursion over a tree is
//!                 bounded; parts of a tree are numbers in one list, whose drop does not recurse
//! Source       PostgreSQL 15, chapter 9.7.3. We differ: back references and looks ahead or behind
//!              are refused, since they cannot be searched in linear time; classes of letters are
//!              Unicode's, whatever the database's locale

use crate::outcome::SqlError;

use super::read::Reader;

/// Brackets within each other.
pub(super) const DEPTH_MAX: usize = 200;

/// A part of a tree, by its place in the list.
pub(super) type Part = usize;

/// A part of an expression.
#[derive(Debug)]
pub(super) enum Node {
    /// one character, or a place between two, as the library writes it
    Atom(String),
    /// one behind the other
    All(Vec<Part>),
    /// one of them
    Either(Vec<Part>),
    /// in brackets; those with a number are told
    Group(Option<usize>, Part),
    Repeat {
        of: Part,
        least: u32,
        most: Option<u32>,
        prefers: Preference,
    },
}

/// Which of several matches that begin at one place is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Preference {
    /// it makes no difference here
    None,
    Longest,
    Shortest,
}

/// What flags say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags {
    /// `i`
    pub any_case: bool,
    /// `g`
    pub all: bool,
    /// `x`: blanks and comments are skipped
    pub(super) expanded: bool,
    /// `q`: no character means more than itself
    pub(super) literal: bool,
    /// `n`, `p`: what means any character does not mean the end of a line
    pub(super) within_lines: bool,
    /// `n`, `w`: `^` and `$` are at lines' ends, too
    pub(super) line_ends: bool,
}

impl Flags {
    /// None, or that of any case.
    pub fn of_case(any_case: bool) -> Self {
        Self { any_case, ..Self::default() }
    }

    /// Those of `like_regex`: without `s`, what means any character stays within lines.
    pub fn of_like(letters: &str) -> Self {
        let has = |letter| letters.contains(letter);
        let literal = has('q');
        Self {
            any_case: has('i'),
            literal,
            within_lines: !literal && !has('s'),
            line_ends: !literal && has('m'),
            ..Self::default()
        }
    }

    /// Those of a function's last argument.
    ///
    /// # Errors
    ///
    /// 22023 where there is no such flag, 0A000 where it asks for another kind of expression.
    pub fn read(text: &str) -> Result<Self, SqlError> {
        let mut flags = Self::default();
        for letter in text.chars() {
            match letter {
                'g' => flags.all = true,
                letter => {
                    if !flags.set(letter)? {
                        let message = format!("invalid regular expression option: \"{letter}\"");
                        return Err(SqlError::new(b"22023", message));
                    }
                }
            }
        }
        Ok(flags)
    }

    /// Sets a flag that may stand in the expression, too; whether it is one.
    pub(super) fn set(&mut self, letter: char) -> Result<bool, SqlError> {
        match letter {
            'b' | 'e' => {
                let message = format!("regular expression option \"{letter}\" is not supported");
                return Err(SqlError::new(b"0A000", message));
            }
            'c' => self.any_case = false,
            'i' => self.any_case = true,
            'm' | 'n' => (self.within_lines, self.line_ends) = (true, true),
            'p' => (self.within_lines, self.line_ends) = (true, false),
            'q' => self.literal = true,
            's' => (self.within_lines, self.line_ends) = (false, false),
            't' => self.expanded = false,
            'w' => (self.within_lines, self.line_ends) = (false, true),
            'x' => self.expanded = true,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// An expression.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    top: Part,
    /// how many groups have numbers, which begin at 1
    pub(super) groups: usize,
    /// as the expression itself decides it in the end
    pub(super) any_case: bool,
}

impl Tree {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// 2201B as PostgreSQL has it, and 0A000 for what is not supported.
    pub(super) fn read(pattern: &str, flags: Flags) -> Result<Self, SqlError> {
        Reader::new(pattern, flags).read()
    }

    pub(super) fn new(nodes: Vec<Node>, top: Part, groups: usize, any_case: bool) -> Self {
        Self { nodes, top, groups, any_case }
    }

    pub(super) fn top(&self) -> Part {
        self.top
    }

    pub(super) fn node(&self, part: Part) -> &Node {
        &self.nodes[part]
    }

    /// Which match of a part is taken.
    pub(super) fn preference(&self, part: Part) -> Preference {
        match &self.nodes[part] {
            Node::Atom(_) => Preference::None,
            Node::All(parts) => {
                let mut known = parts.iter().map(|part| self.preference(*part));
                known.find(|one| *one != Preference::None).unwrap_or(Preference::None)
            }
            Node::Either(_) => Preference::Longest,
            Node::Group(_, inner) => self.preference(*inner),
            Node::Repeat { of, prefers: Preference::None, .. } => self.preference(*of),
            Node::Repeat { prefers, .. } => *prefers,
        }
    }

    /// Whether a part has groups with numbers.
    pub(super) fn has_groups(&self, part: Part) -> bool {
        match &self.nodes[part] {
            Node::Atom(_) => false,
            Node::All(parts) | Node::Either(parts) => parts.iter().any(|one| self.has_groups(*one)),
            Node::Group(number, inner) => number.is_some() || self.has_groups(*inner),
            Node::Repeat { of, .. } => self.has_groups(*of),
        }
    }

    /// Whether the library takes the same match as PostgreSQL, with the same groups, whatever the
    /// text: nothing stands for one of several texts but single characters, as many as there are.
    /// Of `a|ab` the library takes what stands first and PostgreSQL the longest.
    pub(super) fn is_plain(&self) -> bool {
        self.nodes.iter().all(|node| match node {
            Node::Atom(_) | Node::All(_) | Node::Group(..) => true,
            Node::Either(_) => false,
            Node::Repeat { of, prefers, .. } => {
                *prefers != Preference::Shortest && matches!(self.nodes[*of], Node::Atom(_))
            }
        })
    }

    /// The text of a part as the library has it, with groups where `grouped`.
    pub(super) fn write(&self, part: Part, grouped: Grouped, out: &mut String) {
        match &self.nodes[part] {
            Node::Atom(atom) => out.push_str(atom),
            Node::All(parts) => parts.iter().for_each(|one| self.write(*one, grouped, out)),
            Node::Either(parts) => {
                out.push_str("(?:");
                for (at, one) in parts.iter().enumerate() {
                    out.push_str(if at > 0 { "|" } else { "" });
                    self.write(*one, grouped, out);
                }
                out.push(')');
            }
            Node::Group(number, inner) => {
                let is_told = grouped == Grouped::Yes && number.is_some();
                out.push_str(if is_told { "(" } else { "(?:" });
                self.write(*inner, grouped, out);
                out.push(')');
            }
            Node::Repeat { of, least, most, prefers } => {
                out.push_str("(?:");
                self.write(*of, grouped, out);
                out.push(')');
                out.push_str(&counts(*least, *most));
                out.push_str(if *prefers == Preference::Shortest { "?" } else { "" });
            }
        }
    }
}

/// Whether groups are written as such.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grouped {
    Yes,
    No,
}

/// How often something stands there, as it is written.
pub(super) fn counts(least: u32, most: Option<u32>) -> String {
    match most {
        Some(most) => format!("{{{least},{most}}}"),
        None => format!("{{{least},}}"),
    }
}
