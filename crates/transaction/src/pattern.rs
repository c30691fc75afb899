//! Patterns of regular expressions, and searches that can be interrupted.
//!
//! Role         `~`, and the functions of patterns in queries. Short texts are searched at once. In
//!              long ones a search may take as long as the text is long, times the pattern's size:
//!              it goes byte by byte through a lazy automaton then, and looks from time to time
//! Invariants   I1 both ways find the same: the leftmost match, and of those that begin there the
//!                 one that PostgreSQL takes ([`dissect`])
//! Source       regex-automata: its lazy automata are made to be stepped, forwards to where a match
//!              ends, backwards from there to where it begins; groups are found in between. We
//!              differ: no prefilters, which find letters of the pattern faster in long texts

mod class;
mod dissect;
mod read;
pub mod similar;
mod tree;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};

use crate::outcome::SqlError;
use hotrow_base::interrupt::current::{self, Pace};
use hotrow_base::value::TextBuilder;
use regex::RegexBuilder;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::{self, LazyStateID};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, meta};

use dissect::{Dissector, Groups};
pub use tree::Flags;
use tree::{DEPTH_MAX, Grouped, Tree};

/// Bytes of a text that is made by replacing, at most: as many as a value can have.
const TEXT_BYTES_MAX: usize = 256 << 20;
/// Bytes that a compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// Bytes of a text that a pattern is looked for in.
const SEARCHED_BYTES_MAX: usize = 64 << 20;
/// Bytes of a text that is searched at once: with the largest pattern that is half a second.
const SEARCHED_AT_ONCE: usize = 4 << 10;
/// Bytes between two looks: each may make a state of the automaton, of all the pattern's states.
const BYTES_BETWEEN_LOOKS: usize = 64;
/// Bytes of a match times bytes of the pattern up to which groups are looked for in it, which
/// cannot be left in between: some seconds at worst.
const GROUPS_WORK_MAX: usize = 16 << 30;
/// Bytes of an automaton's states that are kept.
const STATES_BYTES: usize = 4 << 20;
/// Levels that the library sees: each of a tree's is written with two more around it.
const NEST_MAX: u32 = 4 * DEPTH_MAX as u32 + 8;
/// Patterns that a thread keeps: a query has few of them, and each of its rows asks for them.
const KEPT_MAX: usize = 4;
/// The longest pattern that is kept.
const KEPT_BYTES_MAX: usize = 256;
/// Bytes of what the library notes of a pattern's states while it searches: with
/// [`KEPT_MAX`] patterns, one each for three ways of searching, 6 MiB a thread.
const NOTED_BYTES: usize = 1 << 19;

thread_local! {
    /// patterns that were used last, the latest at the end
    static KEPT: RefCell<Vec<(String, Flags, Pattern)>> = const { RefCell::new(Vec::new()) };
}

/// A pattern, compiled.
pub struct Pattern {
    tree: Tree,
    whole: regex::Regex,
    /// for long texts
    steps: Option<Box<Steps>>,
    /// for patterns of which the library takes other matches than PostgreSQL
    dissector: Option<Box<Dissector>>,
}

/// What a long text is searched with.
struct Steps {
    automata: hybrid::regex::Regex,
    cache: hybrid::regex::Cache,
    groups: meta::Regex,
    bytes: usize,
}

/// Why a search does not go to its end.
enum Stop {
    Refused(Box<SqlError>),
    /// the automaton does not know such a character at the end of a word
    Unknown,
}

/// Uses the pattern for a text; patterns are compiled once for many rows.
pub fn with<T>(
    pattern: &str,
    flags: Flags,
    text: &str,
    use_it: impl FnOnce(&mut Pattern) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let is_short = pattern.len() <= KEPT_BYTES_MAX && text.len() <= SEARCHED_AT_ONCE;
    if !is_short {
        return use_it(&mut Pattern::new(pattern, flags, text)?);
    }
    let known = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(known, of, _)| known == pattern && *of == flags)?;
        Some(kept.remove(at))
    });
    let (name, flags, mut compiled) = match known {
        Some(known) => known,
        None => (pattern.to_owned(), flags, Pattern::new(pattern, flags, text)?),
    };
    let result = use_it(&mut compiled);
    KEPT.with_borrow_mut(|kept| {
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        // What its own automata have noted is not kept: they may be many.
        compiled.dissector = compiled.dissector.take().map(|_| Box::default());
        kept.push((name, flags, compiled));
    });
    result
}

