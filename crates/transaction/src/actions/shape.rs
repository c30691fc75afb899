//! Shapes of calls: what forming looks at, so that calls of one shape are formed once.
//!
//! Role         between recording and forming ([`super::form`]): two New-Order calls of ten lines
//!              differ in keys and values, not in which leaf runs with whom and after whom
//! Invariants   I1 calls of one shape are formed alike: a shape is the program, what is wanted of
//!              the actions, and, in the order in which the driver came to them, the runs of leaves
//!              and the values taken for variables, with the number of keys of each run and its
//!              granules, by their places in the footprint, with modes
//!              I2 memory is bounded, and taken once: [`PLACES`] forms, each with room for what a
//!              long call of TPC-C needs; longer ones are formed each time. A shape gets a place,
//!              and perhaps another one's, when it is met twice in a row there
//! Measured     TPC-C on LADS: see docs/benchmarking.md

use super::batch::{Action, Instance, Value, Wanted};
use super::program::ActionProgram;
use crate::granule::{LockMode, Space};

/// Forms that are kept, a power of two.
const PLACES: usize = 128;
/// Words of a shape.
const WORDS_MAX: usize = 512;
/// What a form may have: with these a place takes 24 KiB.
const VALUES_MAX: usize = 1024;
const INPUTS_MAX: usize = 1024;
const INSTANCES_MAX: usize = 256;
const ACTIONS_MAX: usize = 64;
const USES_MAX: usize = 128;
const DEPENDENCIES_MAX: usize = 256;

/// The shape of a call, word by word.
#[derive(Default, Debug)]
pub(super) struct Shape(Vec<u32>);

/// Words that come before what the driver did.
const HEAD: usize = 3;
const GRANULE: u32 = 1;
const HOME: u32 = 1 << 1;
const MODE_SHIFT: u32 = 2;
const PLACE_SHIFT: u32 = 4;

/// What the driver did.
#[derive(Clone, Copy, Debug)]
pub(super) enum Did {
    /// it named a granule, at this place of the footprint, for the leaf that comes next
    Touch(Touched),
    /// it came to a step, whose leaf takes so many keys; none for one that is no leaf
    Step(u32, u32),
}

/// A granule that a run of a leaf touches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    /// its place in the footprint
    pub granule: u32,
    pub mode: LockMode,
    /// actions may be made for it: it does not only announce finer ones
    pub is_home: bool,
}

impl Shape {
    pub(super) fn begin(&mut self, program: &ActionProgram, wanted: Wanted) {
        self.0.clear();
        self.0.extend([program.number as u32, (program.number >> 32) as u32, wanted as u32]);
    }

    #[inline]
    pub(super) fn touch(&mut self, granule: u32, space: Space, mode: LockMode) {
        // Intents announce granules; they are no place to work in.
        let is_home = matches!(space, Space::Index(_)) || mode >= LockMode::Shared;
        let home = if is_home { HOME } else { 0 };
        self.0.push(granule << PLACE_SHIFT | (mode as u32) << MODE_SHIFT | home | GRANULE);
    }

    #[inline]
    pub(super) fn step(&mut self, step: u32, keys: u32) {
        self.0.extend([step << 1, keys]);
    }

    /// What the driver did, in order.
    pub(super) fn each(&self) -> impl Iterator<Item = Did> + '_ {
        let mut words = self.0[HEAD..].iter().copied();
        std::iter::from_fn(move || {
            let word = words.next()?;
            if word & GRANULE == 0 {
                return Some(Did::Step(word >> 1, words.next()?));
            }
            let mode = LockMode::ALL[(word >> MODE_SHIFT) as usize % LockMode::ALL.len()];
            let (granule, is_home) = (word >> PLACE_SHIFT, word & HOME != 0);
            Some(Did::Touch(Touched { granule, mode, is_home }))
        })
    }

    /// Odd and with its bits spread, as in FxHash; shapes of equal hashes are compared.
    fn hash(&self) -> u64 {
        let add =
            |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (pairs, last) = self.0.as_chunks();
        let folded = pairs
            .iter()
            .fold(0, |hash, &[low, high]| add(hash, u64::from(low) | u64::from(high) << 32));
        let folded = last.iter().fold(folded, |hash, &word| add(hash, word.into()));
        folded ^ folded >> 32
    }
}

