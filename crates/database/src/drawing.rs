//! What calls draw: before they are made, and more of it where they turn out to need more; what
//! they ask of the session, too.
//!
//! Role         fills the parameters that stand behind those a caller gives
//!              ([`Procedure::draws`]). How many numbers a call takes in loops nobody knows before:
//!              it is given as many as calls of its procedure have lately taken; if it ends because
//!              they were too few, it is made again with more behind them
//! Invariants   I1 a call that is made again finds the numbers that it had, in the same order
//!              I2 numbers that a call has not used go back, unless somebody has drawn since, or
//!                 the call has failed without a RAISE and so without telling how many it used:
//!                 then they are lost
//!              I3 one call takes [`NUMBERS_MAX`] numbers of a sequence at most

use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::TableId;
use hotrow_transaction::draw::{Draw, NUMBERS_TAKEN, Numbered, SessionDraw, spent_by, taken_by};
use hotrow_transaction::invocation::Arguments;
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::Procedure;
use rand::TryRngCore;
use rand::rngs::OsRng;

use crate::asker::{Asker, said};
use crate::client::Mailbox;
use crate::context::Context;
use crate::core::Core;
use crate::error::{Error, advised};
use crate::numbers::{give_back, next, next_of_many};
use crate::reply::Reply;
use crate::rows::Rows;

/// Numbers that a call gets of which nothing is known.
const NUMBERS_FIRST: usize = 8;
/// Each time they are too few, there are so many times as many.
const GROWTH: usize = 4;
/// Numbers that one call may take: 16 MiB of memory, and some of the log.
const NUMBERS_MAX: usize = 1 << 20;

impl Context {
    /// Puts what a procedure draws behind its arguments.
    pub(crate) fn draw_for(
        &self,
        procedure: &Procedure,
        arguments: &mut Arguments,
    ) -> Result<(), Error> {
        let number_of = |sequence| self.number_of(sequence);
        draw_by((&self.core, self), procedure, arguments, number_of)
    }

    /// The next number of a sequence, or the one that the statement had when it was compiled for
    /// another schema.
    fn number_of(&self, sequence: TableId) -> Result<i64, Error> {
        let before = self.drawn().drawn_before(sequence);
        let number = before.map_or_else(|| next(&self.core, sequence), Ok)?;
        self.drawn().note_in_statement(sequence, number);
        Ok(number)
    }

    /// The numbers that a procedure takes for so many rows, row after row.
    pub(crate) fn numbers_for(
        &self,
        procedure: &Procedure,
        rows: usize,
    ) -> Result<Vec<i64>, Error> {
        let mut numbers = Vec::new();
        for _ in 0..rows {
            for draw in &procedure.draws {
                if let Draw::Number(sequence) = draw {
                    numbers.push(self.number_of(*sequence)?);
                }
            }
        }
        Ok(numbers)
    }

    /// Settles what a part of a statement has drawn: draws more where it had too few, for which
    /// others go on; whether it is to run again.
    pub(crate) fn draws_more(
        &self,
        procedure: &Procedure,
        arguments: &mut Arguments,
        ended: &mut Result<Option<Rows>, Error>,
        let_others_go_on: impl FnOnce(),
    ) -> Result<bool, Error> {
        if !procedure.takes_numbers() {
            return Ok(false);
        }
        let notices = match ended {
            Ok(Some(rows)) => rows.notices_mut(),
            Err(Error::Sql(error)) => match spent_by(error) {
                Some(spent) => {
                    let_others_go_on();
                    draw_more(&self.core, procedure, arguments, spent)?;
                    return Ok(true);
                }
                None => &mut error.notices,
            },
            Ok(None) | Err(_) => return Ok(false),
        };
        let note = |sequence, number| self.drawn().note(sequence, number);
        settle(&self.core, (procedure, arguments), notices, note);
        Ok(false)
    }
}

/// Puts what a procedure draws behind its arguments, where its numbers are drawn already.
pub(crate) fn put_drawn(
    (core, asker): (&Core, &dyn Asker),
    procedure: &Procedure,
    arguments: &mut Arguments,
    mut numbers: impl Iterator<Item = i64>,
) -> Result<(), SqlError> {
    for draw in &procedure.draws {
        match draw {
            Draw::Number(_) => arguments.push_int(numbers.next().unwrap_or_default()),
            // A change of one row has no loop, and no text.
            Draw::Numbers(_) | Draw::AnyNumbers => arguments.push_int_array([]),
            Draw::Seed => arguments.push_bytes(&seed()?),
            Draw::Session(of) => put_said((core, asker), (draw, of), arguments)?,
        }
    }
    Ok(())
}

