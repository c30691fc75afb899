//! What a query of any shape compiles to: a tree of operators over rows of slots.

use hotrow_base::stack::with_room;
use hotrow_base::types::SqlType;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::needs::Needs;
use hotrow_transaction::program::{Procedure, ResultColumn, Slot, SlotId};

use crate::functions::{HostFunction, SystemFunction};

mod aggregates;
mod slots;
mod when;

pub use aggregates::{Aggregation, GroupAggregate};
pub use when::{Test, When};

/// A query that is more than one access to one table. [`super::run`] runs it.
///
/// Every column that any part of it reads has a slot of its own, so a row is an assignment of
/// values to slots, and a correlated subquery reads the slots of the rows around it.
#[derive(Debug)]
pub struct Query {
    /// how its rows come about
    pub plan: Plan,
    /// which slots of them are its columns
    pub outputs: Vec<SlotId>,
    /// names and types of those; arrays have [`Query::slots`]' types
    pub columns: Vec<ResultColumn>,
    /// one-table reads, by [`Plan::Fetch`]
    pub fetches: Vec<Procedure>,
    /// all slots
    pub slots: Vec<Slot>,
    /// slots of the statement's parameters, in their order
    pub parameters: Vec<SlotId>,
    /// what whoever runs it needs the right to do
    pub needs: Needs,
}

/// Operators lie one in the other, and are dropped level by level.
impl Drop for Query {
    fn drop(&mut self) {
        with_room(|| drop(std::mem::replace(&mut self.plan, Plan::One)));
    }
}

impl Query {
    /// Whether it draws numbers from sequences, or sets them: in transactions of their own.
    pub fn draws(&self) -> bool {
        use SystemFunction as F;
        self.calls_any(|function| matches!(function, F::NextValue | F::SetValue))
    }

    /// Whether it does something that is not undone with its transaction, and that doing twice
    /// would show.
    pub fn has_effects(&self) -> bool {
        use SystemFunction as F;
        let acts = |function| {
            let interrupts = matches!(function, F::CancelBackend | F::TerminateBackend);
            interrupts || matches!(function, F::SetConfig | F::Advisory(_))
        };
        self.draws() || self.calls_any(acts)
    }

    fn calls_any(&self, is_it: impl Fn(SystemFunction) -> bool) -> bool {
        let calls = |step: &Step| match step.kind {
            StepKind::Function(HostFunction::System(function)) => is_it(function),
            _ => false,
        };
        let mut found = false;
        self.plan.walk(&mut |plan| found |= plan.steps().iter().any(calls));
        found
    }
}

