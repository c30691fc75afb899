//! Random procedures with loops that have no bound, and with EXIT and CONTINUE.

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::program::*;
use hotrow_transaction::walk;
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use crate::generate::{arithmetic, compare, int, slot, typed};
use crate::world::*;

const BOOL: hotrow_base::types::DataType = hotrow_base::types::DataType::Boolean;

/// Puts loops without a bound around some statements of a procedure, and has it leave those, other
/// loops and blocks.
pub fn add(procedure: &mut Procedure, random: &mut SmallRng) {
    let mut body = std::mem::take(&mut procedure.body);
    let slots = &mut procedure.slots;
    let mut adder = Adder { slots, random, labels: 0, around: Vec::new(), loops: 0 };
    adder.block(&mut body);
    procedure.body = body;
}

/// A block around a statement.
#[derive(Clone, Copy)]
struct Around {
    label: LabelId,
    /// leaving it ends a FOR loop, which tells FOUND
    ends_for: bool,
}

struct Adder<'a> {
    slots: &'a mut Vec<Slot>,
    random: &'a mut SmallRng,
    labels: u16,
    around: Vec<Around>,
    /// loops without a bound around a statement
    loops: usize,
}

fn at(place: Place, kind: StatementKind) -> Statement {
    Statement { kind, place }
}