/// Puts what a session says behind a call's arguments.
fn put_said(
    (core, asker): (&Core, &dyn Asker),
    (draw, of): (&Draw, &SessionDraw),
    arguments: &mut Arguments,
) -> Result<(), SqlError> {
    let value = said(&core.schema.current().catalog, asker, of)?;
    let put = arguments.push_value(draw.sql_type(), &value);
    put.map_err(|_| SqlError::new(b"XX000", "what a session says is of another type"))
}

/// 128 random bits.
pub(crate) fn seed() -> Result<[u8; 16], SqlError> {
    let mut bits = [0; 16];
    OsRng
        .try_fill_bytes(&mut bits)
        .map_err(|_| SqlError::new(b"58000", "the system gives no random numbers"))?;
    Ok(bits)
}

/// Puts what a procedure draws behind its arguments, beside the session that asks.
pub(crate) fn draw(
    (core, asker): (&Arc<Core>, &dyn Asker),
    procedure: &Procedure,
    arguments: &mut Arguments,
) -> Result<(), Error> {
    draw_by((core, asker), procedure, arguments, |sequence| next(core, sequence))
}

fn draw_by(
    (core, asker): (&Arc<Core>, &dyn Asker),
    procedure: &Procedure,
    arguments: &mut Arguments,
    mut next: impl FnMut(TableId) -> Result<i64, Error>,
) -> Result<(), Error> {
    for (at, draw) in procedure.draws.iter().enumerate() {
        match draw {
            Draw::Number(sequence) => arguments.datums.push(Datum::int(next(*sequence)?)),
            Draw::Numbers(sequence) => {
                let wanted = core.sequences.taken_by(&procedure.name, at);
                let wanted = wanted.map_or(NUMBERS_FIRST, |taken| taken.clamp(1, NUMBERS_MAX));
                arguments.push_int_array(up_to(core, *sequence, wanted)?);
            }
            Draw::AnyNumbers => arguments.push_int_array([]), // nobody knows of which sequence
            Draw::Seed => arguments.push_bytes(&seed()?),
            Draw::Session(of) => put_said((core, asker), (draw, of), arguments)?,
        }
    }
    Ok(())
}

/// The next numbers of a sequence; none where it is at its end, which matters only to who takes
/// one.
fn up_to(core: &Arc<Core>, sequence: TableId, wanted: usize) -> Result<Vec<i64>, Error> {
    match next_of_many(core, sequence, wanted) {
        Err(error) if error.sqlstate() == Some("2200H") => Ok(Vec::new()),
        numbers => numbers,
    }
}

/// Makes a call whose invocation lies in a mailbox, again with more numbers as long as it has too
/// few. `note` hears of the last number of each sequence that it took.
pub(crate) fn call(
    core: &Arc<Core>,
    (procedure, mailbox): (&Procedure, &Mailbox),
    mut call: impl FnMut() -> Result<Reply, Error>,
    note: impl FnMut(TableId, i64),
) -> Result<Reply, Error> {
    if !procedure.takes_numbers() {
        return call();
    }
    // Whoever takes the call takes it out of the mailbox.
    let mut invocation = mailbox.invocation.lock().clone();
    loop {
        let mut reply = call()?;
        let notices = match &mut reply.answer {
            Ok(rows) => rows.notices_mut(),
            Err(error) => match spent_by(error) {
                Some(spent) => {
                    draw_more(core, procedure, &mut invocation.arguments, spent)?;
                    mailbox.invocation.lock().clone_from(&invocation);
                    continue;
                }
                None => &mut error.notices,
            },
        };
        settle(core, (procedure, &invocation.arguments), notices, note);
        return Ok(reply);
    }
}

/// Whether a notice is for clients.
pub(crate) fn is_heard(notice: &Notice) -> bool {
    notice.said.sqlstate != NUMBERS_TAKEN
}

