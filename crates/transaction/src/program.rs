//! The procedure program: a structured, typed tree whose only effects are accesses.
//!
//! Role         made by `sql` from text (or by hand in tests); `lower` turns it into bytecode,
//!              `slice` cuts out what decides keys. Nothing here knows SQL text but the places
//!              kept for error messages.
//! Invariants   I1 every expression is typed; operands have been cast, so operators never convert
//!              I2 slots 0, 1, 2 are FOUND, the call's time and the last row count; parameters
//!              follow from [`FIRST_PARAMETER`], then local variables and temporaries
//!              I3 every turn of a loop is a step of the call, so that its step budget ends a loop
//!                 that nothing else ends
//!              I4 a label is that of one [`StatementKind::Block`], and whatever leaves it stands
//!                 in it
//!              I5 what raises a caught error again stands in a handler

mod consume;
pub(crate) mod expression;
mod function;
mod operator;
mod protected;

use std::ops::Range;
use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use crate::catalog::{Deferral, TriggerEvent, TriggerFunction, local, schema_of};
use crate::draw::Draw;
use crate::dynamic::DynamicStatement;
use crate::needs::Needs;
use crate::operators::Operators;
use crate::outcome::{NoticeLevel, SqlError};

pub use crate::place::Place;
pub use consume::Consume;
pub use expression::{Expr, ExprKind, FIRST_PARAMETER, FOUND, NOW, ROW_COUNT, SlotId};
pub use function::{
    ArrayFunction, BitFunction, Extent, Function, IntervalFunction, NumericFunction, RealFunction,
    RowFunction, TemplateFunction, TextFunction, WholeFunction,
};
pub use operator::{ArithmeticOp, CompareOp};
pub use protected::{Catch, ErrorPart, Handler, Protected};

/// A declared slot.
#[derive(Clone, Debug)]
pub struct Slot {
    /// its name, for EXPLAIN and messages; temporaries have names with a leading `$`
    pub name: String,
    /// its type
    pub sql_type: SqlType,
}

impl Slot {
    /// Its name as people know it; of one that the compiler has made: what it is made for.
    pub fn shown_name(&self) -> &str {
        match self.name.trim_start_matches('$') {
            "" => "a value",
            name => name,
        }
    }
}

/// A column of what a procedure returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultColumn {
    /// its name
    pub name: String,
    /// its type
    pub data_type: DataType,
    /// the column of a table that it is
    pub origin: Option<(TableId, ColumnId)>,
}

impl ResultColumn {
    /// A computed column.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        Self { name: name.into(), data_type, origin: None }
    }
}

/// What keeps a routine from being called: its text names what is not there.
#[derive(Clone, Debug)]
pub struct Lacking {
    /// what a call fails with
    pub error: SqlError,
    /// whether PostgreSQL looks at such a text when the routine is created, as it does at those in
    /// SQL; those in PL/pgSQL it looks at when they are called
    pub is_looked_at: bool,
}

/// The text of a routine.
#[derive(Clone, Debug)]
pub struct RoutineSource {
    /// CREATE FUNCTION or PROCEDURE, as it was written
    pub text: String,
    /// whether it, or what it calls, lacks something
    pub is_hollow: bool,
}

