//! Expressions, and the slots that they read.
//!
//! Role         what catalogs keep of checks, defaults and generated columns, too: so they name
//!              nothing of a procedure

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use super::function::Function;
use super::operator::{ArithmeticOp, CompareOp};

/// A local variable, parameter or temporary of a procedure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u16);

impl SlotId {
    /// The slot as an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// boolean: whether the last access touched a row (PL/pgSQL's FOUND)
pub const FOUND: SlotId = SlotId(0);
/// timestamptz: the call's time, decided once per call
pub const NOW: SlotId = SlotId(1);
/// bigint: rows the last access touched
pub const ROW_COUNT: SlotId = SlotId(2);
/// slot of the first parameter
pub const FIRST_PARAMETER: u16 = 3;

/// A typed expression over slots. Two are equal that are written alike.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// what it computes
    pub kind: ExprKind,
    /// type of the result
    pub sql_type: SqlType,
}

impl Expr {
    /// The scalar type. Arrays only occur as slots.
    pub fn data_type(&self) -> DataType {
        match self.sql_type {
            SqlType::Scalar(data_type) | SqlType::Array(data_type) => data_type,
        }
    }
}

/// What an expression computes. NULL in, NULL out, unless said otherwise.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// the value of a slot
    Slot(SlotId),
    /// a constant of the expression's type
    Constant(Value),
    /// `- operand`
    Negate(Box<Expr>),
    /// arithmetic; both operands have the result's type kind (integers: same width; numerics may
    /// differ in scale; date/timestamp arithmetic is in [`Function`])
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// comparison of two operands of one type; boolean
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// IS NOT DISTINCT FROM; never NULL
    NotDistinct(Box<Expr>, Box<Expr>),
    /// three-valued AND
    And(Box<Expr>, Box<Expr>),
    /// three-valued OR
    Or(Box<Expr>, Box<Expr>),
    /// three-valued NOT
    Not(Box<Expr>),
    /// IS NULL; never NULL
    IsNull(Box<Expr>),
    /// searched CASE: the first arm whose condition is true; evaluates no other arm
    Case {
        /// conditions and values
        arms: Vec<(Expr, Expr)>,
        /// ELSE; NULL when absent
        otherwise: Option<Box<Expr>>,
    },
    /// the first operand that is not NULL
    Coalesce(Vec<Expr>),
    /// conversion of the operand to the expression's type; fails with 22003, 22001 or 22P02
    Cast(Box<Expr>),
    /// text || text
    Concat(Box<Expr>, Box<Expr>),
    /// a scalar function
    Call(Function, Vec<Expr>),
    /// `array[index]`, from 1; NULL outside
    Element(SlotId, Box<Expr>),
    /// number of elements of an array slot, as integer; NULL for an empty array as PostgreSQL's
    /// array_length does; `cardinality` gives 0
    ArrayLength(SlotId),
}
