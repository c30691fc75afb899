//! Random procedures with blocks whose errors are caught.

use hotrow_transaction::program::*;
use hotrow_transaction::walk;
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use crate::generate::{compare, int, slot};
use crate::world::*;

/// The text that procedures of the generator may assign.
const TEXT_LOCAL: SlotId = SlotId(FIRST_PARAMETER + 10);

/// Protects some statements of a procedure, has some of them raise, and gives them handlers.
pub fn add(procedure: &mut Procedure, random: &mut SmallRng) {
    let mut body = std::mem::take(&mut procedure.body);
    let mut adder = Adder { slots: &mut procedure.slots, random, handlers: 0 };
    adder.block(&mut body, 0);
    procedure.body = body;
}

struct Adder<'a> {
    slots: &'a mut Vec<Slot>,
    random: &'a mut SmallRng,
    /// handlers around a statement
    handlers: usize,
}

fn at(place: Place, kind: StatementKind) -> Statement {
    Statement { kind, place }
}

fn raise(sqlstate: [u8; 5]) -> Raise {
    Raise {
        sqlstate,
        message: vec!["made to fail".into()],
        arguments: Vec::new(),
        detail: None,
        hint: None,
        of: None,
        is_again: false,
        parts: Vec::new(),
    }
}

impl Adder<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    fn local(&mut self) -> SlotId {
        SlotId(FIRST_PARAMETER + self.random.random_range(5..10))
    }

    fn parameter(&mut self) -> SlotId {
        SlotId(FIRST_PARAMETER + self.random.random_range(0..3))
    }

    /// The first `kept` statements stay as they are: what ends a loop is not to be skipped.
    fn block(&mut self, block: &mut Vec<Statement>, kept: usize) {
        for mut statement in std::mem::take(block) {
            if block.len() < kept {
                block.push(statement);
                continue;
            }
            let is_loop = matches!(statement.kind, StatementKind::Loop { .. });
            let reads = match &statement.kind {
                StatementKind::ForOperators(of) => of.reads.len(), // one statement each
                _ => 0,
            };
            for inner in walk::blocks_mut(&mut statement).into_iter().skip(reads) {
                self.block(inner, if is_loop { 2 } else { 0 });
            }
            let new = match self.chance(25) {
                true => self.protected(statement, block, kept),
                false => statement,
            };
            block.push(new);
        }
    }

    /// A statement, perhaps with those before it, protected.
    fn protected(
        &mut self,
        statement: Statement,
        before: &mut Vec<Statement>,
        kept: usize,
    ) -> Statement {
        let place = statement.place;
        let last = before.len().saturating_sub(1).max(kept).min(before.len());
        let first = if self.chance(30) { last } else { before.len() };
        let mut body = before.split_off(first);
        body.push(statement);
        if self.chance(50) {
            let failing = self.failing(place);
            let to = self.random.random_range(0..=body.len());
            body.insert(to, failing);
        }
        self.handlers += 1;
        let handlers = (0..self.random.random_range(1..3)).map(|_| self.handler(place)).collect();
        self.handlers -= 1;
        let told = match self.chance(20) {
            true => vec![(ErrorPart::State, TEXT_LOCAL)],
            false => Vec::new(),
        };
        at(place, StatementKind::Protected(Box::new(Protected { body, handlers, told })))
    }

    /// RAISE under a condition.
    fn failing(&mut self, place: Place) -> Statement {
        let number = if self.chance(50) { self.parameter() } else { self.local() };
        let bound = int(self.random.random_range(0..6));
        let condition = compare(CompareOp::Less, slot(number), bound);
        let code = *[*b"P0001", *b"22012", *b"23505"].choose(self.random).expect("not empty");
        let then = vec![at(place, StatementKind::Raise(raise(code)))];
        at(place, StatementKind::If { condition, then, otherwise: Vec::new() })
    }

    fn handler(&mut self, place: Place) -> Handler {
        let all = [
            Catch::Others,
            Catch::Others,
            Catch::State(*b"P0001"),
            Catch::State(*b"22012"),
            Catch::Class(*b"22"),
            Catch::Class(*b"23"),
        ];
        let count = self.random.random_range(1..3);
        let catches = (0..count).map(|_| *all.choose(self.random).expect("not empty")).collect();
        let mut body = Vec::new();
        for _ in 0..self.random.random_range(0..3) {
            let kind = match self.random.random_range(0..8) {
                0 => {
                    let (slot_of, value) = (self.local(), int(self.random.random_range(0..6)));
                    StatementKind::Assign { slot: slot_of, value }
                }
                1 => {
                    let values = vec![slot(self.local()), int(77)];
                    StatementKind::ReturnNext(values)
                }
                2 if self.chance(30) => StatementKind::Return(Vec::new()),
                3 if self.chance(30) => StatementKind::Raise(Raise {
                    is_again: true,
                    parts: Vec::new(),
                    ..raise(*b"P0001")
                }),
                4 if self.handlers < 3 => {
                    let inner = self.update(place);
                    let inner = self.protected(inner, &mut Vec::new(), 0);
                    inner.kind
                }
                _ => self.update(place).kind,
            };
            body.push(at(place, kind));
        }
        Handler { catches, body }
    }

    /// A change of one row.
    fn update(&mut self, place: Place) -> Statement {
        let name = format!("s{}", self.slots.len());
        let sql_type = self.slots[usize::from(FIRST_PARAMETER)].sql_type;
        self.slots.push(Slot { name, sql_type });
        let id = SlotId(self.slots.len() as u16 - 1);
        let key = if self.chance(70) { self.parameter() } else { self.local() };
        let value = int(self.random.random_range(0..9));
        at(
            place,
            StatementKind::Access(Box::new(Access {
                table: A,
                path: Path::Point { index: A_KEY, key: vec![slot(key)] },
                bind: vec![(col(0), id)],
                filter: None,
                effect: Effect::Update { set: vec![(col(1), value)], consume: Consume::Discard },
            })),
        )
    }
}
