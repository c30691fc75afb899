//! Bytecode: what a procedure is lowered to once and interpreted from at every call.
//!
//! Role         made by [`crate::lower`], run by [`crate::interpret`], looked into by the planner
//!              (keys and planned sites). Refers to nothing by name: every place of a column, every
//!              key layout and every message part is precomputed.
//! Invariants   I1 an op takes at most 16 bytes and addresses slots by `u16`
//!              I2 slots are the procedure's own, then constants and temporaries; constants are
//!                 never written, so one copy of [`Program::image`] starts a call
//!              I3 code of one row (`AccessCode::visit`, `change`, `returning`) is pure: no access,
//!                 no loop, ends with `RowKeep` or `RowSkip`

mod access;

pub use access::{
    AccessCode, AggregateCode, AggregateKind, Bind, BindKind, BumpCode, BumpKind, CheckCode,
    Convert, Gather, InsertCode, KeyCode, KeyPartCode, NO_CODE, OrderCode, PACKED_BYTES_MAX,
    PathCode, RangeCode, RangeEndCode, RowRun, SetCode, TableCode, UpdateCode,
};

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::types::{DataType, SqlType};

use crate::access::Reads;
use crate::catalog::Deferral;
use crate::outcome::NoticeLevel;
use crate::program::{
    ArithmeticOp, Catch, CompareOp, ErrorPart, Function, OfConstraint, Place, ResultColumn,
    RowLocks, RowSetId, RowSource,
};

/// How two datums are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareKind {
    /// booleans, integers, dates, timestamps
    Int,
    /// numerics of one scale
    Numeric,
    /// numerics of any number of digits, and ranges: by bytes but for the last ones
    AnyNumeric,
    /// floats: NaN equals itself and is greatest
    Float,
    /// texts, bytea, uuid, jsonb: by bytes
    Bytes,
    /// intervals, with months of 30 days
    Interval,
    /// arrays in one piece
    Array,
    /// rows in one piece
    Row,
    /// texts whose case does not count
    Folded,
}

impl CompareKind {
    /// The kind for values of a type.
    pub const fn of(data_type: DataType) -> Self {
        match data_type {
            DataType::Numeric { .. } => Self::Numeric,
            DataType::AnyNumeric | DataType::WideNumeric { .. } => Self::AnyNumeric,
            DataType::Range(_) => Self::AnyNumeric,
            DataType::Real | DataType::Double => Self::Float,
            DataType::Interval => Self::Interval,
            DataType::Array(_) => Self::Array,
            DataType::Composite(_) => Self::Row,
            DataType::CiText => Self::Folded,
            _ if data_type.is_bytes() => Self::Bytes,
            _ => Self::Int,
        }
    }
}

