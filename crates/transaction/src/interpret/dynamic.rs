//! Statements whose text is known only now: compiled, and run on the call's own access path.

use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_base::stack::deeper;
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use sha2::{Digest, Sha256};

use crate::access::RecordAccess;
use crate::bytecode::Program;
use crate::catalog::BOOTSTRAP;
use crate::compiled::CompiledProcedure;
use crate::draw::{Draw, Numbered, SessionDraw, spent_by};
use crate::dynamic::{Definitions, DynamicStatement, Taken};
use crate::frame::{Frame, Texts};
use crate::invocation::Invocation;
use crate::needs::By;
use crate::operators::Unfinished;
use crate::outcome::{NUMBERS_SPENT, SqlError, Stop, apart};
use crate::program::{NOW, ROW_COUNT};
use crate::walk;

use super::stop::stop_machine;
use super::{Hook, NoHook, PlannedKey, run};
use crate::fault::Fault;

/// Texts that are run one in the other, at most.
const DEPTH_MAX: u8 = 16;

/// Runs the statement whose text is the first of these values: its rows, value after value, and how
/// many it has touched.
pub(super) fn execute<A: RecordAccess, H: Hook>(
    (program, at): (&Program, usize),
    statement: &dyn DynamicStatement,
    values: &[Value],
    frame: &mut Frame,
    access: &mut A,
    hook: &mut H,
) -> Result<(Vec<Value>, u64), Unfinished> {
    let text = match values.first() {
        Some(Value::Text(text)) => text,
        _ => return Err(failed(b"22004", "query string argument of EXECUTE is null")),
    };
    if frame.texts().depth == DEPTH_MAX {
        return Err(failed(b"54001", "statements that EXECUTE runs are too deep in each other"));
    }
    let compiled = compile(statement, text, values, frame, access)?;
    if !H::FORGIVES && !access.is_alone() && !is_known(&compiled, frame, access) {
        return Err(Unfinished::Stopped(Stop::Replan));
    }
    let invocation = invoke(&compiled, values, frame, access)?;
    let mut inner = frame.within();
    if H::FORGIVES {
        let planned = hook.plan_text(&compiled.plan, &invocation, &mut inner, access);
        planned.map_err(Unfinished::Stopped)?;
        if compiled.writes() {
            return Ok((Vec::new(), 0)); // a trial only reads
        }
    }
    inner.begin(&compiled.program, &invocation);
    let ran = deeper(|| match H::FORGIVES {
        true => run(&compiled.program, 0, &mut inner, access, &mut OnTrial),
        false => run(&compiled.program, 0, &mut inner, access, &mut NoHook),
    });
    let ran = ran.unwrap_or_else(|_| {
        inner.machine.error = Some(SqlError::new(b"54001", "stack depth limit exceeded"));
        Err(Stop::Error)
    });
    let ended = frame.end_within(&mut inner, &compiled.procedure.draws);
    ended.map_err(|fault| {
        Unfinished::Stopped(stop_machine(program, at, &mut frame.machine, fault))
    })?;
    match ran {
        Ok(()) => {}
        Err(Stop::Error) => {
            let error = inner.machine.error.take();
            let error = error.unwrap_or_else(|| SqlError::new(b"XX000", "a statement stopped"));
            let error = told(error, text, &compiled);
            let stop = stop_machine(program, at, &mut frame.machine, Fault::from(error));
            frame.machine.is_over |= inner.machine.is_over;
            return Err(Unfinished::Stopped(stop));
        }
        Err(stop) => return Err(Unfinished::Stopped(stop)),
    }
    let touched = inner.slot(ROW_COUNT).as_int() as u64;
    let types = compiled.program.result.iter().map(|column| column.data_type).cycle();
    let rows = inner.result_datums().iter().zip(types);
    let rows = rows.map(|(&datum, of)| Value::from_datum(datum, of, inner.heap()));
    Ok((rows.collect(), touched))
}

/// A text's program that only reads, run where errors are forgiven.
struct OnTrial;

impl Hook for OnTrial {
    const PLANNED: bool = false;
    const FORGIVES: bool = true;

    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        None
    }

    fn mark(&mut self, _: u32, _: &mut Frame) -> Result<(), Stop> {
        Ok(())
    }
}

