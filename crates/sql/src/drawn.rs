//! What a program draws: parameters behind those that callers give, and their places in it.
//!
//! Role         INSERT and expressions ask for a value; how many a program draws, and of what kind,
//!              is known when it is compiled, so it is compiled once more with room for them
//! Invariants   I1 a place outside of loops is passed once at most, and has a number of its own: a
//!              parameter, which the plan knows. A branch that is not taken loses it
//!              I2 places in loops take numbers from an array, one after the other, and count in a
//!              slot: ordinary arithmetic for whatever plans, cuts or repeats the call. Where there
//!              are no more, the call ends and is made again with more (`transaction::draw`)
//!              I3 random values are computed from one seed, the number of their place and, in
//!              loops, a count of turns, which all places share: so it ascends as the call runs

use hotrow_base::ids::TableId;
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Catalog, Column, Draws};
use hotrow_transaction::draw::{Draw, NUMBERS_TAKEN, Numbered, SessionDraw};
use hotrow_transaction::outcome::{NUMBERS_SPENT, NoticeLevel};
use hotrow_transaction::program::{
    ArithmeticOp, CompareOp, Expr, ExprKind, Function, NOW, Place, Raise, SlotId, Statement,
    StatementKind,
};
use hotrow_transaction::random::Randomness;
use hotrow_transaction::walk;

use crate::error::{Result, unsupported};
use crate::scope::Compiler;
use crate::state::DrawnSlots;
use crate::typing::{Coercion, assign, bigint, call, cast, integer, scalar};

/// Rounds of compilation: the first one finds out what is drawn, the second one has room for it.
const ROUNDS_MAX: usize = 4;

/// Compiles with room for nothing that is drawn, and once more if something is: it stands before
/// all other slots. `compile` is told what there is room for, and tells what was drawn.
pub(crate) fn in_rounds<T>(
    mut compile: impl FnMut(Vec<Draw>) -> Result<(Vec<Draw>, T)>,
) -> Result<T> {
    let (mut drawn, mut compiled) = compile(Vec::new())?;
    let mut room = Vec::new();
    for _ in 1..ROUNDS_MAX {
        if drawn == room {
            break;
        }
        room.clone_from(&drawn);
        (drawn, compiled) = compile(drawn)?;
    }
    debug_assert_eq!(drawn, room, "what a program draws follows from its text");
    Ok(compiled)
}