/// One instruction. `dst`, `a`, `b` are slots; `to` is a position in the code. NULL in any operand
/// gives NULL unless said otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "operands are described once, above")]
pub enum Op {
    /// ends the entry
    End,
    /// `dst := a`
    Move {
        dst: u16,
        a: u16,
    },
    Jump {
        to: u32,
    },
    JumpIfTrue {
        a: u16,
        to: u32,
    },
    JumpIfNotTrue {
        a: u16,
        to: u32,
    },
    /// false itself, not NULL
    JumpIfFalse {
        a: u16,
        to: u32,
    },
    JumpIfNull {
        a: u16,
        to: u32,
    },
    JumpIfNotNull {
        a: u16,
        to: u32,
    },
    /// Integers; jumps also when an operand is NULL.
    JumpUnlessEqual {
        a: u16,
        b: u16,
        to: u32,
    },
    JumpUnlessNotEqual {
        a: u16,
        b: u16,
        to: u32,
    },
    JumpUnlessLess {
        a: u16,
        b: u16,
        to: u32,
    },
    JumpUnlessLessOrEqual {
        a: u16,
        b: u16,
        to: u32,
    },
    /// jumps by the value of an integer, through table `table`
    Switch {
        a: u16,
        table: u16,
    },
    /// Integers of `bits` bits; 22003 when the result does not fit.
    IntAdd {
        dst: u16,
        a: u16,
        b: u16,
        bits: u8,
    },
    IntSubtract {
        dst: u16,
        a: u16,
        b: u16,
        bits: u8,
    },
    IntMultiply {
        dst: u16,
        a: u16,
        b: u16,
        bits: u8,
    },
    /// divide or modulo; 22012
    IntDivide {
        dst: u16,
        a: u16,
        b: u16,
        bits: u8,
        op: ArithmeticOp,
    },
    /// integer to fewer bits; 22003
    IntNarrow {
        dst: u16,
        a: u16,
        bits: u8,
    },
    /// Numerics of one scale; 22003 when the result has more digits than `precision`.
    NumericAdd {
        dst: u16,
        a: u16,
        b: u16,
        precision: u8,
        scale: u8,
    },
    NumericSubtract {
        dst: u16,
        a: u16,
        b: u16,
        precision: u8,
        scale: u8,
    },
    /// numerics whose scales add up to the result's
    NumericMultiply {
        dst: u16,
        a: u16,
        b: u16,
        precision: u8,
        scale: u8,
    },
    /// integer to numeric without digits behind the point
    NumericFromInt {
        dst: u16,
        a: u16,
    },
    /// numeric to fewer digits in the same scale; 22003
    NumericNarrow {
        dst: u16,
        a: u16,
        precision: u8,
        scale: u8,
    },
    /// numerics of any scales
    NumericArithmetic {
        dst: u16,
        a: u16,
        b: u16,
        op: ArithmeticOp,
        a_scale: u8,
        b_scale: u8,
        scale: u8,
    },
    /// floats; `real`: rounded to 32 bits
    FloatArithmetic {
        dst: u16,
        a: u16,
        b: u16,
        op: ArithmeticOp,
        real: bool,
    },
    Compare {
        dst: u16,
        a: u16,
        b: u16,
        op: CompareOp,
        kind: CompareKind,
    },
    /// never NULL
    NotDistinct {
        dst: u16,
        a: u16,
        b: u16,
        kind: CompareKind,
    },
    /// three-valued
    And {
        dst: u16,
        a: u16,
        b: u16,
    },
    Or {
        dst: u16,
        a: u16,
        b: u16,
    },
    Not {
        dst: u16,
        a: u16,
    },
    /// never NULL
    IsNull {
        dst: u16,
        a: u16,
    },
    Concat {
        dst: u16,
        a: u16,
        b: u16,
    },
    /// `array[index]`, NULL outside
    Element {
        dst: u16,
        array: u16,
        index: u16,
    },
    /// `empty_is_null`: array_length rather than cardinality
    ArrayLength {
        dst: u16,
        array: u16,
        empty_is_null: bool,
    },
    /// conversion number `cast`
    Cast {
        dst: u16,
        a: u16,
        cast: u16,
    },
    /// call number `call`
    Call {
        call: u16,
    },
    /// FOUND
    SetFound {
        found: bool,
    },
    /// FOUND and the row count, from a constant
    Touched {
        rows: u8,
    },
    /// FOUND and the row count, from the last visit
    TouchedByVisit,
    /// `state`: first value, last value, step; from here on counter, iterations left, signed step.
    /// Sets `slot`, or jumps when there is no iteration.
    RangeBegin {
        state: u16,
        slot: u16,
        reverse: bool,
        to: u32,
    },
    /// next iteration: jumps back to the body
    RangeNext {
        state: u16,
        slot: u16,
        to: u32,
    },
    /// `cursor` := elements of `array`; `slot` := first one, or jumps when there is none
    EachBegin {
        array: u16,
        cursor: u16,
        slot: u16,
        to: u32,
    },
    EachNext {
        cursor: u16,
        slot: u16,
        to: u32,
    },
    /// another turn of a loop that has no bound
    Again {
        to: u32,
    },
    /// first row of a row set, or jumps when there is none
    RowsBegin {
        rows: u16,
        to: u32,
    },
    RowsNext {
        rows: u16,
        to: u32,
    },
    /// `UPDATE ... SET column = column + slot` by whole key, in one instruction
    Bump {
        site: u16,
        missing: u32,
    },
    /// finds one row and binds it, or jumps. `touches`: sets FOUND and the row count as well
    Point {
        site: u16,
        touches: bool,
        missing: u32,
    },
    /// loads column `load` of the record found by `Point`
    Load {
        site: u16,
        load: u16,
        dst: u16,
    },
    /// visits all rows of a site, natively; jumps when none was gathered
    Visit {
        site: u16,
        missing: u32,
    },
    /// begins a visit that goes through lists of keys
    VisitBegin {
        site: u16,
    },
    /// visits the rows of a site for one combination of its lists' keys
    VisitPart {
        site: u16,
    },
    /// ends it; jumps when none was gathered
    VisitEnd {
        site: u16,
        missing: u32,
    },
    /// `dst` := the distinct values of list number `list`, sorted
    Keys {
        dst: u16,
        list: u16,
    },
    /// gives back the elements from those of `keys` on
    KeysEnd {
        keys: u16,
    },
    /// changes the record found by `Point`
    Update {
        site: u16,
    },
    /// removes the record found by `Point`
    Remove {
        site: u16,
    },
    /// inserts, or jumps on an ignored conflict
    Insert {
        site: u16,
        conflict: u32,
    },
    /// ends the code of one row: it matches
    RowKeep,
    /// ends the code of one row: it does not
    RowSkip,
    /// check number `check`: an error when the condition in `a` is false
    Check {
        a: u16,
        check: u16,
    },
    /// an error when `a` is NULL; table number `table` of the program
    NotNull {
        a: u16,
        table: u16,
        column: u16,
    },
    Raise {
        raise: u16,
    },
    /// says what RAISE number `raise` would
    Notice {
        level: NoticeLevel,
        raise: u16,
    },
    /// enters protected block number `block`
    Protect {
        block: u16,
    },
    /// leaves protected blocks, until so many are left
    Unprotect {
        depth: u16,
    },
    /// raises again what was caught, with so many others caught around it
    RaiseAgain {
        caught: u16,
    },
    /// has operators compute the rows of a loop, which set [`crate::frame::Frame`]'s count of
    /// touched rows: operands `operators`
    Operators {
        number: u16,
    },
    /// runs the routine that begins at `to` once more: operands `number`
    Recur {
        number: u16,
        to: u32,
    },
    /// ends a routine: a run of its own, where it is one
    Returned {
        routine: u16,
    },
    /// appends a row to the result: operands `row`
    ReturnRow {
        row: u16,
    },
    Fail {
        failure: Failure,
    },
    Mark {
        id: u32,
    },
}