/// The text's program, for whoever may run it.
fn compile<A: RecordAccess>(
    statement: &dyn DynamicStatement,
    text: &str,
    values: &[Value],
    frame: &Frame,
    access: &A,
) -> Result<CompiledProcedure, Unfinished> {
    let definitions = access.definitions().ok_or_else(no_definitions)?;
    // It holds nothing that others see.
    apart(|| {
        let procedure = statement.compile(text, definitions)?;
        let catalog = definitions.catalog();
        catalog.refuse_without(role_of(values), &procedure.needs)?;
        if walk::has_protected(&procedure.body) && frame.is_protected() {
            let mut error = SqlError::new(
                b"0A000",
                "EXECUTE, in an EXCEPTION block, of a statement that calls what has one, too",
            );
            error.hint = Some("Call it in a statement that is written out.".to_owned());
            return Err(error.into());
        }
        Ok(CompiledProcedure::new(catalog, definitions.granules(), procedure)?)
    })
}

/// Whether all that a text changes, or visits as a whole, is known to those who run at the same
/// time. Else the frame says what is not.
fn is_known<A: RecordAccess>(of: &CompiledProcedure, frame: &mut Frame, access: &A) -> bool {
    let Some(definitions) = access.definitions() else { return false };
    let granules = definitions.granules();
    let uses = granules.uses_of(definitions.catalog(), &of.procedure);
    let is_known = granules.know(&uses);
    if !is_known {
        frame.texts().unknown_uses = uses;
    }
    is_known
}

/// The role whose rights a text runs with; none: the database's maker.
fn role_of(values: &[Value]) -> Option<&str> {
    match &values[Taken::Role as usize] {
        Value::Text(role) => Some(role),
        _ => None,
    }
}

/// What the text's program is called with: the values of USING, and what it draws, from what the
/// call has drawn.
fn invoke<A: RecordAccess>(
    compiled: &CompiledProcedure,
    values: &[Value],
    frame: &mut Frame,
    access: &A,
) -> Result<Invocation, Unfinished> {
    let definitions = access.definitions().ok_or_else(no_definitions)?;
    let mut invocation = Invocation {
        procedure: ProcedureId(0), // nobody looks it up
        now_us: frame.slot(NOW).as_int(),
        conventions: frame.machine.conventions,
        interrupt: frame.machine.interrupt().cloned(),
        leaves: frame.machine.leaves,
        ..Invocation::default()
    };
    let arguments = &mut invocation.arguments;
    let mut put = |of: SqlType, value: &Value| {
        let put = arguments.push_value(of, value);
        put.map_err(|_| failed(b"XX000", "a value of EXECUTE is of another type"))
    };
    for (of, value) in compiled.procedure.given().iter().zip(&values[Taken::ALL.len()..]) {
        put(of.sql_type, value)?;
    }
    let mut drawn = Drawn { values, texts: frame.texts() };
    for draw in &compiled.procedure.draws {
        put(draw.sql_type(), &drawn.value(draw, definitions)?)?;
    }
    Ok(invocation)
}

/// What a call has drawn for its texts, and what is used of it.
struct Drawn<'a> {
    values: &'a [Value],
    texts: &'a mut Texts,
}

