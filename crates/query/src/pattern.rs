//! Patterns of regular expressions, and searches that can be interrupted.
//!
//! Role         `~` and regexp_replace. Short texts are searched at once. In long ones a search may
//!              take as long as the text is long, times the pattern's size: it goes byte by byte
//!              through a lazy automaton then, and looks from time to time
//! Invariants   I1 both ways find the same, the leftmost match that the pattern prefers
//! Source       regex-automata: its lazy automata are made to be stepped, forwards to where a match
//!              ends, backwards from there to where it begins; groups are found in between. We
//!              differ: no prefilters, which find letters of the pattern faster in long texts

#[cfg(test)]
mod tests;

use std::ops::Range;

use hotrow_base::interrupt::current::{self, Pace};
use hotrow_base::value::TextBuilder;
use hotrow_transaction::outcome::SqlError;
use regex::RegexBuilder;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::{self, LazyStateID};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, meta};

use crate::host::TEXT_BYTES_MAX;

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

/// A pattern, compiled.
pub(crate) struct Pattern {
    whole: regex::Regex,
    /// for long texts
    steps: Option<Box<Steps>>,
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

impl Pattern {
    /// Compiles a pattern for a text. PostgreSQL's and ours agree on what is common: classes,
    /// groups, counts, anchors.
    pub(crate) fn new(pattern: &str, any_case: bool, text: &str) -> Result<Self, SqlError> {
        if text.len() > SEARCHED_BYTES_MAX {
            let mebibytes = SEARCHED_BYTES_MAX >> 20;
            let message = format!("a text of more than {mebibytes} MiB is too long for a pattern");
            return Err(SqlError::new(b"54000", message));
        }
        current::check()?;
        let mut builder = RegexBuilder::new(pattern);
        builder.case_insensitive(any_case).size_limit(PATTERN_BYTES_MAX);
        let whole = builder.build().map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let message = format!("invalid regular expression: {reason}");
            SqlError::new(b"2201B", message)
        })?;
        let is_long = text.len() > SEARCHED_AT_ONCE;
        let steps = is_long.then(|| Steps::new(pattern, any_case)).flatten().map(Box::new);
        Ok(Self { whole, steps })
    }

    /// Whether it is found in a text.
    pub(crate) fn is_in(&mut self, text: &str) -> Result<bool, SqlError> {
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

    /// A text with its first matches replaced.
    pub(crate) fn replaced(
        &mut self,
        whole: &str,
        new: &str,
        most: usize,
    ) -> Result<String, SqlError> {
        let new = references(new);
        if let Some(steps) = &mut self.steps {
            match steps.replaced(whole, &new, most) {
                Err(Stop::Unknown) => {}
                Err(Stop::Refused(error)) => return Err(*error),
                Ok(replaced) => return Ok(replaced),
            }
        }
        let groups = new.matches('$').count();
        let mut out = TextBuilder::new("text", TEXT_BYTES_MAX);
        let mut behind = 0;
        let mut pace = Pace::default();
        for found in self.whole.captures_iter(whole).take(most) {
            let Some(matched) = found.get(0) else { break };
            pace.went(16 + matched.end() - behind)?;
            out.push(&whole[behind..matched.start()])?;
            // A reference is to a part of the match, or doubled.
            out.reserve(new.len() + groups * matched.len())?;
            found.expand(&new, out.text());
            behind = matched.end();
        }
        out.push(&whole[behind..])?;
        Ok(out.finish())
    }
}

impl Steps {
    /// None where the automata would be too large: what was compiled is searched with then.
    fn new(pattern: &str, any_case: bool) -> Option<Self> {
        let syntax = syntax::Config::new().case_insensitive(any_case);
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

    /// As [`Pattern::replaced`], with references as the library writes them.
    fn replaced(&mut self, whole: &str, new: &str, most: usize) -> Result<String, Stop> {
        let has_groups = new.contains('$');
        let mut out = TextBuilder::new("text", TEXT_BYTES_MAX);
        let (mut at, mut behind, mut left) = (0, 0, most);
        while left > 0
            && let Some(found) = self.find(whole, at)?
        {
            // An empty match right behind another one is none, as the library has it.
            let is_one = !found.is_empty() || found.end != behind || behind == 0 && left == most;
            at = found.end;
            if found.is_empty() {
                let next = whole[found.end..].chars().next();
                at += next.map_or(1, char::len_utf8);
            }
            if is_one {
                left -= 1;
                out.push(&whole[behind..found.start])?;
                match has_groups {
                    true => self.expand(whole, &found, new, &mut out)?,
                    false => out.push(new)?,
                }
                behind = found.end;
            }
            if at > whole.len() {
                break;
            }
        }
        out.push(&whole[behind..])?;
        Ok(out.finish())
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

    /// Appends what a match is replaced by, with the parts of it that this names.
    fn expand(
        &self,
        whole: &str,
        found: &Range<usize>,
        new: &str,
        out: &mut TextBuilder,
    ) -> Result<(), Stop> {
        if found.len().saturating_mul(self.bytes) > GROUPS_WORK_MAX {
            let message = "a match is too long for a pattern of this size with references to it";
            return Err(SqlError::new(b"54000", message).into());
        }
        let names = new.matches('$').count();
        out.reserve(new.len() + names * found.len())?;
        let mut groups = self.groups.create_captures();
        let input = Input::new(whole).span(found.clone()).anchored(Anchored::Yes);
        self.groups.search_captures(&input, &mut groups);
        groups.interpolate_string_into(whole, new, out.text());
        current::check()?;
        Ok(())
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
    let bytes = text.as_bytes();
    let input = Input::new(text).span(range.clone()).anchored(Anchored::Yes);
    let mut state = dfa.start_state_reverse(cache, &input).map_err(|_| Stop::Unknown)?;
    let mut found = range.end;
    for place in range.clone().rev() {
        if place % BYTES_BETWEEN_LOOKS == 0 {
            current::check()?;
        }
        state = dfa.next_state(cache, state, bytes[place]).map_err(|_| Stop::Unknown)?;
        if state.is_tagged() {
            if is_match(state)? {
                found = place + 1;
            } else if state.is_dead() {
                return Ok(found);
            }
        }
    }
    let last = match range.start.checked_sub(1) {
        Some(before) => dfa.next_state(cache, state, bytes[before]),
        None => dfa.next_eoi_state(cache, state),
    };
    let is_first = is_match(last.map_err(|_| Stop::Unknown)?)?;
    Ok(if is_first { range.start } else { found })
}

fn is_match(state: LazyStateID) -> Result<bool, Stop> {
    if state.is_quit() { Err(Stop::Unknown) } else { Ok(state.is_match()) }
}

impl<E: Into<SqlError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Refused(Box::new(error.into()))
    }
}

/// `\1` and `\&` as the library writes them.
fn references(new: &str) -> String {
    let mut written = String::with_capacity(new.len());
    let mut chars = new.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' => written.push_str("$$"),
            '\\' => match chars.next() {
                Some('&') => written.push_str("${0}"),
                Some(digit) if digit.is_ascii_digit() => {
                    written.push_str("${");
                    written.push(digit);
                    written.push('}');
                }
                Some('\\') => written.push('\\'),
                other => written.extend(std::iter::once('\\').chain(other)),
            },
            c => written.push(c),
        }
    }
    written
}