impl Compiler<'_> {
    /// Fails where something cannot be compiled, with this catalog.
    pub(crate) fn try_out<'t>(
        &'t self,
        catalog: &'t Catalog,
        place: Place,
        mut compile: impl FnMut(&mut Compiler<'t>) -> Result<()>,
    ) -> Result<()> {
        in_rounds(|room| {
            let mut trial = Compiler::new(catalog);
            (trial.place, trial.room, trial.procedures) = (place, room, self.procedures);
            trial.take_drawn_slots()?;
            compile(&mut trial)?;
            Ok((std::mem::take(&mut trial.draws), ()))
        })
    }

    /// Makes room for what is drawn, behind the parameters.
    pub(crate) fn take_drawn_slots(&mut self) -> Result<()> {
        for (at, draw) in self.room.clone().into_iter().enumerate() {
            let parameter = self.slot(&format!("$drawn {}", at + 1), draw.sql_type())?;
            self.drawn_slots.push(DrawnSlots { draw, parameter, counter: parameter });
        }
        for at in 0..self.drawn_slots.len() {
            self.drawn_slots[at].counter = match self.drawn_slots[at].draw {
                Draw::Number(_) | Draw::AnyNumbers | Draw::Session(_) => continue,
                Draw::Numbers(_) => self.temporary("taken", DataType::Integer)?,
                Draw::Seed => self.temporary("turn", DataType::BigInt)?,
            };
        }
        Ok(())
    }

    /// The next number of a column's sequence.
    pub(crate) fn drawn(&mut self, column: &Column, draws: Draws) -> Result<Expr> {
        self.need_number(draws.sequence, Some(draws.as_written));
        let what = || format!("a number for column \"{}\"", column.name);
        let number = self.next_number(draws.sequence, self.place, what)?;
        assign(number, column.data_type, Coercion::Assignment, self.place, || column.name.clone())
    }

    /// The next number of a sequence, drawn before the statement that is compiled.
    pub(crate) fn next_number(
        &mut self,
        sequence: TableId,
        place: Place,
        what: impl FnOnce() -> String,
    ) -> Result<Expr> {
        if self.loops == 0 {
            let slots = self.slots_of(Draw::Number(sequence), self.draws.len())?; // I1
            return Ok(self.slot_expr(slots.parameter));
        }
        if self.ad_hoc && !self.is_whole && self.firing.changed.is_none() {
            // Its rows are found first, and numbers drawn for them: no more than there are.
            let hint = "pass an array of numbers, or have each statement insert one row";
            return Err(unsupported(place, format!("{} in a loop", what()), hint));
        }
        let (at, slots) = self.shared_slots(Draw::Numbers(sequence))?;
        let mut before = Vec::new();
        let number = self.take_number(&mut before, slots, at)?;
        self.before.append(&mut before);
        Ok(number)
    }

    /// Whether an expression may draw something, right before the statement that it stands in: it
    /// is computed once there, not row by row.
    pub(crate) fn may_draw(&self) -> bool {
        self.is_procedure && !self.ad_hoc && self.stands_alone()
    }

    /// The slots of what is drawn, number `at` of all.
    fn slots_of(&mut self, draw: Draw, at: usize) -> Result<DrawnSlots> {
        if at == self.draws.len() {
            self.draws.push(draw.clone());
        }
        match self.drawn_slots.get(at) {
            Some(slots) if slots.draw == draw => Ok(slots.clone()),
            // Not the last round: there will be room.
            _ => {
                let parameter = self.slot("$drawn", draw.sql_type())?;
                if matches!(draw, Draw::Session(_) | Draw::AnyNumbers) {
                    return Ok(DrawnSlots { draw, parameter, counter: parameter });
                }
                let of = if draw == Draw::Seed { DataType::BigInt } else { DataType::Integer };
                let counter = self.temporary("taken", of)?;
                Ok(DrawnSlots { draw, parameter, counter })
            }
        }
    }

    /// The slots of what all places of the program share.
    fn shared_slots(&mut self, draw: Draw) -> Result<(usize, DrawnSlots)> {
        let known = self.draws.iter().position(|known| *known == draw);
        let at = known.unwrap_or(self.draws.len());
        Ok((at, self.slots_of(draw, at)?))
    }

    /// The slot of a value that all places of the program share.
    pub(crate) fn shared_parameter(&mut self, draw: Draw) -> Result<SlotId> {
        Ok(self.shared_slots(draw)?.1.parameter)
    }

    /// A random value: another one at each place, and at each turn of a loop.
    pub(crate) fn random(&mut self, what: Randomness) -> Result<Expr> {
        let gives = match what {
            Randomness::Double => DataType::Double,
            Randomness::Uuid | Randomness::OrderedUuid => DataType::Uuid,
        };
        if self.is_default {
            return Ok(call(Function::Random(what), Vec::new(), gives));
        }
        Ok(call(Function::Random(what), self.spot(what)?, gives))
    }

    /// Where a random value is drawn: the seed, the place, the turn, and the call's time.
    pub(crate) fn spot(&mut self, what: Randomness) -> Result<Vec<Expr>> {
        let (_, DrawnSlots { parameter, counter, .. }) = self.shared_slots(Draw::Seed)?;
        let at = i64::from(self.randoms);
        self.randoms = self.randoms.saturating_add(1);
        let count = self.slot_expr(counter);
        let mut turn = bigint(0);
        if self.loops > 0 {
            self.counts_turns = true;
            let (left, one) = (Box::new(count.clone()), Box::new(bigint(1)));
            let next = ExprKind::Arithmetic(ArithmeticOp::Add, left, one);
            let kind =
                StatementKind::Assign { slot: counter, value: scalar(next, DataType::BigInt) };
            self.before.push(Statement { kind, place: self.place });
            turn = count;
        } else if self.counts_turns && what == Randomness::OrderedUuid {
            turn = count; // behind those of the loops before it
        }
        Ok(vec![self.slot_expr(parameter), bigint(at), turn, self.slot_expr(NOW)])
    }

    /// A column's default for one row that is inserted: with random values of its own.
    pub(crate) fn default_of(&mut self, column: &Column) -> Result<Option<Expr>> {
        let Some(mut value) = column.default.clone() else { return Ok(None) };
        self.draw_in(&mut value)?;
        Ok(Some(value))
    }

    fn draw_in(&mut self, value: &mut Expr) -> Result<()> {
        if let ExprKind::Call(Function::Random(what), spot) = &mut value.kind {
            *spot = self.spot(*what)?;
            return Ok(());
        }
        let asked = match value.kind {
            ExprKind::Call(Function::CurrentUser, _) => {
                Some(SessionDraw::CurrentUser(self.runs_as.clone()))
            }
            ExprKind::Call(Function::SessionUser, _) => Some(SessionDraw::SessionUser),
            _ => None,
        };
        if let Some(asked) = asked {
            *value = self.session_value(asked)?;
            return Ok(());
        }
        let mut drawn = Ok(());
        walk::operands_mut(value, &mut |operand| {
            if drawn.is_ok() {
                drawn = self.draw_in(operand);
            }
        });
        drawn
    }

    /// Takes the next number of an array of them; ends the call where there is none (I2).
    fn take_number(
        &mut self,
        out: &mut Vec<Statement>,
        slots: DrawnSlots,
        at: usize,
    ) -> Result<Expr> {
        let DrawnSlots { parameter, counter, .. } = slots;
        let count = self.slot_expr(counter);
        let next =
            ExprKind::Arithmetic(ArithmeticOp::Add, Box::new(count.clone()), Box::new(integer(1)));
        self.emit_assign(out, counter, scalar(next, DataType::Integer));
        let numbers = self.slot_expr(parameter);
        let length = call(Function::Cardinality, vec![numbers], DataType::Integer);
        let is_over =
            ExprKind::Compare(CompareOp::Greater, Box::new(count.clone()), Box::new(length));
        let mut then = Vec::new();
        self.emit_raise(&mut then, &NUMBERS_SPENT, Numbered::Draw(at).told(), None);
        let condition = scalar(is_over, DataType::Boolean);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        let taken = self.temporary("number", DataType::BigInt)?;
        let number = ExprKind::Element(parameter, Box::new(count));
        self.emit_assign(out, taken, scalar(number, DataType::BigInt));
        Ok(self.slot_expr(taken))
    }

    /// The body of a program that counts what it takes from the first number on, and tells how many
    /// it took before it ends, or raises an error.
    pub(crate) fn counting(&self, mut body: Vec<Statement>) -> Vec<Statement> {
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        for (at, slots) in self.drawn_slots.iter().enumerate() {
            match slots.draw {
                Draw::Seed if self.counts_turns => {
                    self.emit_assign(&mut begin, slots.counter, bigint(0));
                    continue;
                }
                Draw::Seed | Draw::Number(_) | Draw::AnyNumbers | Draw::Session(_) => continue,
                Draw::Numbers(_) => self.emit_assign(&mut begin, slots.counter, integer(0)),
            }
            let raise = Raise {
                sqlstate: NUMBERS_TAKEN,
                message: vec![format!("{at} "), String::new()],
                arguments: vec![cast(self.slot_expr(slots.counter), DataType::Text)],
                detail: None,
                hint: None,
                of: None,
                is_again: false,
                parts: Vec::new(),
            };
            self.emit(&mut end, StatementKind::Notice(NoticeLevel::Debug, raise));
        }
        if begin.is_empty() {
            return body;
        }
        put_before_ends(&mut body, &end);
        begin.append(&mut body);
        begin.append(&mut end);
        begin
    }
}

/// Whether a default has random values, others for each row, or what a session says.
pub(crate) fn is_random(value: &Expr) -> bool {
    use Function::{CurrentUser, Random, SessionUser};
    let mut found = matches!(value.kind, ExprKind::Call(Random(_) | CurrentUser | SessionUser, _));
    walk::operands(value, &mut |operand| found |= is_random(operand));
    found
}

/// Puts statements before each RETURN, and before each RAISE that is for clients.
fn put_before_ends(block: &mut Vec<Statement>, ending: &[Statement]) {
    let mut at = 0;
    while at < block.len() {
        let is_end = match &block[at].kind {
            StatementKind::Return(_) => true,
            StatementKind::Raise(raise) => raise.sqlstate != NUMBERS_SPENT,
            _ => false,
        };
        if is_end {
            block.splice(at..at, ending.iter().cloned());
            at += ending.len();
        }
        for nested in walk::blocks_mut(&mut block[at]) {
            put_before_ends(nested, ending);
        }
        at += 1;
    }
}
