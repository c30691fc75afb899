//! An invocation: one call of a procedure, its arguments as datums in reused memory.
//!
//! Role         filled by sessions, generators and log replay; read by interpreter and planner.
//!              Filling it allocates nothing once its buffers have grown.

use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::datum::Datum;
use hotrow_base::ids::ProcedureId;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::types::SqlType;
use hotrow_base::value::{Value, ValueError};

/// Bytes of texts, and of elements, that are kept from call to call.
const KEPT_BYTES: usize = 64 << 10;

/// The arguments of one call.
#[derive(Clone, Default, Debug)]
pub struct Arguments {
    /// one datum per parameter
    pub datums: Vec<Datum>,
    /// elements of array arguments, which are ranges of this list
    pub elements: Vec<Datum>,
    /// bytes of text, bytea and uuid arguments, which are ranges of this heap
    pub heap: Vec<u8>,
}

impl Arguments {
    /// Forgets all arguments, keeps the memory.
    pub fn clear(&mut self) {
        self.datums.clear();
        self.elements.clear();
        self.heap.clear();
    }

    /// Forgets all arguments, and frees what large ones took.
    #[cold]
    pub fn shrink(&mut self) {
        self.clear();
        self.elements.shrink_to(KEPT_BYTES / size_of::<Datum>());
        self.heap.shrink_to(KEPT_BYTES);
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        self.datums.push(Datum::NULL);
    }

    /// Appends a smallint, integer, bigint, date or timestamp. The caller keeps to the range.
    pub fn push_int(&mut self, value: i64) {
        self.datums.push(Datum::int(value));
    }

    /// Appends a boolean.
    pub fn push_bool(&mut self, value: bool) {
        self.datums.push(Datum::bool(value));
    }

    /// Appends a real or double precision.
    pub fn push_float(&mut self, value: f64) {
        self.datums.push(Datum::float(value));
    }

    /// Appends a numeric as units of the parameter's scale.
    pub fn push_numeric(&mut self, units: i128) {
        self.datums.push(Datum::numeric(units));
    }

    /// Appends a text, bytea or uuid.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let datum = Datum::of_bytes(bytes, &mut self.heap);
        self.datums.push(datum);
    }

    /// Appends an array of integers.
    pub fn push_int_array(&mut self, values: impl IntoIterator<Item = i64>) {
        let start = self.elements.len() as u32;
        self.elements.extend(values.into_iter().map(Datum::int));
        self.datums.push(Datum::range(start, self.elements.len() as u32 - start));
    }

    /// Appends an array of texts, byteas or uuids.
    pub fn push_bytes_array<B: AsRef<[u8]>>(&mut self, values: impl IntoIterator<Item = B>) {
        let start = self.elements.len() as u32;
        for bytes in values {
            let datum = Datum::of_bytes(bytes.as_ref(), &mut self.heap);
            self.elements.push(datum);
        }
        self.datums.push(Datum::range(start, self.elements.len() as u32 - start));
    }

    /// Appends a value, converted to the parameter's type.
    pub fn push_value(&mut self, sql_type: SqlType, value: &Value) -> Result<(), ValueError> {
        let datum = value.to_parameter(sql_type, &mut self.heap, &mut self.elements)?;
        self.datums.push(datum);
        Ok(())
    }
}

/// Which violations of constraints that can be deferred a call only tells
/// ([`NoticeLevel::Violation`]), as its caller looks again before it commits.
///
/// [`NoticeLevel::Violation`]: crate::outcome::NoticeLevel::Violation
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Leaves {
    /// none, as nobody would look again: what is deferred makes the caller make the call again, as
    /// somebody who does ([`crate::deferred::as_deferred`])
    #[default]
    Nothing,
    /// those of constraints that are declared INITIALLY DEFERRED
    Deferred,
    /// all, as SET CONSTRAINTS has said something else than what is declared
    Any,
}

/// One call: which procedure, with what, and when.
#[derive(Clone, Default, Debug)]
pub struct Invocation {
    /// the procedure
    pub procedure: ProcedureId,
    /// its arguments
    pub arguments: Arguments,
    /// the call's time (what now() gives), microseconds since 2000-01-01 UTC
    pub now_us: i64,
    /// of the session that makes the call: values are shown and read so
    pub conventions: Conventions,
    /// what may end the call early, and pays for its memory; none: nothing, nobody
    pub interrupt: Option<Arc<Interrupt>>,
    /// its caller has more to do before it waits for the call to be durable
    pub is_patient: bool,
    /// what it leaves to its caller to check
    pub leaves: Leaves,
    /// the caller's name for this one call, by which a repetition is known; empty: none
    pub key: Vec<u8>,
}

impl Invocation {
    /// One of what a session asks for, on the thread that works for it: made at a time, in the zone
    /// that is entered there.
    pub fn at(now_us: i64) -> Self {
        Self { now_us, conventions: Conventions::current(), ..Self::default() }
    }
}
