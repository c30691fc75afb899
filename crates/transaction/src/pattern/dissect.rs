//! Matches and their groups as PostgreSQL takes them, where the library would take others.
//!
//! Role         [`super::Pattern`] knows where the leftmost match begins, which is the same for
//!              both; here is found where it ends, and where its groups are. The library tries what
//!              stands first, PostgreSQL takes the longest match or the shortest one, and of that
//!              the longest or shortest part for what stands first, and so on
//! Invariants   I1 each part is matched exactly by where it was found to be: nothing is tried twice
//! Source       PostgreSQL 15, chapter 9.7.3.5, "Regular Expression Matching Rules". An automaton
//!              for each part tells where it ends, a reverse one for all that stands behind it
//!              where that begins: `(a|ab)(c|bcd)(d*)` in `abcd` ends at 4; the first group may
//!              end at 1 or 2, and what is behind it may begin at 1 or 2: 2 is the longest

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::{ControlFlow, Range};

use hotrow_base::interrupt::current;
use hotrow_base::memory::Charge;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::tree::{Grouped, Node, Part, Preference, Tree, counts};
use super::{
    BYTES_BETWEEN_LOOKS, NEST_MAX, PATTERN_BYTES_MAX, STATES_BYTES, Stop, each_start, is_match,
};

/// Automata that are kept for one pattern.
const AUTOMATA_MAX: usize = 64;

/// Where something begins and ends; none: it is not there.
pub(super) type Groups = Vec<Option<Range<usize>>>;

/// What an automaton is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Piece {
    /// a part
    Part(Part),
    /// those of a sequence from one on
    Behind(Part, usize),
    /// further repetitions of a part
    Again { of: Part, least: u32, most: Option<u32> },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Way {
    Forth,
    Back,
}

struct Automaton {
    dfa: DFA,
    cache: Cache,
}

/// The automata of a pattern's parts.
#[derive(Default)]
pub(super) struct Dissector {
    automata: HashMap<(Piece, Way), Automaton>,
}