/// A stored procedure or function, or one ad-hoc statement.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// what tells it from all others: its name, with its schema before it unless that is `public`,
    /// and the types of its parameters behind [`OVERLOAD_MARK`] where another one was there before;
    /// that of a statement kept as one begins with [`STATEMENT_MARK`]
    pub name: String,
    /// how many of `slots`, from [`FIRST_PARAMETER`], are parameters
    pub parameters: u16,
    /// what the last of the [given](Procedure::given) ones are where a caller leaves them out
    pub defaults: Vec<DefaultArgument>,
    /// what the last parameters' values are drawn from, before the call is planned: so it knows the
    /// keys it will insert, and a repetition finds the same
    pub draws: Vec<Draw>,
    /// all slots (I2)
    pub slots: Vec<Slot>,
    /// what it does
    pub body: Vec<Statement>,
    /// columns of its result; empty for none
    pub result: Vec<ResultColumn>,
    /// whether the result is a set (RETURN QUERY / RETURN NEXT) rather than one row (RETURN)
    pub returns_set: bool,
    /// how many row sets FOR-over-query loops need at once (`RowSetId` < this)
    pub row_sets: u16,
    /// how it holds the rows that it reads
    pub row_locks: RowLocks,
    /// names of the procedures whose statements stand in it, where it calls them; those that these
    /// call are among them, and it is not itself
    pub inlined: Vec<String>,
    /// whether it ends with COMMIT or ROLLBACK, and so cannot be called inside a transaction
    pub ends_transaction: bool,
    /// its last parameter, an array, takes any number of arguments, each an element of it
    pub is_variadic: bool,
    /// of a procedure: where CALL writes something for its OUT parameters, among all parameters
    pub outs: Vec<u16>,
    /// why it cannot be called: it is there by its name, and a call fails. None: it can be
    pub lacks: Option<Arc<Lacking>>,
    /// its text, where a call of it by itself is run statement by statement: a program calls it by
    /// an error
    pub interpreted: Option<Arc<str>>,
    /// its text, where it calls others or lacks something: routines that call each other are
    /// compiled within each other
    pub source: Option<Arc<RoutineSource>>,
    /// of a function that RETURNS trigger: what triggers have of it. Nobody can call it
    pub trigger: Option<Arc<TriggerFunction>>,
    /// what it leaves to triggers that fire at the end of the call
    pub later: Option<Box<LaterEvents>>,
    /// what its caller needs the right to do, beside calling it
    pub needs: Needs,
}

/// What a parameter is where a caller leaves it out.
#[derive(Clone, Debug)]
pub enum DefaultArgument {
    /// its value
    Known(Value),
    /// one that reads nothing but the call's time
    Computed(Expr),
    /// an expression as it was written, that draws something (a number of a sequence, a random
    /// value) or calls a routine: whoever calls compiles it as an argument of his own
    Written(Arc<str>),
}

/// Events that triggers fire for at the end of the call that has them, and not in their statement
/// (CREATE CONSTRAINT TRIGGER ... INITIALLY DEFERRED): rows, kept in variables of the procedure.
#[derive(Clone, Debug)]
pub struct LaterEvents {
    /// whether the call fires for them itself; else they are told its caller
    /// ([`crate::deferred`])
    pub fires: SlotId,
    /// the queue of each event, by its [name](EventQueue::name), in the order of events
    pub order: SlotId,
    /// rows of events
    pub queues: Vec<EventQueue>,
    /// the statements of the body that fire; the first one of all is there for them, too. Where
    /// the procedure stands in another one, that one fires, and these are left out. Empty: none do
    pub firing: Range<usize>,
}

/// Rows that a trigger fires for.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// the table that has the trigger
    pub table: TableId,
    /// the trigger
    pub trigger: String,
    /// what was done to the rows
    pub event: TriggerEvent,
    /// arrays of columns of the rows as they were, and as they are, as far as there are such
    pub arrays: Vec<SlotId>,
}

impl EventQueue {
    /// What tells it from others: no user's name begins with a number.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.table.0, self.event.name(), self.trigger)
    }
}

impl LaterEvents {
    /// All variables that it needs.
    pub fn slots(&self) -> impl Iterator<Item = SlotId> {
        let arrays = self.queues.iter().flat_map(|queue| &queue.arrays).copied();
        [self.fires, self.order].into_iter().chain(arrays)
    }
}

impl Procedure {
    /// What stands for it in a procedure that calls it.
    pub fn body_of_call(&self) -> Vec<Statement> {
        let mut body = self.body.clone();
        if let Some(later) = self.later.as_ref().filter(|later| !later.firing.is_empty()) {
            body.drain(later.firing.clone());
            body.remove(0);
        }
        body
    }
}

/// What stands between a routine's name and the types of its parameters, where others of its name
/// were there before it; no user's name has it.
pub const OVERLOAD_MARK: char = '\u{2}';

/// What the name of a [statement](Procedure::is_statement) begins with; no user's does.
pub const STATEMENT_MARK: char = '\u{1}';

/// How a statement of a transaction that locks as it goes holds the rows that it reads. Registered
/// procedures hold them as readers do, or as their plans say.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RowLocks {
    /// as readers do
    #[default]
    Shared,
    /// as writers do: FOR UPDATE
    Exclusive,
    /// as writers do, or not at all: what somebody else holds ends the statement, for NOWAIT and
    /// for SKIP LOCKED
    ExclusiveAtOnce,
    /// not at all, and it may see what is not committed: it looks for rows that another statement
    /// will try to hold
    Free,
}

