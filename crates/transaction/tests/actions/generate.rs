//! Random procedures: nested conditions and loops over a few tables, with keys from parameters,
//! loop variables and values read.

use std::sync::Arc;

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::constant::special_slots;
use hotrow_transaction::outcome::NoticeLevel;
use hotrow_transaction::program::*;
use hotrow_transaction::walk;
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use crate::operators::Pairs;
use crate::world::*;

const BOOL: DataType = DataType::Boolean;

pub struct Generator<'a> {
    random: &'a mut SmallRng,
    procedure: Procedure,
    /// integers that may be read
    numbers: Vec<SlotId>,
    /// integers that may be assigned
    locals: Vec<SlotId>,
    array: SlotId,
    texts: Vec<SlotId>,
    text_local: SlotId,
    /// statements left to make
    budget: usize,
    line: u32,
    /// how often expressions that may fail are made, in percent
    failing: u32,
}

pub fn typed(kind: ExprKind, data_type: DataType) -> Expr {
    Expr { kind, sql_type: SqlType::Scalar(data_type) }
}

pub fn int(value: i32) -> Expr {
    typed(ExprKind::Constant(Value::Int(value)), INT)
}

pub fn slot(slot: SlotId) -> Expr {
    typed(ExprKind::Slot(slot), INT)
}

pub fn arithmetic(op: ArithmeticOp, a: Expr, b: Expr) -> Expr {
    typed(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), INT)
}

pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    typed(ExprKind::Compare(op, Box::new(a), Box::new(b)), BOOL)
}

impl<'a> Generator<'a> {
    pub fn procedure(random: &'a mut SmallRng) -> Procedure {
        let procedure = Procedure {
            name: "generated".into(),
            parameters: 0,
            defaults: Vec::new(),
            draws: Vec::new(),
            slots: special_slots(),
            body: Vec::new(),
            result: vec![ResultColumn::new("c", INT); 2],
            returns_set: true,
            row_sets: 0,
            row_locks: RowLocks::default(),
            inlined: Vec::new(),
            ends_transaction: false,
            is_variadic: false,
            outs: Vec::new(),
            lacks: None,
            interpreted: None,
            source: None,
            trigger: None,
            later: None,
            needs: Default::default(),
        };
        let budget = random.random_range(2..16);
        let failing = *[0, 3, 15].choose(random).expect("not empty");
        let mut this = Self {
            random,
            procedure,
            numbers: Vec::new(),
            locals: Vec::new(),
            array: SlotId(0),
            texts: Vec::new(),
            text_local: SlotId(0),
            budget,
            line: 0,
            failing,
        };
        for _ in 0..3 {
            let slot = this.slot(SqlType::Scalar(INT));
            this.numbers.push(slot);
        }
        this.array = this.slot(SqlType::Array(INT));
        let text = this.slot(SqlType::Scalar(TEXT));
        this.texts.push(text);
        this.procedure.parameters = 5;
        for _ in 0..5 {
            let slot = this.slot(SqlType::Scalar(INT));
            this.numbers.push(slot);
            this.locals.push(slot);
        }
        if this.chance(15) {
            let parameter = this.numbers[0];
            this.locals.push(parameter);
        }
        this.text_local = this.slot(SqlType::Scalar(TEXT));
        this.texts.push(this.text_local);
        let body = this.block(0);
        this.procedure.body = body;
        this.procedure
    }

    /// Has a procedure that was made here tell what it does, in some of its places.
    pub fn tell(procedure: &mut Procedure, random: &mut SmallRng) {
        let mut body = std::mem::take(&mut procedure.body);
        tell_in(&mut body, random);
        procedure.body = body;
    }