impl Pattern {
    /// Compiles a pattern for a text.
    pub fn new(pattern: &str, flags: Flags, text: &str) -> Result<Self, SqlError> {
        if text.len() > SEARCHED_BYTES_MAX {
            let mebibytes = SEARCHED_BYTES_MAX >> 20;
            let message = format!("a text of more than {mebibytes} MiB is too long for a pattern");
            return Err(SqlError::new(b"54000", message));
        }
        current::check()?;
        let mut parts = current::charge();
        parts.add(pattern.len().saturating_mul(PART_BYTES))?;
        let tree = Tree::read(pattern, flags)?;
        let mut written = String::new();
        tree.write(tree.top(), Grouped::Yes, &mut written);
        let mut builder = RegexBuilder::new(&written);
        builder.case_insensitive(tree.any_case).nest_limit(NEST_MAX);
        builder.size_limit(PATTERN_BYTES_MAX).dfa_size_limit(NOTED_BYTES);
        let whole =
            builder.build().map_err(|_| read::invalid("regular expression is too complex"))?;
        let is_long = text.len() > SEARCHED_AT_ONCE;
        let steps = is_long.then(|| Steps::new(&written, tree.any_case)).flatten().map(Box::new);
        let dissector = (!tree.is_plain()).then(Box::default);
        Ok(Self { tree, whole, steps, dissector })
    }

    /// How many groups it has.
    pub fn groups(&self) -> usize {
        self.tree.groups
    }

    /// Whether it is found in a text.
    pub fn is_in(&mut self, text: &str) -> Result<bool, SqlError> {
        if let Some(steps) = &mut self.steps {
            let (dfa, cache) = (steps.automata.forward(), steps.cache.as_parts_mut().0);
            match end_of_match(dfa, cache, text, 0, Wanted::Any) {
                Ok(found) => return Ok(found.is_some()),
                Err(Stop::Refused(error)) => return Err(*error),
                Err(Stop::Unknown) => {}
            }
        }
        let found = self.whole.is_match(text);
        current::check()?;
        Ok(found)
    }

    /// The first match at or behind a place.
    pub fn find(&mut self, text: &str, at: usize) -> Result<Option<Range<usize>>, SqlError> {
        let stepped = self.steps.as_mut().map_or(Err(Stop::Unknown), |steps| steps.find(text, at));
        let found = match stepped {
            Ok(found) => found,
            Err(Stop::Refused(error)) => return Err(*error),
            Err(Stop::Unknown) => self.whole.find_at(text, at).map(|found| found.range()),
        };
        current::check()?;
        let (Some(found), Some(dissector)) = (&found, &mut self.dissector) else {
            return Ok(found);
        };
        match dissector.end(&self.tree, text, found.start) {
            Ok(Some(end)) => Ok(Some(found.start..end)),
            Ok(None) | Err(Stop::Unknown) => Ok(Some(found.clone())),
            Err(Stop::Refused(error)) => Err(*error),
        }
    }

    /// The groups of a match, its whole first.
    pub fn groups_of(&mut self, text: &str, found: &Range<usize>) -> Result<Groups, SqlError> {
        let mut groups: Groups = vec![None; self.tree.groups + 1];
        if self.tree.groups > 0 {
            let top = self.tree.top();
            let exact = self.dissector.as_mut().map(|dissector| {
                dissector.dissect(&self.tree, top, (text, found.clone()), &mut groups)
            });
            match exact {
                Some(Ok(())) => {}
                Some(Err(Stop::Refused(error))) => return Err(*error),
                Some(Err(Stop::Unknown)) | None => groups = self.library_groups(text, found)?,
            }
        }
        groups[0] = Some(found.clone());
        Ok(groups)
    }

