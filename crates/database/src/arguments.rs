//! Arguments of calls: Rust values checked against a procedure's parameters.
//!
//! Role         fills an invocation's reused buffers; integers, floats and texts of the parameter's
//!              own type go in without an owned value in between

use hotrow_base::datum::Datum;
use hotrow_base::decimal::Decimal;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::{Value, ValueError};
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::invocation::{Arguments, Invocation};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{DefaultArgument, Procedure, Slot};

use crate::error::advised;

/// Takes the arguments of one call, in order.
pub struct Binder<'a> {
    procedure: &'a Procedure,
    next: usize,
    arguments: &'a mut Arguments,
}

/// All arguments of a call: `()`, tuples of up to 12, a slice or `Vec` of [`Value`].
pub trait IntoArguments {
    /// How many there are.
    fn count(&self) -> usize;

    /// Hands them over, in order.
    fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError>;

    /// The call's time, in microseconds since 2000, where they depend on it; else it is taken when
    /// the call is.
    #[doc(hidden)]
    fn now_us(&self) -> Option<i64> {
        None
    }
}

/// One argument: integers, floats, `bool`, texts, [`Decimal`], bytes, `Option` for NULL, `Vec` or
/// slice for arrays, [`Value`] for anything. A text is also taken for parameters of other types
/// and read as PostgreSQL reads literals (`"2026-01-31"`).
pub trait IntoArgument {
    /// Hands it over.
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError>;

    /// As a value, for elements of arrays.
    fn into_value(self) -> Value;
}

/// Checks `given` against the parameters of `procedure` and puts them into a call of it, whose time
/// is known; numbers of sequences are drawn behind them.
pub(crate) fn bind_all(
    procedure: &Procedure,
    given: impl IntoArguments,
    Invocation { arguments, now_us, .. }: &mut Invocation,
) -> Result<(), SqlError> {
    arguments.clear();
    let (wanted, count) = (procedure.given().len(), given.count());
    if !procedure.takes(count) {
        let name = procedure.shown_name();
        let noun = if wanted == 1 { "argument" } else { "arguments" };
        let message = format!("{name} takes {} {noun}, not {count}", procedure.counts());
        return Err(advised(b"42883", message, signature_hint(procedure)));
    }
    arguments.datums.reserve(wanted);
    let mut binder = Binder { procedure, next: 0, arguments };
    given.bind_each(&mut binder)?;
    let defaults = (count..wanted).filter_map(|at| procedure.default_of(at));
    defaults.into_iter().try_for_each(|default| match default {
        DefaultArgument::Known(value) => binder.value(value),
        DefaultArgument::Computed(value) => binder.value(&evaluate(value, *now_us)?),
        DefaultArgument::Written(text) => {
            let message = format!("the default {text} is computed by a statement that calls");
            let hint =
                format!("Give the argument, or call it by SQL: {}", signature_hint(procedure));
            Err(advised(b"0A000", message, hint))
        }
    })
}

/// `it is buy(item bigint, quantity integer)`
pub(crate) fn signature_hint(procedure: &Procedure) -> String {
    let parameter = |slot: &Slot| format!("{} {}", slot.name, slot.sql_type);
    let list: Vec<_> = procedure.given().iter().map(parameter).collect();
    format!("it is {}({})", procedure.shown_name(), list.join(", "))
}

/// The SQLSTATE of a value that is not taken. A type that cannot be cast at all is a mismatch of
/// the call; other errors are the value's own.
pub(crate) fn refusal(error: &ValueError) -> [u8; 5] {
    let code = if error.code() == "42846" { "42804" } else { error.code() };
    code.as_bytes().try_into().unwrap_or(*b"22000")
}