impl RowLocks {
    /// Whether rows are held as writers hold them.
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::Exclusive | Self::ExclusiveAtOnce)
    }
}

impl Procedure {
    /// Whether it has a program for the types of each call only.
    pub fn is_polymorphic(&self) -> bool {
        self.given().iter().any(|parameter| parameter.sql_type.any().is_some())
    }

    /// The parameters, in order, those that are drawn last.
    pub fn parameters(&self) -> &[Slot] {
        let first = FIRST_PARAMETER as usize;
        &self.slots[first..first + self.parameters as usize]
    }

    /// The parameters that a caller gives.
    pub fn given(&self) -> &[Slot] {
        let given = self.parameters as usize - self.draws.len();
        &self.parameters()[..given]
    }

    /// Whether it takes numbers of sequences in loops, as many as it will.
    pub fn takes_numbers(&self) -> bool {
        self.draws.iter().any(|draw| matches!(draw, Draw::Numbers(_) | Draw::AnyNumbers))
    }

    /// What parameter `at` of the given ones is where a caller leaves it out; none: it may not.
    pub fn default_of(&self, at: usize) -> Option<&DefaultArgument> {
        let first = self.given().len() - self.defaults.len();
        self.defaults.get(at.checked_sub(first)?)
    }

    /// How many arguments a caller may give, for people: `3`, or `1 to 3`.
    pub fn counts(&self) -> String {
        let most = self.given().len();
        match self.defaults.len() {
            0 => most.to_string(),
            defaults => format!("{} to {most}", most - defaults),
        }
    }

    /// Whether a caller may give so many arguments.
    pub fn takes(&self, count: usize) -> bool {
        let most = self.given().len();
        (most - self.defaults.len()..=most).contains(&count)
    }

    /// Whether it is a single statement that is sent again and again, and kept so that it is
    /// planned as calls are. Nobody calls it by its name, and it is there as long as it does not
    /// stand in the way of definitions.
    pub fn is_statement(&self) -> bool {
        self.name.starts_with(STATEMENT_MARK)
    }

    /// Its name, or its text where it is a statement: for people.
    pub fn shown_name(&self) -> &str {
        match self.name.strip_prefix(STATEMENT_MARK) {
            Some(text) => text,
            None => local(routine_name(&self.name)),
        }
    }

    /// The schema that it stands in.
    pub fn schema(&self) -> &str {
        routine_schema(&self.name)
    }
}

/// The schema that a routine's key says.
pub fn routine_schema(key: &str) -> &str {
    schema_of(routine_name(key))
}

/// The name that a routine's key says, with its schema before it unless that is `public`: see
/// [`key_in`](crate::catalog::key_in).
pub fn routine_name(key: &str) -> &str {
    key.split(OVERLOAD_MARK).next().unwrap_or(key)
}

/// A statement and where it stands.
#[derive(Clone, Debug)]
pub struct Statement {
    /// what it does
    pub kind: StatementKind,
    /// where it stands
    pub place: Place,
}

/// The result rows of one FOR-over-query, kept until its loop ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowSetId(pub u16);

/// What a [`StatementKind::Leave`] leaves, and goes on behind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelId(pub u16);