impl Dissector {
    /// Where the match ends that begins at a place.
    pub(super) fn end(
        &mut self,
        tree: &Tree,
        text: &str,
        start: usize,
    ) -> Result<Option<usize>, Stop> {
        let is_shortest = tree.preference(tree.top()) == Preference::Shortest;
        let automaton = self.automaton(tree, Piece::Part(tree.top()), Way::Forth)?;
        let mut found = None;
        automaton.ends(text, start..text.len(), |end| {
            found = Some(end);
            if is_shortest { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }

    /// Notes where the groups of a part are, which matches this range.
    pub(super) fn dissect(
        &mut self,
        tree: &Tree,
        part: Part,
        (text, range): (&str, Range<usize>),
        groups: &mut Groups,
    ) -> Result<(), Stop> {
        if !tree.has_groups(part) {
            return Ok(());
        }
        match tree.node(part) {
            Node::Atom(_) => Ok(()),
            Node::Group(number, inner) => {
                if let Some(number) = number {
                    groups[*number] = Some(range.clone());
                }
                self.dissect(tree, *inner, (text, range), groups)
            }
            Node::All(parts) => self.sequence(tree, (part, parts), (text, range), groups),
            Node::Either(branches) => {
                for branch in branches {
                    let automaton = self.automaton(tree, Piece::Part(*branch), Way::Forth)?;
                    let mut is_it = false;
                    automaton.ends(text, range.clone(), |end| {
                        is_it |= end == range.end;
                        ControlFlow::Continue(())
                    })?;
                    if is_it {
                        return self.dissect(tree, *branch, (text, range), groups);
                    }
                }
                Ok(())
            }
            Node::Repeat { of, least, most, .. } => {
                self.repetitions(tree, (*of, *least, *most), (text, range), groups)
            }
        }
    }

    fn sequence(
        &mut self,
        tree: &Tree,
        (whole, parts): (Part, &[Part]),
        (text, mut range): (&str, Range<usize>),
        groups: &mut Groups,
    ) -> Result<(), Stop> {
        for (at, part) in parts.iter().enumerate() {
            if at + 1 == parts.len() {
                return self.dissect(tree, *part, (text, range), groups);
            }
            if !parts[at..].iter().any(|part| tree.has_groups(*part)) {
                return Ok(());
            }
            let behind = Piece::Behind(whole, at + 1);
            let middle = self.middle(tree, *part, behind, (text, range.clone()))?;
            self.dissect(tree, *part, (text, range.start..middle), groups)?;
            range.start = middle;
        }
        Ok(())
    }

    /// The last repetition's groups are told.
    fn repetitions(
        &mut self,
        tree: &Tree,
        (of, mut least, mut most): (Part, u32, Option<u32>),
        (text, mut range): (&str, Range<usize>),
        groups: &mut Groups,
    ) -> Result<(), Stop> {
        if least == 0 && range.is_empty() {
            return Ok(());
        }
        loop {
            (least, most) = (least.saturating_sub(1), most.map(|most| most.saturating_sub(1)));
            let again = Piece::Again { of, least, most };
            let middle = self.middle(tree, of, again, (text, range.clone()))?;
            let is_last = middle == range.end && least == 0;
            // A repetition of nothing would be the last one, too.
            if is_last || middle == range.start && least == 0 || most == Some(0) {
                return self.dissect(tree, of, (text, range.start..middle), groups);
            }
            range.start = middle;
        }
    }

    /// Where a part ends so that what stands behind it ends where the range does.
    fn middle(
        &mut self,
        tree: &Tree,
        part: Part,
        behind: Piece,
        (text, range): (&str, Range<usize>),
    ) -> Result<usize, Stop> {
        let mut charge = current::charge();
        let begins = self.begins(tree, behind, (text, range.clone()), &mut charge)?;
        let is_shortest = tree.preference(part) == Preference::Shortest;
        let automaton = self.automaton(tree, Piece::Part(part), Way::Forth)?;
        let mut found = None;
        automaton.ends(text, range.clone(), |end| {
            if begins[end - range.start] {
                found = Some(end);
                if is_shortest {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        found.ok_or(Stop::Unknown)
    }

    /// Where a piece may begin that ends where the range does, counted from where that begins.
    fn begins(
        &mut self,
        tree: &Tree,
        piece: Piece,
        (text, range): (&str, Range<usize>),
        charge: &mut Charge,
    ) -> Result<Vec<bool>, Stop> {
        charge.add(range.len() + 1)?;
        let mut begins = vec![false; range.len() + 1];
        let automaton = self.automaton(tree, piece, Way::Back)?;
        let (dfa, cache) = (&automaton.dfa, &mut automaton.cache);
        each_start(dfa, cache, text, range.clone(), |begin| begins[begin - range.start] = true)?;
        Ok(begins)
    }

    fn automaton(&mut self, tree: &Tree, piece: Piece, way: Way) -> Result<&mut Automaton, Stop> {
        if self.automata.len() >= AUTOMATA_MAX && !self.automata.contains_key(&(piece, way)) {
            self.automata.clear();
        }
        match self.automata.entry((piece, way)) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                current::check()?;
                Ok(place.insert(Automaton::new(&text_of(tree, piece), tree.any_case, way)?))
            }
        }
    }
}

/// A piece as the library has it.
fn text_of(tree: &Tree, piece: Piece) -> String {
    let mut text = String::new();
    match piece {
        Piece::Part(part) => tree.write(part, Grouped::No, &mut text),
        Piece::Behind(whole, from) => {
            if let Node::All(parts) = tree.node(whole) {
                parts[from..].iter().for_each(|part| tree.write(*part, Grouped::No, &mut text));
            }
        }
        Piece::Again { of, least, most } => {
            text.push_str("(?:");
            tree.write(of, Grouped::No, &mut text);
            text.push(')');
            text.push_str(&counts(least, most));
        }
    }
    text
}

impl Automaton {
    fn new(text: &str, any_case: bool, way: Way) -> Result<Self, Stop> {
        let syntax = syntax::Config::new().case_insensitive(any_case).nest_limit(NEST_MAX);
        let thompson = thompson::Config::new()
            .nfa_size_limit(Some(PATTERN_BYTES_MAX))
            .reverse(way == Way::Back)
            .which_captures(thompson::WhichCaptures::None);
        let config = DFA::config()
            .cache_capacity(STATES_BYTES)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true)
            .match_kind(MatchKind::All);
        let mut builder = DFA::builder();
        builder.syntax(syntax).thompson(thompson).configure(config);
        let dfa = builder.build(text).map_err(|_| Stop::Unknown)?;
        let cache = dfa.create_cache();
        Ok(Self { dfa, cache })
    }

    /// Gives each place of a range where a match ends that begins with the range.
    fn ends(
        &mut self,
        text: &str,
        range: Range<usize>,
        mut give: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let (dfa, cache, bytes) = (&self.dfa, &mut self.cache, text.as_bytes());
        let input = Input::new(text).span(range.start..bytes.len()).anchored(Anchored::Yes);
        let mut state = dfa.start_state_forward(cache, &input).map_err(|_| Stop::Unknown)?;
        for place in range.clone() {
            if place % BYTES_BETWEEN_LOOKS == 0 {
                current::check()?;
            }
            state = dfa.next_state(cache, state, bytes[place]).map_err(|_| Stop::Unknown)?;
            // A state says of the byte before the last one that a match ended there.
            if state.is_tagged() && (is_match(state)? && give(place).is_break() || state.is_dead())
            {
                return Ok(());
            }
        }
        let last = match bytes.get(range.end) {
            Some(next) => dfa.next_state(cache, state, *next),
            None => dfa.next_eoi_state(cache, state),
        };
        if is_match(last.map_err(|_| Stop::Unknown)?)? {
            let _ = give(range.end);
        }
        Ok(())
    }
}