const _: () = assert!(size_of::<Op>() <= 16);

/// Errors that need no operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// STRICT without a row
    NoDataFound,
    /// a function ended without RETURN
    NoReturn,
}

/// A function call.
#[derive(Clone, Debug)]
pub struct CallCode {
    /// which function
    pub function: Function,
    /// slot of the result
    pub dst: u16,
    /// type of the result
    pub result: DataType,
    /// slots and types of the arguments
    pub arguments: Box<[(u16, DataType)]>,
}

/// A conversion.
#[derive(Clone, Copy, Debug)]
pub struct CastCode {
    /// type of the operand
    pub from: DataType,
    /// type of the result
    pub to: DataType,
}

/// RAISE, ready to be formatted.
#[derive(Clone, Debug)]
pub struct RaiseCode {
    /// five characters
    pub sqlstate: [u8; 5],
    /// argument `i` stands between pieces `i` and `i + 1`
    pub message: Box<[String]>,
    /// slots and types, of those of the message and then of `parts`
    pub arguments: Box<[(u16, SqlType)]>,
    /// what else is said of the error
    pub parts: Box<[ErrorPart]>,
    /// slot and type of DETAIL
    pub detail: Option<(u16, SqlType)>,
    /// slot and type of HINT
    pub hint: Option<(u16, SqlType)>,
    /// what is violated
    pub of: Option<OfConstraint>,
}

/// A block whose errors are caught.
#[derive(Clone, Debug)]
pub struct ProtectedCode {
    /// protected blocks around it
    pub depth: u16,
    /// handlers around it, each with an error that it has caught
    pub caught: u16,
    /// what an error leads to
    pub handlers: Box<[HandlerCode]>,
    /// slots that take parts of a caught error
    pub told: Box<[(ErrorPart, u16)]>,
}

/// A handler of a protected block.
#[derive(Clone, Debug)]
pub struct HandlerCode {
    /// the errors that it catches
    pub catches: Box<[Catch]>,
    /// where it begins
    pub to: u32,
}

/// A loop over a row set.
#[derive(Clone, Debug)]
pub struct RowsCode {
    /// which row set
    pub rows: RowSetId,
    /// slots that receive the columns
    pub into: Box<[u16]>,
}

/// A loop over rows that operators compute.
#[derive(Clone, Debug)]
pub struct OperatorCode {
    /// what computes them
    pub source: RowSource,
    /// slots and types of what that takes
    pub takes: Box<[(u16, SqlType)]>,
    /// their reads, by number
    pub reads: Box<[OperatorReadCode]>,
    /// the loop
    pub rows: RowsCode,
    /// types of its columns
    pub types: Box<[SqlType]>,
}

/// A read that operators ask for.
#[derive(Clone, Debug)]
pub struct OperatorReadCode {
    /// slots and types of what it takes
    pub parameters: Box<[(u16, SqlType)]>,
    /// its code, an entry behind those of the program's parts
    pub entry: u16,
    /// what it gives
    pub gives: GivesCode,
}

/// See [`Gives`](crate::program::Gives); slots with their types.
#[derive(Clone, Debug)]
pub enum GivesCode {
    /// a row set, and the types of its columns
    Rows(RowSetId, Box<[DataType]>),
    /// one row
    Values(Box<[(u16, SqlType)]>),
    /// arrays
    Columns(Box<[(u16, SqlType)]>),
}