/// What a statement does.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `slot := value`
    Assign {
        /// target
        slot: SlotId,
        /// new value, of the slot's type
        value: Expr,
    },
    /// select, update or delete rows of one table
    Access(Box<Access>),
    /// insert one row
    Insert(Box<Insert>),
    /// IF; ELSIF is an IF in `otherwise`. NULL counts as false.
    If {
        /// boolean
        condition: Expr,
        /// THEN
        then: Vec<Statement>,
        /// ELSE
        otherwise: Vec<Statement>,
    },
    /// `FOR slot IN [REVERSE] from..to BY step`; bounds are read once
    ForRange {
        /// loop variable, integer
        slot: SlotId,
        /// first value
        from: Expr,
        /// last value, included
        to: Expr,
        /// positive step
        step: Expr,
        /// counts down
        reverse: bool,
        /// body
        body: Vec<Statement>,
    },
    /// `FOREACH slot IN ARRAY array`, and one turn for each key of a list
    ForEach {
        /// loop variable, of the elements' type
        slot: SlotId,
        /// its values
        elements: Elements,
        /// body
        body: Vec<Statement>,
    },
    /// `FOR row IN query`: `query` must consume [`Consume::Rows`] into `rows`. One that changes
    /// its rows has changed them all before the body runs
    ForQuery {
        /// where the rows are kept
        rows: RowSetId,
        /// what gives the rows
        query: Box<Access>,
        /// slots that receive the columns of each row
        into: Vec<SlotId>,
        /// body
        body: Vec<Statement>,
    },
    /// `FOR row IN query`, of a query that is more than one access
    ForOperators(Box<OperatorLoop>),
    /// LOOP: turns without end. Something in it leaves a block around it, or returns. WHILE is one
    /// that begins with IF
    Loop {
        /// body
        body: Vec<Statement>,
    },
    /// statements behind which [`StatementKind::Leave`] goes on. EXIT leaves one around its loop,
    /// CONTINUE one around its loop's body
    Block {
        /// no other block has it
        label: LabelId,
        /// body
        body: Vec<Statement>,
    },
    /// EXIT and CONTINUE: goes on behind the block of this label, which it stands in
    Leave(LabelId),
    /// a call of a routine in itself
    Recur(Box<Recur>),
    /// BEGIN ... EXCEPTION
    Protected(Box<Protected>),
    /// RAISE EXCEPTION: undoes the transaction
    Raise(Raise),
    /// RAISE NOTICE and the like: tells the client, and goes on
    Notice(NoticeLevel, Raise),
    /// RETURN: ends the procedure; values for a row result (empty for procedures and sets)
    Return(Vec<Expr>),
    /// RETURN NEXT: appends one row to the result set
    ReturnNext(Vec<Expr>),
    /// no SQL: a point where the interpreter calls its [`crate::interpret::Hook`] with this
    /// number. The planner's programs are procedures with marks in them.
    Mark(u32),
}

/// Runs the block around it of this label once more, from its begin, and goes on behind this
/// statement when that ends. The block is a loop that is left at the end of its first turn: so
/// whatever plans it knows that it may run any number of times.
///
/// All slots are then what they were before, but for the shared ones.
#[derive(Clone, Debug)]
pub struct Recur {
    /// the block: a routine's body
    pub label: LabelId,
    /// the routine's parameters, and what they are in it
    pub arguments: Vec<(SlotId, Expr)>,
    /// slots that stay as the inner run leaves them: its results, and counts of what is drawn
    pub shared: Vec<SlotId>,
}

/// A query of any shape, and what is done with each of its rows.
///
/// Operators compute all rows before the first turn, from the rows of `reads`. They decide how
/// often each read is made, and with which values: a join by key makes one for each row of its
/// other side.
///
/// Consider `FOR r IN SELECT u.w FROM t JOIN u ON u.t = t.id WHERE t.id = p LOOP ...`, with read 0,
/// `t` by the key `p`, and read 1, `u` by the prefix `s`, whose parameter `s` is:
///
/// 1. The operators ask for read 0, which gives a row with the id 7.
/// 2. They ask for read 1 with 7: `s` is set, the access runs, and gives two rows.
/// 3. They give two rows; the body runs twice.
///
/// Planning knows the granule of read 0 from `p`. That of read 1 depends on `s`, which only rows
/// tell, so the slice keeps the loop with both reads and does 1 and 2 on trial: 7 tells it.
#[derive(Clone, Debug)]
pub struct OperatorLoop {
    /// what computes the rows
    pub source: RowSource,
    /// what that takes of the procedure's values
    pub takes: Vec<SlotId>,
    /// the reads that they ask for, by number
    pub reads: Vec<OperatorRead>,
    /// where the rows are kept
    pub rows: RowSetId,
    /// slots that receive the columns of each row, of these types
    pub into: Vec<SlotId>,
    /// what is done with each row
    pub body: Vec<Statement>,
    /// whether FOUND and the row count tell of its rows afterwards; a query that stands for an
    /// expression leaves them alone
    pub sets_found: bool,
}

/// What computes the rows of an [`OperatorLoop`].
#[derive(Clone, Debug)]
pub enum RowSource {
    /// operators, from the rows of the loop's reads
    Operators(Arc<dyn Operators>),
    /// a statement whose text is known only when the call runs (EXECUTE). The loop has no reads:
    /// what it touches nobody knows before. The values that it takes are in [`crate::dynamic`]'s
    /// order
    Dynamic(Arc<dyn DynamicStatement>),
}