    fn library_groups(&self, text: &str, found: &Range<usize>) -> Result<Groups, SqlError> {
        let groups = match &self.steps {
            Some(steps) => steps.groups_of(text, found)?,
            None => self.whole.captures_at(text, found.start).map_or_else(Groups::new, |all| {
                all.iter().map(|group| group.map(|group| group.range())).collect()
            }),
        };
        current::check()?;
        let mut groups = groups;
        groups.resize(self.tree.groups + 1, None);
        Ok(groups)
    }

    /// Gives the matches at or behind a place, one behind the other; behind an empty one the next
    /// may begin a character later.
    pub fn each(
        &mut self,
        text: &str,
        from: usize,
        mut give: impl FnMut(&mut Self, Range<usize>) -> Result<ControlFlow<()>, SqlError>,
    ) -> Result<(), SqlError> {
        let mut at = from;
        let mut pace = Pace::default();
        while at <= text.len()
            && let Some(found) = self.find(text, at)?
        {
            pace.went(16 + found.end - at)?;
            let behind = text[found.end..].chars().next().map_or(1, char::len_utf8);
            at = if found.is_empty() { found.end + behind } else { found.end };
            if give(self, found)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// A text with matches at or behind a place replaced: that with a number, or all.
    pub fn replaced(
        &mut self,
        whole: &str,
        new: &str,
        (from, which): (usize, Option<u64>),
    ) -> Result<String, SqlError> {
        let new = replacement(new);
        let mut out = TextBuilder::new("text", TEXT_BYTES_MAX);
        let (mut behind, mut number) = (0, 0);
        self.each(whole, from, |this, found| {
            number += 1;
            if which.is_some_and(|which| which != number) {
                return Ok(ControlFlow::Continue(()));
            }
            out.push(&whole[behind..found.start])?;
            behind = found.end;
            let is_told = new.iter().any(|part| matches!(part, New::Group(_)));
            let groups = if is_told { this.groups_of(whole, &found)? } else { Groups::new() };
            for part in &new {
                match part {
                    New::Text(text) => out.push(text)?,
                    New::Group(group) => {
                        let range = groups.get(*group).cloned().flatten();
                        out.push(range.map_or("", |range| &whole[range]))?;
                    }
                }
            }
            Ok(if which.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        out.push(&whole[behind..])?;
        Ok(out.finish())
    }
}

/// What a byte of a pattern becomes in its tree.
const PART_BYTES: usize = 96;

/// A part of what a match is replaced by.
enum New {
    Text(String),
    /// what a group of the match is, 0 the whole
    Group(usize),
}

/// What a text with `\1` and `\&` stands for.
fn replacement(new: &str) -> Vec<New> {
    let (mut parts, mut text) = (Vec::new(), String::new());
    let mut chars = new.chars();
    while let Some(c) = chars.next() {
        let next = if c == '\\' { chars.clone().next() } else { None };
        let group = match next {
            Some('&') => 0,
            Some(digit @ '1'..='9') => digit as usize - '0' as usize,
            Some('\\') => {
                chars.next();
                text.push('\\');
                continue;
            }
            _ => {
                text.push(c);
                continue;
            }
        };
        chars.next();
        parts.push(New::Text(std::mem::take(&mut text)));
        parts.push(New::Group(group));
    }
    parts.push(New::Text(text));
    parts
}

impl Steps {
    /// None where the automata would be too large: what was compiled is searched with then.
    fn new(pattern: &str, any_case: bool) -> Option<Self> {
        let syntax = syntax::Config::new().case_insensitive(any_case).nest_limit(NEST_MAX);
        let thompson = thompson::Config::new().nfa_size_limit(Some(PATTERN_BYTES_MAX));
        let dfa = DFA::config().cache_capacity(STATES_BYTES).skip_cache_capacity_check(true);
        let dfa = dfa.unicode_word_boundary(true);
        let mut builder = hybrid::regex::Builder::new();
        builder.syntax(syntax).thompson(thompson).dfa(dfa);
        let automata = builder.build(pattern).ok()?;
        let mut groups = meta::Regex::builder();
        let limit = meta::Config::new().nfa_size_limit(Some(PATTERN_BYTES_MAX));
        let groups = groups.syntax(syntax).configure(limit).build(pattern).ok()?;
        let bytes = automata.forward().get_nfa().memory_usage();
        let cache = automata.create_cache();
        Some(Self { automata, cache, groups, bytes })
    }

    /// The first match at or behind a place.
    fn find(&mut self, whole: &str, at: usize) -> Result<Option<Range<usize>>, Stop> {
        let (forward, reverse) = (self.automata.forward(), self.automata.reverse());
        let (forth, back) = self.cache.as_parts_mut();
        let Some(end) = end_of_match(forward, forth, whole, at, Wanted::Preferred)? else {
            return Ok(None);
        };
        Ok(Some(start_of_match(reverse, back, whole, at..end)?..end))
    }

    fn groups_of(&self, whole: &str, found: &Range<usize>) -> Result<Groups, SqlError> {
        if found.len().saturating_mul(self.bytes) > GROUPS_WORK_MAX {
            let message = "a match is too long for a pattern of this size with references to it";
            return Err(SqlError::new(b"54000", message));
        }
        let mut groups = self.groups.create_captures();
        let input = Input::new(whole).span(found.clone()).anchored(Anchored::Yes);
        self.groups.search_captures(&input, &mut groups);
        Ok(groups.iter().map(|group| group.map(|group| group.range())).collect())
    }
}

/// Which match's end is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// whether there is one
    Any,
    /// that of the leftmost one, as long as the pattern prefers it
    Preferred,
}

/// Where a match ends that begins at or behind a place.
fn end_of_match(
    dfa: &DFA,
    cache: &mut Cache,
    text: &str,
    at: usize,
    wanted: Wanted,
) -> Result<Option<usize>, Stop> {
    let bytes = text.as_bytes();
    let input = Input::new(text).span(at..bytes.len());
    let mut state = dfa.start_state_forward(cache, &input).map_err(|_| Stop::Unknown)?;
    let mut found = None;
    for (place, &byte) in (at..).zip(&bytes[at..]) {
        if place % BYTES_BETWEEN_LOOKS == 0 {
            current::check()?;
        }
        state = dfa.next_state(cache, state, byte).map_err(|_| Stop::Unknown)?;
        if state.is_tagged() {
            if is_match(state)? {
                // A state says of the byte before the last one that a match ended there.
                found = Some(place);
                if wanted == Wanted::Any {
                    return Ok(found);
                }
            } else if state.is_dead() {
                return Ok(found);
            }
        }
    }
    state = dfa.next_eoi_state(cache, state).map_err(|_| Stop::Unknown)?;
    Ok(if is_match(state)? { Some(bytes.len()) } else { found })
}

/// Where the match begins that ends at the end of a range, and in it.
fn start_of_match(
    dfa: &DFA,
    cache: &mut Cache,
    text: &str,
    range: Range<usize>,
) -> Result<usize, Stop> {
    let mut found = range.end;
    each_start(dfa, cache, text, range, |start| found = start)?;
    Ok(found)
}

/// Gives each place of a range where a match begins that ends with the range, the last one first.
fn each_start(
    dfa: &DFA,
    cache: &mut Cache,
    text: &str,
    range: Range<usize>,
    mut give: impl FnMut(usize),
) -> Result<(), Stop> {
    let bytes = text.as_bytes();
    let input = Input::new(text).span(range.clone()).anchored(Anchored::Yes);
    let mut state = dfa.start_state_reverse(cache, &input).map_err(|_| Stop::Unknown)?;
    for place in range.clone().rev() {
        if place % BYTES_BETWEEN_LOOKS == 0 {
            current::check()?;
        }
        state = dfa.next_state(cache, state, bytes[place]).map_err(|_| Stop::Unknown)?;
        if state.is_tagged() {
            if is_match(state)? {
                give(place + 1);
            } else if state.is_dead() {
                return Ok(());
            }
        }
    }
    let last = match range.start.checked_sub(1) {
        Some(before) => dfa.next_state(cache, state, bytes[before]),
        None => dfa.next_eoi_state(cache, state),
    };
    if is_match(last.map_err(|_| Stop::Unknown)?)? {
        give(range.start);
    }
    Ok(())
}

fn is_match(state: LazyStateID) -> Result<bool, Stop> {
    if state.is_quit() { Err(Stop::Unknown) } else { Ok(state.is_match()) }
}

impl<E: Into<SqlError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Refused(Box::new(error.into()))
    }
}