/// The numbers that a call was given for one of its procedure's draws.
fn given(procedure: &Procedure, arguments: &Arguments, draw: usize) -> Vec<i64> {
    let array = arguments.datums.get(procedure.given().len() + draw);
    let range = array.filter(|array| !array.is_null()).map(|array| array.as_range().range());
    let elements = range.and_then(|range| arguments.elements.get(range)).unwrap_or_default();
    elements.iter().map(|number| number.as_int()).collect()
}

/// Those of a sequence that a call was given for its texts.
fn given_of(procedure: &Procedure, arguments: &Arguments, sequence: TableId) -> Vec<i64> {
    let at = procedure.draws.iter().position(|draw| *draw == Draw::AnyNumbers);
    let pairs = at.map_or_else(Vec::new, |at| given(procedure, arguments, at));
    let of = pairs.chunks_exact(2).filter(|pair| pair[0] == i64::from(sequence.0));
    of.map(|pair| pair[1]).collect()
}

/// Draws more numbers, behind those that a call has had (I1).
fn draw_more(
    core: &Arc<Core>,
    procedure: &Procedure,
    arguments: &mut Arguments,
    spent: Numbered,
) -> Result<(), Error> {
    let draws = &procedure.draws;
    let draw = match spent {
        Numbered::Draw(draw) => Some(draw),
        Numbered::Of(_) => draws.iter().position(|draw| *draw == Draw::AnyNumbers),
    };
    let Some((draw, what)) = draw.and_then(|at| Some((at, draws.get(at)?))) else { return Ok(()) };
    let mut numbers = given(procedure, arguments, draw);
    match (what, spent) {
        (Draw::Numbers(sequence), _) => {
            let wanted = more_than(numbers.len())?;
            numbers.extend(next_of_many(core, *sequence, wanted - numbers.len())?);
        }
        (Draw::AnyNumbers, Numbered::Of(sequence)) => {
            let had = given_of(procedure, arguments, sequence).len();
            // The first text may be the only one.
            let wanted = if had == 0 { 1 } else { more_than(had)? };
            let more = next_of_many(core, sequence, wanted - had)?;
            numbers.extend(more.into_iter().flat_map(|number| [i64::from(sequence.0), number]));
        }
        _ => return Ok(()),
    }
    arguments.push_int_array(numbers);
    if let Some(array) = arguments.datums.pop() {
        arguments.datums[procedure.given().len() + draw] = array;
    }
    Ok(())
}

/// How many numbers a call gets that has spent so many.
fn more_than(had: usize) -> Result<usize, Error> {
    if had >= NUMBERS_MAX {
        let message = format!("a call may take {NUMBERS_MAX} numbers of a sequence");
        return Err(advised(b"54000", message, "Do it in several calls.").into());
    }
    Ok((had * GROWTH).clamp(NUMBERS_FIRST, NUMBERS_MAX))
}

/// Gives the numbers back of a part that has not run, and will draw others: it is compiled again.
pub(crate) fn give_all_back(core: &Core, procedure: &Procedure, arguments: &Arguments) {
    for (at, draw) in procedure.draws.iter().enumerate() {
        if let Draw::Numbers(sequence) = draw {
            give_back(core, *sequence, (&[], &given(procedure, arguments, at)));
        }
    }
}

/// Takes what a call has told of its numbers out of what clients hear: unused ones go back (I2).
fn settle(
    core: &Core,
    (procedure, arguments): (&Procedure, &Arguments),
    notices: &mut Vec<Notice>,
    mut note: impl FnMut(TableId, i64),
) {
    // Where a handler has caught an error, the call told before it; it counts on, and the last it
    // told is the most.
    let mut told = BTreeMap::new();
    for (draw, taken) in notices.iter().filter_map(taken_by) {
        let most = told.entry(draw).or_insert(taken);
        *most = taken.max(*most);
    }
    for (of, taken) in told {
        let (sequence, numbers) = match of {
            Numbered::Draw(draw) => match procedure.draws.get(draw) {
                Some(Draw::Numbers(sequence)) => (*sequence, given(procedure, arguments, draw)),
                _ => continue,
            },
            Numbered::Of(sequence) => (sequence, given_of(procedure, arguments, sequence)),
        };
        let (used, unused) = numbers.split_at(taken.min(numbers.len()));
        if let Numbered::Draw(draw) = of {
            core.sequences.note_taken(&procedure.name, draw, used.len());
        }
        give_back(core, sequence, (used, unused));
        if let Some(last) = used.last() {
            note(sequence, *last);
        }
    }
    notices.retain(is_heard);
}