/// An operator. Each gives rows, whose slots its parents name.
#[derive(Debug)]
pub enum Plan {
    /// one row without columns
    One,
    /// rows of one table
    Fetch {
        /// into [`Query::fetches`]
        fetch: usize,
        /// what its parameters are, of rows around
        inputs: Vec<SlotId>,
        /// its columns
        outputs: Vec<SlotId>,
    },
    /// rows of the system catalog
    System {
        /// its name, with its schema
        relation: &'static str,
        /// number of a column, and its slot
        outputs: Vec<(usize, SlotId)>,
    },
    /// VALUES
    Values {
        /// a row each
        rows: Vec<Scalars>,
        /// columns
        outputs: Vec<SlotId>,
    },
    /// appends columns
    Compute {
        /// of these rows
        input: Box<Plan>,
        /// their values
        scalars: Scalars,
        /// their slots
        outputs: Vec<SlotId>,
    },
    /// appends what cannot be computed by a program: of functions on arrays and names, and of
    /// subqueries
    Extend {
        /// of these rows
        input: Box<Plan>,
        /// what
        step: Box<Step>,
    },
    /// what depends on no row of the input is computed once
    Given {
        /// first
        steps: Vec<Step>,
        /// then these rows
        input: Box<Plan>,
    },
    /// rows for which a condition is true
    Filter {
        /// of these
        input: Box<Plan>,
        /// one boolean
        condition: Scalars,
    },
    /// pairs of rows
    Join(Box<Join>),
    /// one row per group
    Group(Box<Group>),
    /// appends values of window functions
    Window(Box<Window>),
    /// in order
    Sort {
        /// rows
        input: Box<Plan>,
        /// by these
        keys: Vec<SortKey>,
    },
    /// rows that can be held as writers hold them: FOR UPDATE SKIP LOCKED
    Lock {
        /// of these
        input: Box<Plan>,
        /// by table
        locks: Vec<LockedRows>,
        /// these give the same rows each time, as many of the first ones as this slot has: so that
        /// no more are read than are wanted, and some that turn out to be held
        by_parts: Option<SlotId>,
    },
    /// the first row of each combination of values
    Distinct {
        /// rows
        input: Box<Plan>,
        /// of these slots
        on: Vec<SlotId>,
    },
    /// LIMIT and OFFSET
    Limit {
        /// rows
        input: Box<Plan>,
        /// bigint; NULL: all
        limit: Option<Scalars>,
        /// bigint; NULL: none
        offset: Option<Scalars>,
        /// WITH TIES: the order of the rows, of which those beside the last one come, too
        ties: Vec<SortKey>,
    },
    /// UNION, INTERSECT, EXCEPT
    Set {
        /// which
        operation: SetOperation,
        /// duplicates stay
        all: bool,
        /// rows and their columns
        left: (Box<Plan>, Vec<SlotId>),
        /// rows and their columns
        right: (Box<Plan>, Vec<SlotId>),
        /// columns of the result
        outputs: Vec<SlotId>,
    },
    /// WITH RECURSIVE
    Recursion(Box<Recursion>),
    /// a query of WITH that gives other rows each time it runs: it runs once
    Shared(Box<Shared>),
    /// in a recursion: the rows of its last round
    Round {
        /// whose
        table: usize,
        /// its columns
        outputs: Vec<SlotId>,
    },
}

impl Plan {
    /// What it computes of rows by itself.
    pub fn steps(&self) -> &[Step] {
        match self {
            Self::Extend { step, .. } => std::slice::from_ref(step),
            Self::Given { steps, .. } => steps,
            Self::Join(join) => join.late.as_ref().map_or(&[], |late| &late.steps),
            _ => &[],
        }
    }
}

/// A query that reads what it gave before, until there is nothing new.
#[derive(Debug)]
pub struct Recursion {
    /// its number in the query
    pub table: usize,
    /// duplicates stay
    pub all: bool,
    /// rows of the first round and their columns
    pub start: (Plan, Vec<SlotId>),
    /// rows of each further one, made of those of the one before
    pub next: (Plan, Vec<SlotId>),
    /// columns of the result
    pub outputs: Vec<SlotId>,
}

/// A query that several places of another one name, and that runs once for all of them: it calls
/// something volatile. Which rows it gives depends on no row around it.
#[derive(Debug)]
pub struct Shared {
    /// its number in the query
    pub number: usize,
    /// its rows and their columns
    pub rows: (Plan, Vec<SlotId>),
    /// columns here
    pub outputs: Vec<SlotId>,
}

/// Values computed from a row: slots as they are, and those that a program computes.
#[derive(Debug)]
pub struct Scalars {
    /// one per value
    pub values: Vec<Scalar>,
    /// what computes them
    pub program: Option<Box<ScalarProgram>>,
}

/// One value.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// of a slot
    Slot(SlotId),
    /// of this column of the program's result
    Computed(usize),
}

/// A program without accesses: one row of results from the values of slots.
#[derive(Debug)]
pub struct ScalarProgram {
    /// what its parameters are
    pub inputs: Vec<SlotId>,
    /// of their types
    pub types: Vec<SqlType>,
    /// the code
    pub program: Program,
}

/// How two inputs are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// pairs
    Inner,
    /// and rows of the left side without partner
    Left,
    /// and rows of both sides without partner
    Full,
}

/// A join.
#[derive(Debug)]
pub struct Join {
    /// which
    pub kind: JoinKind,
    /// rows
    pub left: Plan,
    /// rows; read once, unless `lateral`
    pub right: Plan,
    /// the right side depends on the left row
    pub lateral: bool,
    /// the right side's rows by key, with slots of the left row as inputs: better when there are
    /// few rows on the left
    pub keyed: Option<Plan>,
    /// values of left and right rows that must be equal, none of them NULL
    pub equal: Option<(Scalars, Scalars)>,
    /// what else must be true of a pair
    pub condition: Option<Scalars>,
    /// and what, where that is
    pub late: Option<LateCondition>,
}