    /// Has a procedure that was made here use columns that nobody changes, in some of its places.
    pub fn use_unchanged(procedure: &mut Procedure, random: &mut SmallRng) {
        let mut body = std::mem::take(&mut procedure.body);
        use_in(&mut body, &mut procedure.slots, random);
        procedure.body = body;
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    fn slot(&mut self, sql_type: SqlType) -> SlotId {
        let name = format!("s{}", self.procedure.slots.len());
        self.procedure.slots.push(Slot { name, sql_type });
        SlotId(self.procedure.slots.len() as u16 - 1)
    }

    fn fresh(&mut self) -> SlotId {
        self.slot(SqlType::Scalar(INT))
    }

    fn pick(&mut self) -> SlotId {
        *self.numbers.choose(self.random).expect("there are parameters")
    }

    fn local(&mut self) -> SlotId {
        *self.locals.choose(self.random).expect("there are locals")
    }

    fn number(&mut self, more: &[SlotId]) -> Expr {
        if !more.is_empty() && self.chance(40) {
            let picked = *more.choose(self.random).expect("not empty");
            return slot(picked);
        }
        if self.random.random_range(0..100) < self.failing {
            let op = *[ArithmeticOp::Divide, ArithmeticOp::Multiply, ArithmeticOp::Subtract]
                .choose(self.random)
                .expect("not empty");
            let (a, b) = (slot(self.pick()), slot(self.pick()));
            return arithmetic(op, a, b);
        }
        match self.random.random_range(0..14) {
            0..=2 => int(self.random.random_range(0..6)),
            3..=8 => slot(self.pick()),
            9 => {
                let (a, b) = (slot(self.pick()), int(self.random.random_range(0..3)));
                let sum = arithmetic(ArithmeticOp::Add, a, b);
                arithmetic(ArithmeticOp::Modulo, sum, int(6))
            }
            10 => {
                let (a, b) = (slot(self.pick()), int(self.random.random_range(0..6)));
                typed(ExprKind::Coalesce(vec![a, b]), INT)
            }
            11 => {
                let condition = self.condition(more);
                let (a, b) = (slot(self.pick()), slot(self.pick()));
                let otherwise = Some(Box::new(b));
                typed(ExprKind::Case { arms: vec![(condition, a)], otherwise }, INT)
            }
            12 => typed(ExprKind::Element(self.array, Box::new(int(1))), INT),
            _ => int(self.random.random_range(0..6)),
        }
    }

    fn condition(&mut self, more: &[SlotId]) -> Expr {
        let found = typed(ExprKind::Slot(FOUND), BOOL);
        match self.random.random_range(0..9) {
            0..=1 => found,
            2 => typed(ExprKind::Not(Box::new(found)), BOOL),
            3 => typed(ExprKind::IsNull(Box::new(slot(self.pick()))), BOOL),
            4 => {
                let (a, b) = (self.simple(more), self.simple(more));
                typed(ExprKind::And(Box::new(a), Box::new(b)), BOOL)
            }
            5 if self.failing > 0 => {
                let a = self.number(more);
                compare(CompareOp::Less, a, int(3))
            }
            _ => self.simple(more),
        }
    }

    fn simple(&mut self, more: &[SlotId]) -> Expr {
        let op = *[CompareOp::Less, CompareOp::Equal, CompareOp::GreaterOrEqual]
            .choose(self.random)
            .expect("not empty");
        let a = match more.choose(self.random) {
            Some(&bound) if self.random.random_ratio(1, 2) => bound,
            _ => self.pick(),
        };
        compare(op, slot(a), int(self.random.random_range(0..6)))
    }

    fn statement(&mut self, kind: StatementKind) -> Statement {
        self.line += 1;
        Statement { kind, place: Place { line: self.line, column: 1 } }
    }

    fn block(&mut self, depth: usize) -> Vec<Statement> {
        let count = self.random.random_range(1..if depth == 0 { 9 } else { 4 });
        let mut block = Vec::new();
        for _ in 0..count {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let kind = self.kind(depth);
            block.push(self.statement(kind));
        }
        block
    }

    fn kind(&mut self, depth: usize) -> StatementKind {
        let deep = depth >= 3;
        match self.random.random_range(0..31) {
            0..=3 => self.assign(),
            4..=11 => self.read(),
            12..=15 => self.update(),
            16 => self.delete(),
            17..=19 => self.insert(),
            20..=24 if !deep => {
                let condition = self.condition(&[]);
                let then = self.block(depth + 1);
                let otherwise = if self.chance(40) { self.block(depth + 1) } else { Vec::new() };
                StatementKind::If { condition, then, otherwise }
            }
            25..=26 if !deep => self.for_range(depth),
            27 if !deep => {
                let variable = self.fresh();
                self.numbers.push(variable);
                let body = self.block(depth + 1);
                self.numbers.retain(|&slot| slot != variable);
                StatementKind::ForEach {
                    slot: variable,
                    elements: Elements::Array(self.array),
                    body,
                }
            }
            28 if !deep && self.chance(60) => self.for_query(depth),
            28 if !deep => self.for_operators(depth),
            29 => {
                let values = vec![slot(self.pick()), self.number(&[])];
                StatementKind::ReturnNext(values)
            }
            30 if depth > 0 => match self.random.random_range(0..3) {
                0 => StatementKind::Return(Vec::new()),
                _ => StatementKind::Raise(Raise {
                    sqlstate: *b"P0001",
                    message: vec!["value ".into(), String::new()],
                    arguments: vec![slot(self.pick())],
                    detail: None,
                    hint: None,
                    of: None,
                    is_again: false,
                    parts: Vec::new(),
                }),
            },
            _ => self.assign(),
        }
    }

    fn assign(&mut self) -> StatementKind {
        if self.chance(10) {
            let text = *self.texts.choose(self.random).expect("not empty");
            let value = typed(ExprKind::Slot(text), TEXT);
            return StatementKind::Assign { slot: self.text_local, value };
        }
        let slot = self.local();
        StatementKind::Assign { slot, value: self.number(&[]) }
    }

    fn for_range(&mut self, depth: usize) -> StatementKind {
        let variable = self.fresh();
        let to = match self.random.random_range(0..3) {
            0 => slot(self.pick()),
            _ => int(self.random.random_range(0..4)),
        };
        self.numbers.push(variable);
        let body = self.block(depth + 1);
        if !self.chance(5) {
            self.numbers.retain(|&slot| slot != variable);
        }
        StatementKind::ForRange {
            slot: variable,
            from: int(self.random.random_range(0..2)),
            to,
            step: int(1),
            reverse: false,
            body,
        }
    }

    /// A path with what it binds: table, path, columns that may be set.
    fn path(&mut self) -> (hotrow_base::ids::TableId, Path) {
        let mut key = || self.number(&[]);
        let (first, second) = (key(), key());
        match self.random.random_range(0..16) {
            0..=4 => (A, Path::Point { index: A_KEY, key: vec![first] }),
            5..=7 => (B, Path::Point { index: B_KEY, key: vec![first, second] }),
            8 | 9 => (B, self.range(B_KEY, vec![first])),
            10 => (C, Path::Point { index: C_U, key: vec![first] }),
            11 => (C, Path::Point { index: C_KEY, key: vec![first] }),
            12 => (D, self.range(D_HV, vec![first])),
            13 => (D, Path::Point { index: D_KEY, key: vec![first] }),
            14 => (A, self.range(A_KEY, Vec::new())),
            _ => (C, Path::Whole),
        }
    }

    fn range(&mut self, index: hotrow_base::ids::IndexId, prefix: Vec<Expr>) -> Path {
        let mut end = || {
            let value = self.number(&[]);
            let inclusive = self.chance(50);
            self.chance(40).then_some(RangeEnd { value, inclusive })
        };
        let (lower, upper) = (end(), end());
        Path::Range { index, prefix, lower, upper, descending: self.chance(30) }
    }

    /// Binds all integer columns to fresh slots.
    fn bind(
        &mut self,
        table: hotrow_base::ids::TableId,
    ) -> Vec<(hotrow_base::ids::ColumnId, SlotId)> {
        let columns = if table == A { 0..2 } else { 0..3 };
        columns.map(|column| (col(column), self.fresh())).collect()
    }

    fn read(&mut self) -> StatementKind {
        let (table, path) = self.path();
        let bind = self.bind(table);
        let bound: Vec<_> = bind.iter().map(|&(_, slot)| slot).collect();
        let filter = self.chance(20).then(|| self.simple(&bound));
        let ordered = !matches!(path, Path::Whole);
        let consume = match self.random.random_range(0..10) {
            0..=5 => self.first(&bound, !ordered),
            6 => Consume::Discard,
            7 | 8 => self.aggregate(&bound),
            _ if ordered => {
                let columns = vec![slot(bound[0]), self.number(&bound)];
                Consume::all_rows(RowsTo::Result, columns)
            }
            _ => self.aggregate(&bound),
        };
        let effect = Effect::Read(consume);
        let mut access = Access { table, path, bind, filter, effect };
        if table == A && self.chance(30) {
            let name = self.slot(SqlType::Scalar(TEXT));
            access.bind.push((col(2), name));
            if let Effect::Read(Consume::First { into, .. }) = &mut access.effect {
                into.push((self.text_local, typed(ExprKind::Slot(name), TEXT)));
            }
        }
        StatementKind::Access(Box::new(access))
    }

    fn first(&mut self, bound: &[SlotId], by_key: bool) -> Consume {
        let target = self.local();
        let mut into = vec![(target, self.number(bound))];
        let other = self.local();
        if other != target && self.chance(30) {
            into.push((other, slot(bound[1])));
        }
        let key = OrderKey { value: slot(bound[0]), descending: false, nulls_first: false };
        Consume::First {
            into,
            strict: self.chance(8),
            order_by: if by_key { vec![key] } else { Vec::new() },
            offset: None,
        }
    }

    fn aggregate(&mut self, bound: &[SlotId]) -> Consume {
        let result = self.fresh();
        let function = match self.chance(50) {
            true => AggregateFunction::Max,
            false => AggregateFunction::Min,
        };
        let argument = Some(slot(*bound.last().expect("something is bound")));
        let aggregates = vec![Aggregate { function, argument, distinct: false, result }];
        Consume::Aggregate { aggregates, into: vec![(self.local(), slot(result))] }
    }

    fn update(&mut self) -> StatementKind {
        let (table, path) = self.path();
        let bind = self.bind(table);
        let bound: Vec<_> = bind.iter().map(|&(_, slot)| slot).collect();
        let filter = self.chance(20).then(|| self.simple(&bound));
        let column = match table {
            A => 1,
            C | D if self.chance(60) => 1,
            _ => 2,
        };
        // Unique values must not depend on the order in which rows are changed.
        let value = self.number(&bound);
        let mut set = vec![(col(column), value)];
        if table == A && self.chance(30) {
            let text = *self.texts.choose(self.random).expect("not empty");
            set.push((col(2), typed(ExprKind::Slot(text), TEXT)));
        }
        let point = matches!(path, Path::Point { .. });
        let consume = match point && self.chance(40) {
            true => self.first(&bound, false),
            false => Consume::Discard,
        };
        let effect = Effect::Update { set, consume };
        StatementKind::Access(Box::new(Access { table, path, bind, filter, effect }))
    }

    fn delete(&mut self) -> StatementKind {
        let (table, path) = self.path();
        let bind = self.bind(table);
        let bound: Vec<_> = bind.iter().map(|&(_, slot)| slot).collect();
        let filter = self.chance(30).then(|| self.simple(&bound));
        let consume = match matches!(path, Path::Point { .. }) && self.chance(30) {
            true => self.first(&bound, false),
            false => Consume::Discard,
        };
        let effect = Effect::Delete { consume };
        StatementKind::Access(Box::new(Access { table, path, bind, filter, effect }))
    }

    fn insert(&mut self) -> StatementKind {
        let table = *[A, B, B, C, D, LOG, LOG].choose(self.random).expect("not empty");
        let mut values: Vec<_> = (0..3).map(|_| self.number(&[])).collect();
        if table == A {
            let text = *self.texts.choose(self.random).expect("not empty");
            values[2] = typed(ExprKind::Slot(text), TEXT);
        }
        let keys = match table {
            A | C | D => 1,
            B => 2,
            _ => 0,
        };
        for key in &mut values[..keys] {
            // New keys, and some that are there.
            if self.random.random_ratio(3, 4) {
                let old = std::mem::replace(key, int(0));
                let new = arithmetic(ArithmeticOp::Add, old, int(6));
                *key = typed(ExprKind::Coalesce(vec![new, int(9)]), INT);
            }
        }
        let returning = match self.chance(20) {
            true => vec![(self.local(), col(0))],
            false => Vec::new(),
        };
        let ignore_conflict = self.chance(50);
        StatementKind::Insert(Box::new(Insert { table, values, returning, ignore_conflict }))
    }

    fn for_query(&mut self, depth: usize) -> StatementKind {
        let (rows, query) = self.read_rows();
        let into = vec![self.fresh(), self.fresh()];
        self.numbers.extend(&into);
        let body = self.block(depth + 1);
        self.numbers.retain(|slot| !into.contains(slot));
        StatementKind::ForQuery { rows, query: Box::new(query), into, body }
    }
}

impl Generator<'_> {
    /// A loop over pairs of rows, the second of which is found by a value of the first.
    fn for_operators(&mut self, depth: usize) -> StatementKind {
        let first = self.operator_read(Vec::new());
        let key = self.fresh();
        // Mostly nothing but the first row tells which the second one is.
        let numbers = match self.chance(70) {
            true => std::mem::replace(&mut self.numbers, vec![key]),
            false => self.numbers.clone(),
        };
        let second = self.operator_read(vec![key]);
        self.numbers = numbers;
        let takes = vec![self.pick()];
        let rows = RowSetId(self.procedure.row_sets);
        self.procedure.row_sets += 1;
        let into: Vec<_> = (0..3).map(|_| self.fresh()).collect();
        self.numbers.extend(&into);
        let body = self.block(depth + 1);
        self.numbers.retain(|slot| !into.contains(slot));
        let fails_at = if self.chance(20) { 3 } else { -1 };
        StatementKind::ForOperators(Box::new(OperatorLoop {
            source: RowSource::Operators(Arc::new(Pairs { fails_at })),
            takes,
            reads: vec![first, second],
            rows,
            into,
            body,
            sets_found: self.chance(70),
        }))
    }