impl Binder<'_> {
    /// Any value, converted to the parameter's type as an assignment would.
    pub fn value(&mut self, value: &Value) -> Result<(), SqlError> {
        self.value_or(value, |binder, error| binder.refused(error))
    }

    /// As [`Binder::value`]; `refused` tells what is wrong with one that the parameter does not
    /// take.
    pub(crate) fn value_or(
        &mut self,
        value: &Value,
        refused: impl FnOnce(&Self, &ValueError) -> SqlError,
    ) -> Result<(), SqlError> {
        let sql_type = self.parameter()?.sql_type;
        let Arguments { datums, elements, heap } = &mut *self.arguments;
        if let (Value::BigInt(value), SqlType::Scalar(DataType::BigInt)) = (value, sql_type) {
            datums.push(Datum::int(*value)); // most keys are
            self.next += 1;
            return Ok(());
        }
        match value.to_parameter(sql_type, heap, elements) {
            Ok(datum) => datums.push(datum),
            Err(error) => return Err(refused(self, &error)),
        }
        self.next += 1;
        Ok(())
    }

    fn parameter(&self) -> Result<&Slot, SqlError> {
        self.procedure.parameters().get(self.next).ok_or_else(|| {
            let message = format!("{} takes fewer arguments", self.procedure.shown_name());
            advised(b"42883", message, signature_hint(self.procedure))
        })
    }

    fn refused(&self, error: &ValueError) -> SqlError {
        let (name, parameter) = match self.parameter() {
            Ok(slot) => (slot.name.as_str(), slot.sql_type.to_string()),
            Err(_) => (self.procedure.shown_name(), String::new()),
        };
        let code = refusal(error);
        let message = format!("parameter \"{name}\" of type {parameter}: {error}");
        advised(&code, message, signature_hint(self.procedure))
    }

    #[inline]
    fn int(&mut self, value: i64, exact: impl FnOnce() -> Value) -> Result<(), SqlError> {
        let fits = match self.parameter()?.sql_type {
            SqlType::Scalar(DataType::BigInt) => true,
            SqlType::Scalar(DataType::Integer) => i32::try_from(value).is_ok(),
            SqlType::Scalar(DataType::SmallInt) => i16::try_from(value).is_ok(),
            _ => false,
        };
        if !fits {
            return self.value(&exact());
        }
        self.arguments.push_int(value);
        self.next += 1;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), SqlError> {
        // Other text types have limits, and other types parse: both by way of a value.
        if self.parameter()?.sql_type != SqlType::Scalar(DataType::Text) || text.contains('\0') {
            return self.value(&Value::from(text));
        }
        self.arguments.push_bytes(text.as_bytes());
        self.next += 1;
        Ok(())
    }
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl IntoArgument for $type {
            #[inline]
            fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
                binder.int(i64::from(self), || Value::from(self))
            }

            fn into_value(self) -> Value {
                Value::from(self)
            }
        })*
    };
}

integers!(i16, i32, i64);

impl IntoArgument for &str {
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        binder.text(self)
    }

    fn into_value(self) -> Value {
        Value::from(self)
    }
}

impl IntoArgument for String {
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        binder.text(&self)
    }

    fn into_value(self) -> Value {
        Value::Text(self)
    }
}

impl IntoArgument for &String {
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        binder.text(self)
    }

    fn into_value(self) -> Value {
        Value::from(self.as_str())
    }
}

/// What goes by way of an owned value.
macro_rules! by_value {
    ($($type:ty),*) => {
        $(impl IntoArgument for $type {
            fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
                binder.value(&self.into_value())
            }

            fn into_value(self) -> Value {
                Value::from(self)
            }
        })*
    };
}

by_value!(bool, f32, f64, Decimal, Vec<u8>, &[u8], Value);

impl IntoArgument for &Value {
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        binder.value(self)
    }

    fn into_value(self) -> Value {
        self.clone()
    }
}

impl<T: IntoArgument> IntoArgument for Option<T> {
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        match self {
            Some(argument) => argument.bind(binder),
            None => binder.value(&Value::Null),
        }
    }

    fn into_value(self) -> Value {
        self.map_or(Value::Null, T::into_value)
    }
}

/// An array.
impl<T: IntoArgument> IntoArgument for Vec<T> {
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        binder.value(&self.into_value())
    }

    fn into_value(self) -> Value {
        Value::Array(self.into_iter().map(T::into_value).collect())
    }
}

/// An array.
impl<T: IntoArgument + Clone> IntoArgument for &[T] {
    fn bind(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        binder.value(&self.into_value())
    }

    fn into_value(self) -> Value {
        Value::Array(self.iter().cloned().map(T::into_value).collect())
    }
}

impl IntoArguments for &[Value] {
    fn count(&self) -> usize {
        self.len()
    }

    fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        self.iter().try_for_each(|value| binder.value(value))
    }
}

impl IntoArguments for &[&Value] {
    fn count(&self) -> usize {
        self.len()
    }

    fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        self.iter().try_for_each(|value| binder.value(value))
    }
}

impl IntoArguments for &Vec<Value> {
    fn count(&self) -> usize {
        self.len()
    }

    fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        self.as_slice().bind_each(binder)
    }
}

impl IntoArguments for Vec<Value> {
    fn count(&self) -> usize {
        self.len()
    }

    fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
        self.as_slice().bind_each(binder)
    }
}

impl IntoArguments for () {
    fn count(&self) -> usize {
        0
    }

    fn bind_each(self, _: &mut Binder<'_>) -> Result<(), SqlError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident)+;)*) => {
        $(impl<$($name: IntoArgument),+> IntoArguments for ($($name,)+) {
            fn count(&self) -> usize {
                $count
            }

            #[expect(non_snake_case, reason = "one name per type parameter")]
            fn bind_each(self, binder: &mut Binder<'_>) -> Result<(), SqlError> {
                let ($($name,)+) = self;
                $($name.bind(binder)?;)+
                Ok(())
            }
        })*
    };
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
    10: A B C D E F G H I J;
    11: A B C D E F G H I J K;
    12: A B C D E F G H I J K L;
}

#[cfg(test)]
mod tests;