/// A condition on what steps extend a row by.
#[derive(Debug)]
pub struct LateCondition {
    /// in their order; what they give is not given on
    pub steps: Vec<Step>,
    /// one boolean
    pub condition: Scalars,
}

/// GROUP BY, and aggregates.
#[derive(Debug)]
pub struct Group {
    /// rows
    pub input: Plan,
    /// what the groups have in common, and what remains of the rows; without keys there is exactly
    /// one group
    pub keys: Vec<SlotId>,
    /// GROUPING SETS: groups of several kinds, by the keys with these numbers; the others are NULL.
    /// None: by all keys
    pub sets: Option<Vec<Vec<usize>>>,
    /// GROUPING: a bit for each of these keys, the last one's lowest, that is left out
    pub groupings: Vec<(Vec<usize>, SlotId)>,
    /// what is computed of each
    pub aggregates: Vec<GroupAggregate>,
}

/// Window functions of one definition.
#[derive(Debug)]
pub struct Window {
    /// rows
    pub input: Plan,
    /// PARTITION BY
    pub partition: Vec<SlotId>,
    /// ORDER BY
    pub order: Vec<SortKey>,
    /// none: from the first row to the current one's last peer
    pub frame: Option<Frame>,
    /// which, and the slots of their results
    pub functions: Vec<(WindowFunction, SlotId)>,
}

/// The rows of a partition that a function sees at one of them.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// what offsets count
    pub units: FrameUnits,
    /// where it begins
    pub start: FrameBound,
    /// where it ends
    pub end: FrameBound,
    /// which of the rows between are left out
    pub exclusion: Exclusion,
}

/// Which rows a frame leaves out.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Exclusion {
    /// none
    #[default]
    NoOthers,
    /// the row itself
    CurrentRow,
    /// the row and its peers
    Group,
    /// its peers, but not the row
    Ties,
}

/// What the offsets of a frame count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameUnits {
    /// rows; CURRENT ROW is the row itself, elsewhere its peers as well
    Rows,
    /// differences of the value that orders the rows
    Range,
    /// groups of peers
    Groups,
}

/// An end of a frame. Offsets are slots with one value in all rows: bigint, and for RANGE of the
/// kind of the value that orders the rows.
#[derive(Clone, Copy, Debug)]
pub enum FrameBound {
    /// of the partition
    Unbounded,
    /// CURRENT ROW
    Current,
    /// PRECEDING
    Before(SlotId),
    /// FOLLOWING
    After(SlotId),
}

/// A window function. Slots are of the row where it is asked, unless said otherwise.
#[derive(Clone, Debug)]
pub enum WindowFunction {
    /// 1, 2, 3 ...
    RowNumber,
    /// with gaps after peers
    Rank,
    /// without gaps
    DenseRank,
    /// the rank, from 0 to 1
    PercentRank,
    /// the share of rows up to the last peer
    CumeDist,
    /// ntile: so many buckets of rows, as its value in the first row says
    Buckets(SlotId),
    /// lag, lead: a value of another row
    Lag {
        /// of this slot there
        value: SlotId,
        /// rows; bigint
        by: SlotId,
        /// lead
        ahead: bool,
        /// where there is no such row; none: NULL
        otherwise: Option<SlotId>,
    },
    /// the value of a slot in the frame's first row
    First(SlotId),
    /// in its last one
    Last(SlotId),
    /// nth_value
    Nth {
        /// of this slot
        value: SlotId,
        /// in this row of the frame, from 1; bigint
        at: SlotId,
    },
    /// an aggregate of the frame
    Running(GroupAggregate),
}

/// One key of an order.
#[derive(Clone, Copy, Debug)]
pub struct SortKey {
    /// value
    pub slot: SlotId,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// UNION and the like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperation {
    /// rows of both
    Union,
    /// rows that both have
    Intersect,
    /// rows of the left side that the right one has not
    Except,
}