/// A call of a routine in itself.
#[derive(Clone, Debug)]
pub struct RecurCode {
    /// which routine of the program
    pub routine: u16,
    /// slots of its parameters, and temporaries with what they become
    pub arguments: Box<[(u16, u16)]>,
    /// slots that stay as the inner run leaves them
    pub shared: Box<[u16]>,
}

/// A list of keys.
#[derive(Clone, Debug)]
pub struct ListCode {
    /// where the keys are
    pub of: ListSlots,
    /// how they compare
    pub kind: CompareKind,
    /// the greatest first
    pub descending: bool,
}

/// The slots that a list's keys come from.
#[derive(Clone, Debug)]
pub enum ListSlots {
    /// one each
    Values(Box<[u16]>),
    /// an array
    Array(u16),
}

/// Slots of a returned row.
#[derive(Clone, Debug)]
pub enum ReturnCode {
    /// these, consecutive
    Run(Range<usize>),
    /// any
    Slots(Box<[u16]>),
}

impl ReturnCode {
    /// Values of a row.
    #[inline]
    pub fn width(&self) -> usize {
        match self {
            Self::Run(run) => run.len(),
            Self::Slots(slots) => slots.len(),
        }
    }
}

/// Where [`Op::Switch`] goes.
#[derive(Clone, Debug)]
pub struct SwitchCode {
    /// the value that the first target belongs to
    pub base: i64,
    /// targets of consecutive values
    pub targets: Box<[u32]>,
    /// target of all other values and NULL
    pub otherwise: u32,
}

impl SwitchCode {
    /// The target of a value.
    #[inline]
    pub fn target(&self, value: Datum) -> u32 {
        let at = value.as_int().wrapping_sub(self.base) as usize;
        let target = self.targets.get(at).filter(|_| !value.is_null());
        target.copied().unwrap_or(self.otherwise)
    }
}

/// A lowered procedure.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// the procedure's name
    pub name: String,
    /// all instructions
    pub code: Vec<Op>,
    /// entry points: the whole procedure, or its parts; then the reads of operators
    pub entries: Vec<Range<u32>>,
    /// initial slots (I2)
    pub image: Vec<Datum>,
    /// bytes of constants, copied to the start of the frame's heap
    pub constants: Vec<u8>,
    /// types of the parameters, from slot [`crate::program::FIRST_PARAMETER`] on
    pub parameters: Vec<SqlType>,
    /// whether any parameter is an array or lies in a heap, so that ranges must be moved
    pub has_range_parameters: bool,
    /// accesses, by site
    pub access: Vec<AccessCode>,
    /// tables touched
    pub tables: Vec<TableCode>,
    /// result columns
    pub result: Vec<ResultColumn>,
    /// row sets needed
    pub row_sets: u16,
    /// how rows that are read are held
    pub row_locks: RowLocks,
    /// function calls
    pub calls: Vec<CallCode>,
    /// conversions
    pub casts: Vec<CastCode>,
    /// tables of jumps
    pub switches: Vec<SwitchCode>,
    /// RAISE statements
    pub raises: Vec<RaiseCode>,
    /// CHECK constraints compiled in
    pub checks: Vec<CheckCode>,
    /// blocks whose errors are caught
    pub protected: Vec<ProtectedCode>,
    /// loops over row sets
    pub loops: Vec<RowsCode>,
    /// loops over rows that operators compute
    pub operators: Vec<OperatorCode>,
    /// calls of routines in themselves
    pub recurs: Vec<RecurCode>,
    /// lists of keys
    pub lists: Vec<ListCode>,
    /// returned rows
    pub returns: Vec<ReturnCode>,
    /// where code comes from: (first position, place), ascending
    pub places: Vec<(u32, Place)>,
}

impl Program {
    /// Whether it may leave a violated constraint to its caller to check.
    pub fn may_defer(&self) -> bool {
        let of = self.raises.iter().filter_map(|raise| raise.of.as_ref());
        of.map(|of| of.deferral).any(Deferral::is_deferrable)
    }

    /// Whether it runs statements whose text is known only then.
    pub fn has_dynamic(&self) -> bool {
        self.operators.iter().any(|of| matches!(of.source, RowSource::Dynamic(_)))
    }

    /// Says whether the hook hands out this site's keys.
    pub fn set_planned(&mut self, site: u16, planned: bool) {
        self.access[site as usize].planned = planned;
    }

    /// Tells a site that nobody changes what it reads.
    pub fn set_unchanged(&mut self, site: u16) {
        self.access[site as usize].reads = Reads::Unchanged;
    }

    /// Where the instruction at `at` comes from.
    pub fn place(&self, at: usize) -> Place {
        let after = self.places.partition_point(|&(first, _)| first as usize <= at);
        after.checked_sub(1).map_or(Place::default(), |i| self.places[i].1)
    }
}
