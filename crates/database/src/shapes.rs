//! Statements that a session has compiled, found by the shapes of their texts.
//!
//! Role         a client that sends values within its texts, as simple queries are, has each kind
//!              of them compiled once, as if it had prepared them; and what is kept of a statement
//!              as a procedure ([`crate::kept`]) is its shape
//! States       a shape: (unknown) -> seen once -> compiled, or refused -> the same again, when
//!              definitions have changed; -> (unknown), when room is needed and it was not asked
//!              for since it was last needed. Where statements are kept, a shape is compiled when
//!              it is seen first
//! Invariants   I1 a statement is only used with the schema that it was compiled for, and for texts
//!                 whose literals that are part of what was compiled are the same
//!              I2 whatever goes wrong on the way to a statement with its values, the text is
//!                 compiled by itself, and its error tells
//!              I3 shapes and what they take are bounded in number and bytes, and charged

use std::sync::Arc;

use hotrow_base::by_name::ByBytes;
use hotrow_base::memory::Charge;
use hotrow_base::sync::Latch;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::{Shape, parse_shaped};
use hotrow_transaction::outcome::{SqlError, apart};

use crate::context::Context;
use crate::prepare::{in_parts, prepare_shaped};
use crate::prepared::Prepared;
use crate::script::{Home, SentStatement};

/// Shapes that a session knows.
const SHAPES_MAX: usize = 128;
/// What their statements take, as it is estimated.
const BYTES_MAX: u64 = 4 << 20;

enum State {
    SeenOnce,
    /// with the schema of this generation
    Refused(u64),
    Compiled(Compiled),
}

struct Known {
    state: State,
    /// whether it was asked for since room was last needed
    is_used: bool,
}

/// A statement, and what texts it stands for.
struct Compiled {
    home: Home,
    generation: u64,
    /// of each literal its text, where it is no parameter but part of what was compiled
    parts: Vec<Option<Box<str>>>,
}

/// One session's compiled statements, by shape; charged to the session.
pub(crate) struct Shapes {
    look: Shape,
    known: ByBytes<Known>,
    charge: Charge,
}

impl Shapes {
    /// None yet, to be charged to an account.
    pub(crate) fn new(charge: Charge) -> Self {
        Self { look: Shape::default(), known: ByBytes::default(), charge }
    }

    /// The statement that a text is, if its shape is known.
    pub(crate) fn find(&mut self, context: &Context, text: &str) -> Option<SentStatement> {
        if !self.look.read(text) {
            return None;
        }
        let generation = context.core.schema.generation();
        if !self.known.contains_key(self.look.key()) {
            self.make_room();
            let known = Known { state: State::SeenOnce, is_used: false };
            self.known.insert(self.look.key().into(), known);
            if context.core.locks_as_it_goes {
                return None;
            }
        }
        let known = self.known.get_mut(self.look.key())?;
        known.is_used = true;
        let found = match &known.state {
            State::Refused(of) if *of == generation => return None,
            State::SeenOnce | State::Refused(_) => None,
            State::Compiled(compiled) if compiled.generation != generation => None,
            State::Compiled(compiled) => match compiled.home.lock().take() {
                // An earlier one is still held by whoever asked for it.
                None => return None,
                found => found,
            },
        };
        let prepared = match found {
            Some(prepared) => prepared,
            None => {
                self.charge.subtract(known.bytes());
                known.state = State::Refused(generation);
                let (compiled, prepared) = compile(context, &self.look, text, generation).ok()?;
                self.charge.add(prepared.bytes()).ok()?; // I3
                known.state = State::Compiled(compiled);
                Box::new(prepared)
            }
        };
        let State::Compiled(compiled) = &known.state else { return None };
        let values = values(&self.look, text, compiled);
        // From here on it goes home by itself.
        let mut sent = SentStatement::found(prepared, Arc::clone(&compiled.home), Vec::new());
        sent.fill(own_text(text), values?)?;
        Some(sent)
    }

    /// Forgets shapes that were not asked for lately where there are too many.
    fn make_room(&mut self) {
        if self.known.len() < SHAPES_MAX && self.charge.bytes() < BYTES_MAX {
            return;
        }
        self.known.retain(|_, known| std::mem::take(&mut known.is_used));
        let kept = self.known.values().map(Known::bytes).sum::<usize>();
        if self.known.len() > SHAPES_MAX / 2 || kept as u64 > BYTES_MAX / 2 {
            self.known.clear();
        }
        let kept = self.known.values().map(Known::bytes).sum::<usize>();
        self.charge.subtract((self.charge.bytes() as usize).saturating_sub(kept));
    }
}

impl Known {
    fn bytes(&self) -> usize {
        match &self.state {
            State::Compiled(compiled) => compiled.home.lock().as_ref().map_or(0, |p| p.bytes()),
            State::SeenOnce | State::Refused(_) => 0,
        }
    }
}

/// The statement that a text is, with its literals as parameters, and their values; none if it is
/// not to be had.
pub(crate) fn prepare(context: &Context, text: &str) -> Option<(Prepared, Vec<Value>)> {
    let mut look = Shape::default();
    if !look.read(text) {
        return None;
    }
    let generation = context.core.schema.generation();
    let (compiled, prepared) = compile(context, &look, text, generation).ok()?;
    let values = values(&look, text, &compiled)?;
    Some((prepared, values))
}

/// `generation`: of the schema, or of one before it.
fn compile(
    context: &Context,
    look: &Shape,
    text: &str,
    generation: u64,
) -> Result<(Compiled, Prepared), SqlError> {
    let parsed = apart(|| parse_shaped(text, look))?;
    let statement = parsed.filter(|statement| statement.text == own_text(text));
    let Some(statement) = statement else {
        return Err(SqlError::new(b"0A000", "the text is more than its shape tells"));
    };
    let prepared = prepare_shaped(context, in_parts(context, statement))?;
    let literals = prepared.literals().iter().enumerate();
    let part = |(at, parameter): (usize, &Option<SqlType>)| match parameter {
        Some(_) => None,
        None => Some(look.written(text, at).into()),
    };
    let (parts, home) = (literals.map(part).collect(), Arc::new(Latch::new(None)));
    Ok((Compiled { home, generation, parts }, prepared))
}

/// The values of a text's literals; none: it is another statement (I1).
fn values(look: &Shape, text: &str, compiled: &Compiled) -> Option<Vec<Value>> {
    let parts = compiled.parts.iter().enumerate();
    let value = |(at, part): (usize, &Option<Box<str>>)| match part {
        None => Some(look.value(text, at)),
        Some(part) => (look.written(text, at) == &**part).then_some(Value::Null),
    };
    parts.map(value).collect()
}

/// Without what stands around the statement.
fn own_text(text: &str) -> &str {
    text.trim_start().trim_end_matches(|c: char| c.is_whitespace() || c == ';')
}