impl Drawn<'_> {
    fn value(&mut self, draw: &Draw, definitions: &dyn Definitions) -> Result<Value, Unfinished> {
        let owner = |by: &By| {
            let catalog = definitions.catalog();
            match by {
                By::Caller => role_of(self.values).map(str::to_owned),
                by => catalog.owner_by(by).map(str::to_owned),
            }
        };
        Ok(match draw {
            Draw::Number(sequence) => {
                let number = self.numbers(*sequence).next();
                let number = number.ok_or_else(|| Unfinished::from(spent(*sequence)))?;
                self.texts.note(*sequence, 1);
                Value::BigInt(number)
            }
            Draw::Numbers(sequence) => {
                Value::Array(self.numbers(*sequence).map(Value::BigInt).collect())
            }
            Draw::AnyNumbers => self.left(),
            Draw::Seed => self.seed(),
            Draw::Session(SessionDraw::SessionUser) => {
                self.values[Taken::SessionUser as usize].clone()
            }
            Draw::Session(SessionDraw::CurrentUser(By::Caller)) => {
                match &self.values[Taken::Role as usize] {
                    Value::Null => self.values[Taken::SessionUser as usize].clone(),
                    role => role.clone(),
                }
            }
            Draw::Session(SessionDraw::CurrentUser(by)) => {
                Value::Text(owner(by).unwrap_or_else(|| BOOTSTRAP.to_owned()))
            }
            Draw::Session(SessionDraw::Role(by)) => owner(by).map_or(Value::Null, Value::Text),
            Draw::Session(SessionDraw::Policies { table, by, .. }) => {
                let catalog = definitions.catalog();
                Value::BigInt(catalog.policies_of_table(*table, owner(by).as_deref()))
            }
            Draw::Session(SessionDraw::Setting(name, _)) => {
                let message = format!(
                    "current_setting('{name}') in a statement that EXECUTE makes when the call runs"
                );
                let mut error = SqlError::new(b"0A000", message);
                error.hint = Some("Ask it before, and give it by USING.".to_owned());
                return Err(error.into());
            }
        })
    }

    /// Numbers of a sequence that are not used.
    fn numbers(&self, sequence: TableId) -> impl Iterator<Item = i64> {
        let pairs = pairs(&self.values[Taken::Numbers as usize]);
        let of = pairs.into_iter().filter(move |(of, _)| *of == sequence);
        of.map(|(_, number)| number).skip(self.texts.used_of(sequence))
    }

    /// All numbers that are not used.
    fn left(&self) -> Value {
        let mut passed: Vec<(TableId, usize)> = Vec::new();
        let mut left = Vec::new();
        for (sequence, number) in pairs(&self.values[Taken::Numbers as usize]) {
            let place = passed.iter().position(|(of, _)| *of == sequence).unwrap_or_else(|| {
                passed.push((sequence, 0));
                passed.len() - 1
            });
            passed[place].1 += 1;
            if passed[place].1 > self.texts.used_of(sequence) {
                left.extend([Value::BigInt(sequence.0.into()), Value::BigInt(number)]);
            }
        }
        Value::Array(left)
    }

    /// Another seed for each text that asks for one.
    fn seed(&mut self) -> Value {
        let mut hash = Sha256::new();
        if let Value::Uuid(seed) = &self.values[Taken::Seed as usize] {
            hash.update(seed);
        }
        self.texts.seeds += 1;
        hash.update(self.texts.seeds.to_le_bytes());
        let mut seed = [0; 16];
        seed.copy_from_slice(&hash.finalize()[..16]);
        Value::Uuid(seed)
    }
}

/// Numbers with the sequences that they are of.
fn pairs(numbers: &Value) -> Vec<(TableId, i64)> {
    let Value::Array(numbers) = numbers else { return Vec::new() };
    let pair = |pair: &[Value]| match pair {
        [Value::BigInt(sequence), Value::BigInt(number)] => {
            Some((TableId(u16::try_from(*sequence).ok()?), *number))
        }
        _ => None,
    };
    numbers.chunks_exact(2).filter_map(pair).collect()
}

/// An error of a text's program, as the call tells it.
fn told(error: SqlError, text: &str, compiled: &CompiledProcedure) -> SqlError {
    match spent_by(&error) {
        Some(Numbered::Draw(draw)) => {
            let sequence = compiled.procedure.draws.get(draw).and_then(Draw::sequence);
            sequence.map_or(error, spent)
        }
        Some(Numbered::Of(_)) => error,
        None => {
            let context = Some(format!("SQL statement \"{text}\""));
            SqlError { context: error.context.or(context), ..error }
        }
    }
}

/// Asks for more numbers of a sequence.
fn spent(sequence: TableId) -> SqlError {
    SqlError::new(&NUMBERS_SPENT, Numbered::Of(sequence).told())
}

fn failed(sqlstate: &[u8; 5], message: &str) -> Unfinished {
    SqlError::new(sqlstate, message).into()
}

fn no_definitions() -> Unfinished {
    failed(b"0A000", "EXECUTE of a text where nothing is defined")
}