    /// An access whose rows, of two columns, go to a row set of their own.
    fn read_rows(&mut self) -> (RowSetId, Access) {
        let (table, path) = self.path();
        let bind = self.bind(table);
        let rows = RowSetId(self.procedure.row_sets);
        self.procedure.row_sets += 1;
        let columns: Vec<_> = bind.iter().take(2).map(|&(_, bound)| slot(bound)).collect();
        let key = OrderKey { value: columns[0].clone(), descending: false, nulls_first: false };
        let order_by = if matches!(path, Path::Whole) { vec![key] } else { Vec::new() };
        let to = RowsTo::Loop(rows);
        let (distinct, limit, offset) = (false, None, None);
        let counted = None;
        let consume = Consume::Rows { to, columns, distinct, order_by, limit, offset, counted };
        let effect = Effect::Read(consume);
        (rows, Access { table, path, bind, filter: None, effect })
    }

    fn operator_read(&mut self, parameters: Vec<SlotId>) -> OperatorRead {
        let (rows, access) = self.read_rows();
        let kind = StatementKind::Access(Box::new(access));
        let body = vec![Statement { kind, place: Place { line: self.line, column: 2 } }];
        let columns = vec![INT, INT];
        OperatorRead { parameters, body, gives: Gives::Rows { rows, columns } }
    }
}