/// A read that operators ask for.
#[derive(Clone, Debug)]
pub struct OperatorRead {
    /// slots that receive the values which the operators give
    pub parameters: Vec<SlotId>,
    /// one access, or what a routine that the query calls does
    pub body: Vec<Statement>,
    /// what the operators have of it
    pub gives: Gives,
}

/// What a read gives operators, once its statements are done.
#[derive(Clone, Debug)]
pub enum Gives {
    /// the rows of its only statement, an access
    Rows {
        /// where they are kept
        rows: RowSetId,
        /// types of their columns
        columns: Vec<DataType>,
    },
    /// one row: the values of these slots
    Values(Vec<SlotId>),
    /// any number of rows: for each column a slot with an array of its values, or NULL for none
    Columns(Vec<SlotId>),
}

impl Gives {
    /// The slots that have it; none: a row set has.
    pub fn slots(&self) -> &[SlotId] {
        match self {
            Self::Rows { .. } => &[],
            Self::Values(slots) | Self::Columns(slots) => slots,
        }
    }
}

/// The values of a loop's variable, one turn each.
#[derive(Clone, Debug)]
pub enum Elements {
    /// those of an array, in its order; a NULL array is an error (22004)
    Array(SlotId),
    /// those of a list of keys
    Keys(KeyList),
}

/// The values that a key column is compared with by `IN (...)` or `= ANY (...)`: each distinct one
/// once, NULL left out, sorted, so that neither duplicates nor the writer's order make a
/// difference.
#[derive(Clone, Debug)]
pub struct KeyList {
    /// where they come from; all of one type
    pub of: ListOf,
    /// the greatest first
    pub descending: bool,
}

/// Where the values of a list come from.
#[derive(Clone, Debug)]
pub enum ListOf {
    /// expressions
    Values(Vec<Expr>),
    /// an array, which is a slot; NULL has no elements
    Array(Expr),
}

impl KeyList {
    /// What its values are computed from.
    pub fn exprs(&self) -> &[Expr] {
        match &self.of {
            ListOf::Values(values) => values,
            ListOf::Array(array) => std::slice::from_ref(array),
        }
    }

    /// As [`KeyList::exprs`], to change them.
    pub fn exprs_mut(&mut self) -> &mut [Expr] {
        match &mut self.of {
            ListOf::Values(values) => values,
            ListOf::Array(array) => std::slice::from_mut(array),
        }
    }
}

/// RAISE.
#[derive(Clone, Debug)]
pub struct Raise {
    /// five characters; `P0001` when none is given
    pub sqlstate: [u8; 5],
    /// pieces of the message; argument `i` stands between pieces `i` and `i + 1`
    pub message: Vec<String>,
    /// arguments of the message, and behind them one for each of `parts`
    pub arguments: Vec<Expr>,
    /// what else USING says of the error
    pub parts: Vec<ErrorPart>,
    /// USING DETAIL
    pub detail: Option<Expr>,
    /// USING HINT
    pub hint: Option<Expr>,
    /// what is violated, where it stands for a constraint
    pub of: Option<OfConstraint>,
    /// RAISE without anything, in a handler: the error that this handler has caught, as it was
    pub is_again: bool,
}

/// The constraint that a RAISE stands for.
#[derive(Clone, Debug)]
pub struct OfConstraint {
    /// name of the table that the error is of
    pub table: String,
    /// the constraint's name
    pub name: String,
    /// when it is checked; where that may be later, the hint is for who checks it then
    /// ([`crate::deferred::Pending`])
    pub deferral: Deferral,
    /// what the statement does behind it may mend it, so that not even one that is not deferred is
    /// violated before the statement's end
    pub is_early: bool,
    /// nothing is violated: it is what a trigger fires for before COMMIT
    pub is_event: bool,
}

/// How an access finds its rows.
#[derive(Clone, Debug)]
pub enum Path {
    /// at most one row: every declared column of a unique index bound by equality
    Point {
        /// a unique index
        index: IndexId,
        /// one expression per declared column
        key: Vec<Expr>,
    },
    /// rows in index order
    Range {
        /// an index; one with [`crate::catalog::IndexKind::Hash`] only when `prefix` binds all its
        /// declared columns and there are no bounds
        index: IndexId,
        /// the leading declared columns bound by equality
        prefix: Vec<Expr>,
        /// lower end on the column after the prefix
        lower: Option<RangeEnd>,
        /// upper end on the column after the prefix
        upper: Option<RangeEnd>,
        /// visits from the upper end down
        descending: bool,
    },
    /// every row of the table, in no order that may be relied upon
    Whole,
    /// the rows of `path` for each combination of the lists' values, those of the last list
    /// changing fastest
    Lists {
        /// in the order of the index's columns; at least one
        lists: Vec<KeySlot>,
        /// reads their slots; a point or a range
        path: Box<Path>,
    },
}