/// What a row is extended by.
#[derive(Debug)]
pub struct Step {
    /// computed first
    pub arguments: Scalars,
    /// of it
    pub kind: StepKind,
    /// receive the results
    pub outputs: Vec<SlotId>,
    /// all of them hold, asked in order, or it is left out, and its results are NULL
    pub whens: Vec<When>,
}

/// What is computed.
#[derive(Debug)]
pub enum StepKind {
    /// the arguments
    Value,
    /// a function of the arguments
    Function(HostFunction),
    /// calls a procedure with the arguments: the value that it returns
    Call {
        /// into [`Query::fetches`]
        fetch: usize,
    },
    /// calls a procedure with the arguments: a row for each that it returns
    CallRows {
        /// into [`Query::fetches`]
        fetch: usize,
    },
    /// each element of an array, or each number of a series, in a row of its own; several functions
    /// side by side, the shorter ones filled up with NULLs
    Expand(Vec<Expanding>),
    /// a subquery
    Subquery {
        /// the rows
        plan: Plan,
        /// what is made of them
        kind: SubqueryKind,
        /// their column
        column: SlotId,
        /// what it reads of the rows around: where that is the same, so is what it gives
        inputs: Vec<SlotId>,
    },
}

/// One of the functions of [`StepKind::Expand`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expanding {
    /// which
    pub function: HostFunction,
    /// how many of the step's arguments are its own
    pub arguments: usize,
    /// how many columns it gives
    pub columns: usize,
}

/// What a subquery in an expression gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubqueryKind {
    /// the value of its only row; NULL without rows
    Scalar,
    /// whether there are rows
    Exists,
    /// the values of all rows
    Array,
    /// the same of arrays, which become one with one dimension more
    Nested,
    /// `argument op ANY (...)`
    Any(hotrow_transaction::program::CompareOp),
    /// `argument op ALL (...)`
    All(hotrow_transaction::program::CompareOp),
}

impl Step {
    /// One that is computed for every row.
    pub const fn new(arguments: Scalars, kind: StepKind, outputs: Vec<SlotId>) -> Self {
        Self { arguments, kind, outputs, whens: Vec::new() }
    }

    /// Calls `visit` with every operator of its subqueries.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Plan)) {
        if let StepKind::Subquery { plan, .. } = &self.kind {
            plan.walk(visit);
        }
    }

    /// Whether it may give something else, or do something, each time.
    pub fn is_volatile(&self) -> bool {
        use SystemFunction as F;
        match &self.kind {
            StepKind::Call { .. } | StepKind::CallRows { .. } => true,
            StepKind::Value => true, // it may be of something random
            StepKind::Function(HostFunction::Random(_)) => true,
            StepKind::Function(HostFunction::System(function)) => matches!(
                function,
                F::NextValue | F::SetValue | F::SetConfig | F::Sleep | F::Random(_)
            ),
            _ => false,
        }
    }

    /// Slots that it reads.
    pub fn inputs(&self) -> Vec<SlotId> {
        let mut all: Vec<_> = self.arguments.inputs().collect();
        if let StepKind::Subquery { inputs, .. } = &self.kind {
            all.extend(inputs);
        }
        all.extend(self.whens.iter().map(|when| when.slot));
        all
    }
}

impl Scalars {
    /// Notes the slots that they read.
    pub fn note_inputs(&self, read: &mut Vec<SlotId>) {
        read.extend(self.inputs());
    }

    /// Slots it reads.
    pub fn inputs(&self) -> impl Iterator<Item = SlotId> + '_ {
        let plain = self.values.iter().filter_map(|value| match value {
            Scalar::Slot(slot) => Some(*slot),
            Scalar::Computed(_) => None,
        });
        plain.chain(self.program.iter().flat_map(|program| program.inputs.iter().copied()))
    }
}

/// The rows of one table that are held one by one.
#[derive(Debug)]
pub struct LockedRows {
    /// into the query's fetches: takes a primary key; fails with 55P03 if somebody else holds it
    pub fetch: usize,
    /// the slots of the primary key
    pub key: Vec<SlotId>,
    /// the slots of what it gives: another row than was found was not free
    pub columns: Vec<SlotId>,
}