fn use_in(block: &mut Vec<Statement>, slots: &mut Vec<Slot>, random: &mut SmallRng) {
    for statement in std::mem::take(block) {
        if random.random_ratio(1, 3) {
            let access = unchanged_access(slots, random);
            let kind = StatementKind::Access(Box::new(access));
            block.push(Statement { kind, place: statement.place });
        }
        block.push(statement);
        let last = block.last_mut().expect("it has just come");
        let reads = match &last.kind {
            StatementKind::ForOperators(of) => of.reads.len(), // one statement each
            _ => 0,
        };
        let inner = walk::blocks_mut(last).into_iter().skip(reads);
        inner.for_each(|inner| use_in(inner, slots, random));
    }
}

/// Reads or changes a row of `e`, and puts what it finds where other accesses take their keys from.
fn unchanged_access(slots: &mut Vec<Slot>, random: &mut SmallRng) -> Access {
    let mut fresh = |data_type| {
        let name = format!("s{}", slots.len());
        slots.push(Slot { name, sql_type: SqlType::Scalar(data_type) });
        SlotId(slots.len() as u16 - 1)
    };
    let (id, n, v, name) = (fresh(INT), fresh(INT), fresh(INT), fresh(TEXT));
    let local = |random: &mut SmallRng| SlotId(FIRST_PARAMETER + random.random_range(5..10));
    let first = local(random);
    let text_local = SlotId(FIRST_PARAMETER + 10);
    let mut into = vec![(first, slot(n))];
    let (other, third) = (local(random), local(random));
    if other != first && random.random_ratio(2, 5) {
        into.push((other, slot(v)));
    }
    if random.random_ratio(1, 5) {
        into.push((text_local, typed(ExprKind::Slot(name), TEXT)));
    }
    if third != first && third != other && random.random_ratio(1, 4) {
        // Another value of the same access decides which column it is.
        let condition = compare(CompareOp::Less, slot(first), int(3));
        let otherwise = Some(Box::new(slot(n)));
        into.push((
            third,
            typed(ExprKind::Case { arms: vec![(condition, slot(id))], otherwise }, INT),
        ));
    }
    let key = vec![match random.random_range(0..4) {
        0 => slot(local(random)),
        1 => slot(first),
        _ => slot(SlotId(FIRST_PARAMETER + random.random_range(0..3))),
    }];
    let index = if random.random_ratio(1, 3) { E_U } else { E_KEY };
    let strict = random.random_ratio(1, 12);
    let consume = Consume::First { into, strict, order_by: Vec::new(), offset: None };
    let effect = match random.random_ratio(3, 5) {
        true => {
            let sum = arithmetic(ArithmeticOp::Add, slot(v), slot(SlotId(FIRST_PARAMETER)));
            let value = arithmetic(ArithmeticOp::Modulo, sum, int(6));
            Effect::Update { set: vec![(col(3), value)], consume }
        }
        false => Effect::Read(consume),
    };
    let bind = vec![(col(0), id), (col(2), n), (col(3), v), (col(4), name)];
    let mut access =
        Access { table: E, path: Path::Point { index, key }, bind, filter: None, effect };
    let exprs = walk::row_exprs(&access);
    let used = |slot: SlotId| exprs.iter().any(|expr| walk::reads_any(expr, |read| read == slot));
    let bind = access.bind.iter().filter(|(_, slot)| used(*slot)).copied().collect();
    access.bind = bind;
    access
}

fn tell_in(block: &mut Vec<Statement>, random: &mut SmallRng) {
    for statement in std::mem::take(block) {
        if random.random_ratio(1, 4) {
            let said = match random.random_range(0..8) {
                parameter @ 0..3 => parameter,
                local => local + 2,
            };
            let raise = Raise {
                sqlstate: *b"00000",
                message: vec![format!("{said} is "), String::new()],
                arguments: vec![slot(SlotId(FIRST_PARAMETER + said))],
                detail: None,
                hint: None,
                of: None,
                is_again: false,
                parts: Vec::new(),
            };
            let kind = StatementKind::Notice(NoticeLevel::Notice, raise);
            block.push(Statement { kind, place: statement.place });
        }
        block.push(statement);
        let last = block.last_mut().expect("it has just come");
        walk::blocks_mut(last).into_iter().for_each(|inner| tell_in(inner, random));
    }
}