/// A slot that takes the values of a list in turn. Nothing but the path that it belongs to reads
/// it.
#[derive(Clone, Debug)]
pub struct KeySlot {
    /// of the list's type
    pub slot: SlotId,
    /// its values
    pub keys: KeyList,
}

impl Path {
    /// The lists whose values it goes through.
    pub fn lists(&self) -> &[KeySlot] {
        match self {
            Self::Lists { lists, .. } => lists,
            _ => &[],
        }
    }

    /// The path for one combination of its lists' values.
    pub fn each(&self) -> &Self {
        match self {
            Self::Lists { path, .. } => path,
            path => path,
        }
    }
}

/// One end of a range.
#[derive(Clone, Debug)]
pub struct RangeEnd {
    /// the bound
    pub value: Expr,
    /// whether the bound itself belongs to the range
    pub inclusive: bool,
}

/// A select, update or delete on one table.
///
/// For each row on the `path`, in path order: `bind` loads columns into slots, `filter` is
/// evaluated over them (NULL counts as false), and matching rows go to `effect`.
#[derive(Clone, Debug)]
pub struct Access {
    /// the table
    pub table: TableId,
    /// how rows are found
    pub path: Path,
    /// columns loaded for each visited row; everything below reads them through these slots
    pub bind: Vec<(ColumnId, SlotId)>,
    /// residual condition
    pub filter: Option<Expr>,
    /// what happens to matching rows
    pub effect: Effect,
}

/// What an access does to its matching rows.
#[derive(Clone, Debug)]
pub enum Effect {
    /// reads them
    Read(Consume),
    /// changes columns; never those of the primary key. `consume` (RETURNING) sees the new values
    /// through `bind`
    Update {
        /// new values, computed from the row's old values
        set: Vec<(ColumnId, Expr)>,
        /// RETURNING
        consume: Consume,
    },
    /// removes them; `consume` (RETURNING) sees the removed values
    Delete {
        /// RETURNING
        consume: Consume,
    },
}

impl Effect {
    /// What is done with the matching rows' values.
    pub fn consume(&self) -> &Consume {
        match self {
            Self::Read(consume) | Self::Update { consume, .. } | Self::Delete { consume } => {
                consume
            }
        }
    }
}

/// Where the rows of a query go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowsTo {
    /// the row set of a FOR loop
    Loop(RowSetId),
    /// behind the rows of the FOR loop that this stands in, those that it has not had yet. The
    /// loop puts its columns into `into` and the slots that follow it
    More {
        /// the loop's
        rows: RowSetId,
        /// its first slot
        into: SlotId,
    },
    /// the procedure's result (RETURN QUERY)
    Result,
}

/// One ORDER BY key.
#[derive(Clone, Debug)]
pub struct OrderKey {
    /// value, over bound slots
    pub value: Expr,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// One aggregate over the matching rows.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// which
    pub function: AggregateFunction,
    /// argument, over bound slots; none for count(*)
    pub argument: Option<Expr>,
    /// counts, sums or averages each distinct value once
    pub distinct: bool,
    /// receives the result, of this slot's type
    pub result: SlotId,
}

/// The aggregates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AggregateFunction {
    /// rows, or non-NULL arguments
    Count,
    /// NULL without rows; bigint for smallint and integer, numeric for bigint and numeric, float
    /// for floats
    Sum,
    /// NULL without rows
    Min,
    /// NULL without rows
    Max,
    /// NULL without rows; numeric or double precision
    Avg,
}

/// INSERT of one row.
#[derive(Clone, Debug)]
pub struct Insert {
    /// the table
    pub table: TableId,
    /// one value per column of the table, in its order, defaults filled in
    pub values: Vec<Expr>,
    /// RETURNING ... INTO: targets and columns
    pub returning: Vec<(SlotId, ColumnId)>,
    /// ON CONFLICT DO NOTHING: a duplicate key leaves FOUND false instead of raising
    pub ignore_conflict: bool,
}