/// What calls of one shape have in common. All numbers are counted from the call's first ones.
#[derive(Default, Debug)]
pub(super) struct Form {
    pub(super) instances: Vec<Instance>,
    pub(super) values: Vec<Value>,
    /// value numbers, in pieces
    pub(super) inputs: Vec<u32>,
    /// by phase
    pub(super) actions: Vec<Action>,
    /// instances, by action
    pub(super) lines: Vec<u32>,
    /// places in the footprint, by action
    pub(super) uses: Vec<(u32, LockMode)>,
    /// sorted, none twice
    pub(super) dependencies: Vec<(u32, u32)>,
    /// the value the caller hears as row count
    pub(super) row_count: u32,
    /// conditions were to come first, and cannot
    pub(super) is_late: bool,
}

impl Form {
    pub(super) fn clear(&mut self) {
        self.instances.clear();
        self.values.clear();
        self.inputs.clear();
        self.actions.clear();
        self.lines.clear();
        self.uses.clear();
        self.dependencies.clear();
        self.row_count = 0;
        self.is_late = false;
    }

    fn with_room() -> Self {
        Self {
            instances: Vec::with_capacity(INSTANCES_MAX),
            values: Vec::with_capacity(VALUES_MAX),
            inputs: Vec::with_capacity(INPUTS_MAX),
            actions: Vec::with_capacity(ACTIONS_MAX),
            lines: Vec::with_capacity(INSTANCES_MAX),
            uses: Vec::with_capacity(USES_MAX),
            dependencies: Vec::with_capacity(DEPENDENCIES_MAX),
            row_count: 0,
            is_late: false,
        }
    }

    fn is_small(&self) -> bool {
        self.instances.len() <= INSTANCES_MAX
            && self.values.len() <= VALUES_MAX
            && self.inputs.len() <= INPUTS_MAX
            && self.actions.len() <= ACTIONS_MAX
            && self.uses.len() <= USES_MAX
            && self.dependencies.len() <= DEPENDENCIES_MAX
    }

    /// Becomes the same as another one, in its own memory.
    fn copy(&mut self, other: &Self) {
        self.clear();
        self.instances.extend_from_slice(&other.instances);
        self.values.extend_from_slice(&other.values);
        self.inputs.extend_from_slice(&other.inputs);
        self.actions.extend_from_slice(&other.actions);
        self.lines.extend_from_slice(&other.lines);
        self.uses.extend_from_slice(&other.uses);
        self.dependencies.extend_from_slice(&other.dependencies);
        (self.row_count, self.is_late) = (other.row_count, other.is_late);
    }
}

#[derive(Debug)]
struct Place {
    /// hash of the shape that was met last
    met: u64,
    /// hash of the shape that is kept
    hash: u64,
    shape: Vec<u32>,
    form: Form,
}

impl Place {
    fn with_room() -> Self {
        let shape = Vec::with_capacity(WORDS_MAX);
        Self { met: 0, hash: 0, shape, form: Form::with_room() }
    }
}

/// Forms by the place of their shape, and one for a shape that has no place.
#[derive(Default, Debug)]
pub(super) struct Forms {
    places: Vec<Place>,
    /// of a shape that has no place
    other: Form,
}

impl Forms {
    /// The form of a shape: as it is kept, or as `make` makes it now.
    pub(super) fn of(&mut self, shape: &Shape, make: impl FnOnce(&mut Form)) -> &Form {
        let hash = shape.hash();
        if self.places.is_empty() {
            self.places.resize_with(PLACES, Place::with_room);
        }
        let place = &mut self.places[hash as usize % PLACES];
        if place.hash == hash && place.shape == shape.0 {
            return &place.form;
        }
        self.other.clear();
        make(&mut self.other);
        let is_met_again = std::mem::replace(&mut place.met, hash) == hash;
        if is_met_again && shape.0.len() <= WORDS_MAX && self.other.is_small() {
            place.hash = hash;
            place.shape.clear();
            place.shape.extend_from_slice(&shape.0);
            place.form.copy(&self.other);
        }
        &self.other
    }
}