impl Adder<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    fn label(&mut self) -> LabelId {
        self.labels += 1;
        LabelId(self.labels - 1)
    }

    fn fresh(&mut self) -> SlotId {
        let name = format!("s{}", self.slots.len());
        self.slots.push(Slot { name, sql_type: SqlType::Scalar(INT) });
        SlotId(self.slots.len() as u16 - 1)
    }

    fn local(&mut self) -> SlotId {
        SlotId(FIRST_PARAMETER + self.random.random_range(5..10))
    }

    /// A number that parameters decide, or perhaps rows.
    fn number(&mut self) -> SlotId {
        let parameter = SlotId(FIRST_PARAMETER + self.random.random_range(0..3));
        if self.chance(50) { parameter } else { self.local() }
    }

    fn condition(&mut self) -> Expr {
        match self.random.random_range(0..6) {
            0 => typed(ExprKind::Slot(FOUND), BOOL),
            1 => typed(ExprKind::IsNull(Box::new(slot(self.local()))), BOOL),
            _ => {
                let op = *[CompareOp::Less, CompareOp::Equal, CompareOp::GreaterOrEqual]
                    .choose(self.random)
                    .expect("not empty");
                let number = self.number();
                compare(op, slot(number), int(self.random.random_range(0..6)))
            }
        }
    }

    fn block(&mut self, block: &mut Vec<Statement>) {
        for mut statement in std::mem::take(block) {
            let place = statement.place;
            self.inside(&mut statement);
            let new = match self.random.random_range(0..12) {
                0..=2 if self.loops < 2 => self.unbounded(statement, block),
                3 => self.left(statement),
                _ => statement,
            };
            block.push(new);
            if !self.around.is_empty() && self.chance(30) {
                let leave = self.leave(place);
                block.push(leave);
            }
        }
    }

    /// Goes into a statement; a FOR loop may get something to leave.
    fn inside(&mut self, statement: &mut Statement) {
        let is_for = matches!(
            statement.kind,
            StatementKind::ForRange { .. }
                | StatementKind::ForEach { .. }
                | StatementKind::ForQuery { .. }
                | StatementKind::ForOperators(_)
        );
        let reads = match &statement.kind {
            StatementKind::ForOperators(of) => of.reads.len(), // one statement each
            _ => 0,
        };
        let place = statement.place;
        let exit = (is_for && self.chance(60)).then(|| self.label());
        self.around.extend(exit.map(|label| Around { label, ends_for: true }));
        for inner in walk::blocks_mut(statement).into_iter().skip(reads) {
            let next = (is_for && self.chance(40)).then(|| self.label());
            self.around.extend(next.map(|label| Around { label, ends_for: false }));
            self.block(inner);
            if let Some(label) = next {
                self.around.pop();
                let body = std::mem::take(inner);
                inner.push(at(place, StatementKind::Block { label, body }));
            }
        }
        if let Some(label) = exit {
            self.around.pop();
            let body = vec![std::mem::replace(statement, at(place, StatementKind::Mark(0)))];
            statement.kind = StatementKind::Block { label, body };
        }
    }

    /// EXIT or CONTINUE, mostly with WHEN.
    fn leave(&mut self, place: Place) -> Statement {
        let to = self.random.random_range(0..self.around.len());
        let mut leaving = Vec::new();
        if self.around[to..].iter().any(|around| around.ends_for) {
            let value = typed(ExprKind::Constant(Value::Bool(true)), BOOL);
            leaving.push(at(place, StatementKind::Assign { slot: FOUND, value }));
        }
        leaving.push(at(place, StatementKind::Leave(self.around[to].label)));
        let condition = match self.chance(4) {
            true => typed(ExprKind::Constant(Value::Bool(true)), BOOL),
            false => self.condition(),
        };
        at(place, StatementKind::If { condition, then: leaving, otherwise: Vec::new() })
    }

    /// A labelled block of one statement.
    fn left(&mut self, statement: Statement) -> Statement {
        let (label, place) = (self.label(), statement.place);
        self.around.push(Around { label, ends_for: false });
        let mut body = vec![self.leave(place), statement];
        if self.chance(50) {
            body.swap(0, 1);
        }
        self.around.pop();
        at(place, StatementKind::Block { label, body })
    }

    /// A loop around a statement, of a few turns, in which it does something by the number of the
    /// turn; `out` gets what comes before.
    fn unbounded(&mut self, statement: Statement, out: &mut Vec<Statement>) -> Statement {
        let place = statement.place;
        let (turn, exit) = (self.fresh(), self.label());
        let first = match self.random.random_range(0..5) {
            0 => slot(self.number()),
            _ => int(0),
        };
        // A number that is none would never reach the bound.
        let first = typed(ExprKind::Coalesce(vec![first, int(1)]), INT);
        out.push(at(place, StatementKind::Assign { slot: turn, value: first }));
        self.around.push(Around { label: exit, ends_for: false });
        self.loops += 1;
        let bound = compare(CompareOp::Less, slot(turn), int(self.random.random_range(1..5)));
        let end = match self.random.random_range(0..12) {
            0 => StatementKind::Return(Vec::new()),
            1 => StatementKind::Raise(Raise {
                sqlstate: *b"P0001",
                message: vec!["too far".into()],
                arguments: Vec::new(),
                detail: None,
                hint: None,
                of: None,
                is_again: false,
                parts: Vec::new(),
            }),
            _ => StatementKind::Leave(exit),
        };
        let otherwise = vec![at(place, end)];
        let check = StatementKind::If { condition: bound, then: Vec::new(), otherwise };
        let next = arithmetic(ArithmeticOp::Add, slot(turn), int(1));
        let mut body = vec![
            at(place, check),
            at(place, StatementKind::Assign { slot: turn, value: next }),
            statement,
        ];
        if self.chance(60) {
            body.push(at(place, self.by_turn(turn)));
        }
        if self.chance(50) {
            let leave = self.leave(place);
            body.push(leave);
        }
        if self.chance(20) {
            let local = self.local();
            body.push(at(place, StatementKind::Assign { slot: local, value: slot(turn) }));
        }
        self.loops -= 1;
        self.around.pop();
        let whole = vec![at(place, StatementKind::Loop { body })];
        at(place, StatementKind::Block { label: exit, body: whole })
    }

    /// Reads or changes the row of the turn's number.
    fn by_turn(&mut self, turn: SlotId) -> StatementKind {
        let (id, value, target) = (self.fresh(), self.fresh(), self.local());
        let consume = Consume::First {
            into: vec![(target, slot(value))],
            strict: false,
            order_by: Vec::new(),
            offset: None,
        };
        let effect = match self.chance(50) {
            true => Effect::Update { set: vec![(col(1), slot(turn))], consume },
            false => Effect::Read(consume),
        };
        StatementKind::Access(Box::new(Access {
            table: A,
            path: Path::Point { index: A_KEY, key: vec![slot(turn)] },
            bind: vec![(col(0), id), (col(1), value)],
            filter: None,
            effect,
        }))
    }
}
