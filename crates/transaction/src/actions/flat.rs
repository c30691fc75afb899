//! Flat calls: their record actions wait for nothing but their turns.
//!
//! Role         the short way from a call to its actions, for procedures whose accesses all go to
//!              one record by a key that parameters decide, take nothing that rows decide, and end
//!              nothing that has begun to write. No value goes from action to action then, and
//!              nothing needs to be formed: planning hands each action to a [`FlatSink`] as the
//!              driver reaches it, and keeps in a [`Batch`] what is known of the call. What is left
//!              of the procedure, its **tail**, works on values alone and runs when all actions
//!              have
//! Invariants   I1 the actions of a call, each run when all of the call's earlier ones on its
//!              granule have, and then the tail, have the outcome of the procedure run from start
//!              to end
//!              I2 the tail reaches the marks of actions in the order in which planning did
//! Source       queues per granule and nothing else: the form of deterministic queue-oriented
//!              systems, as a shortcut of lads.txt's graphs
//!
//! Measured (callgrind, `examples/plan_count.rs`, YCSB of 20 operations, half of them reads): 8,800
//! instructions per call for keys and footprint, 42,300 for actions in their general form.

use hotrow_base::datum::Datum;
use hotrow_base::ids::{IndexId, TableId};
use hotrow_base::pool::NONE;
use hotrow_base::row::Field;

use super::batch::Batch;
use super::cut::Step;
use super::leaf::Leaf;
use super::program::Kept;
use crate::access::{Inserted, Intent, KeyAt, NoRows, Reads, RecordAccess};
use crate::bytecode::{BindKind, BumpCode, Op, PathCode, Program};
use crate::catalog::Catalog;
use crate::frame::Frame;
use crate::granule::{LockMode, Space};
use crate::interpret::{self, Hook, PlannedKey};
use crate::invocation::Invocation;
use crate::lower;
use crate::outcome::Stop;
use crate::plan::PlanProgram;
use crate::plan::{PackedKey, SingleMark};
use crate::program::{FOUND, Procedure, ROW_COUNT, SlotId, Statement, StatementKind};
use crate::slice::{OWN_MARK, Slice};
use crate::walk;

/// A procedure whose calls may be flat.
#[derive(Clone, Debug)]
pub struct FlatProgram {
    /// by leaf: how it is run, if it reaches records
    leaves: Vec<Option<FlatLeaf>>,
    /// the leaf of each access site
    leaf_of: Vec<u16>,
    /// the driver, with one mark per action and no others, which has the leaf's number
    plan: Program,
    /// the procedure with marks in place of its accesses
    tail: Program,
    /// there is something in the tail that matters: a result, an error
    pub has_tail: bool,
    /// the tail says how many rows the call has touched, where that is a sum over statements;
    /// else its last action does
    pub tail_counts: bool,
    /// some leaf changes records
    pub writes: bool,
}

/// A leaf that reaches one record.
#[derive(Clone, Debug)]
pub struct FlatLeaf {
    entry: u16,
    /// the index through which it reaches its record
    pub index: IndexId,
    /// slots that it reads, besides its key: they are captured when the call is planned
    captured: Box<[(SlotId, Kept)]>,
    /// slots that it makes and that the tail reads
    pub outputs: Box<[SlotId]>,
    /// how those are kept
    made: Box<[Kept]>,
    /// changes records
    pub writes: bool,
    /// what it does, if that is so little that it needs no interpreter
    pub simple: Option<Simple>,
    table: TableId,
    reads: Reads,
    intent: Intent,
    mark: SingleMark,
}

/// What most leaves of contended procedures do to the record that they have found: actions on one
/// record that follow one another find it once.
#[derive(Clone, Debug)]
pub enum Simple {
    /// add to an integer column, or something like that
    Bump(BumpCode, Operand),
    /// read columns, output by output
    Read(Box<[Reading]>),
}

/// What a [`Simple::Bump`] changes its column by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// always this
    Constant(i64),
    /// the captured value with this number
    Captured(usize),
}

impl Operand {
    /// Its value, if that is not NULL. `captured`: the captured value with a number.
    #[inline]
    pub fn value(self, captured: impl Fn(usize) -> Datum) -> Option<i64> {
        match self {
            Self::Constant(value) => Some(value),
            Self::Captured(number) => {
                let value = captured(number);
                (!value.is_null()).then(|| value.as_int())
            }
        }
    }
}

/// What a [`Simple::Read`] puts out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// an integer column
    Int(Field),
    /// a numeric column
    Numeric(Field),
    /// that there is a row
    Found,
    /// that it is one
    Count,
}

/// An action that planning has reached.
#[derive(Clone, Copy, Debug)]
pub struct FlatAction<'a> {
    /// which leaf it runs
    pub leaf: u16,
    /// its key, whole
    pub key: &'a [u8],
    /// the key's hash
    pub hash: u64,
    /// identity of the granule's lock
    pub lock: u64,
    /// where in the batch the values are that it captures
    pub captured: Captured,
}

/// The place in a batch of the values that a flat action captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Captured(u32);

impl Captured {
    /// One of the values, without its bytes.
    #[inline]
    pub fn value(self, batch: &Batch, number: usize) -> Datum {
        batch.known[self.0 as usize + number]
    }
}

/// Takes the actions of a call.
pub trait FlatSink {
    /// Takes the next action. False: it has no room for such an action, and the call is not to be
    /// flat.
    fn take(&mut self, action: FlatAction<'_>, leaf: &FlatLeaf) -> bool;
}

/// What an action has handed to the tail.
pub trait FlatOutcomes {
    /// Puts what the next action has made into the frame; why it failed, if it did.
    fn next(&mut self, leaf: &FlatLeaf, frame: &mut Frame) -> Result<(), Stop>;
}

impl FlatProgram {
    /// That of a procedure which has been cut into leaves; none if its calls cannot be flat.
    pub(super) fn new(
        catalog: &Catalog,
        (procedure, slice): (&Procedure, &Slice),
        (program, driver): (&Program, &PlanProgram),
        steps: &[Step],
        (leaves, parts, kept): (&[Leaf], &[Vec<Statement>], &[Kept]),
    ) -> Option<Self> {
        let writes = leaves.iter().any(|leaf| leaf.writes);
        let decides = writes && leaves.iter().any(|leaf| leaf.decides);
        if driver.needs_reconnaissance || decides {
            return None;
        }
        let tail_counts = tail_counts(&procedure.body)?;
        let mut plan = slice.procedure.clone();
        let mut marks = vec![NONE; leaves.len()];
        if !join_marks(&mut plan.body, (steps, leaves), &mut marks) {
            return None;
        }
        let mut is_read = vec![false; kept.len()];
        for leaf in leaves.iter().filter(|leaf| leaf.site.is_none()) {
            leaf.inputs.iter().for_each(|input| is_read[input.slot.index()] = true);
            leaf.guards.iter().for_each(|guard| is_read[guard.slot.index()] = true);
        }
        let mut leaf_of = Vec::new();
        let mut flat = Vec::with_capacity(leaves.len());
        for ((number, leaf), part) in (0..).zip(leaves).zip(parts) {
            let Some(_) = leaf.site else {
                flat.push(None);
                continue;
            };
            let mark = driver.marks.get(marks[usize::from(number)] as usize)?.single()?;
            let own = FlatLeaf::new(catalog, program, leaf, (part, mark), (kept, &is_read))?;
            leaf_of.push(number);
            flat.push(Some(own));
        }
        let pure = leaves.iter().filter(|leaf| leaf.site.is_none());
        let has_tail = pure.clone().any(|leaf| leaf.stops || leaf.returns);
        let mut tail = procedure.clone();
        let mut site = 0;
        replace_accesses(&mut tail.body, &mut site);
        Some(Self {
            leaves: flat,
            leaf_of,
            plan: lower::lower(catalog, &plan).ok()?,
            tail: lower::lower(catalog, &tail).ok()?,
            has_tail: has_tail || tail_counts || !procedure.result.is_empty(),
            tail_counts,
            writes,
        })
    }

    /// A leaf that reaches a record.
    #[inline]
    pub fn leaf(&self, number: u16) -> &FlatLeaf {
        self.leaves[number as usize].as_ref().expect("it was handed to a sink")
    }

    /// How many leaves the procedure has.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// The code of the tail, whose result the frame has afterwards.
    pub fn tail(&self) -> &Program {
        &self.tail
    }

    /// Runs the tail of a call.
    ///
    /// # Errors
    ///
    /// As [`interpret::run`], or that of the first action that failed.
    pub fn run_tail(
        &self,
        invocation: &Invocation,
        frame: &mut Frame,
        outcomes: &mut impl FlatOutcomes,
    ) -> Result<(), Stop> {
        frame.begin(&self.tail, invocation);
        let mut hook = Outcomes { flat: self, outcomes };
        interpret::run(&self.tail, 0, frame, &mut NoRows, &mut hook)
    }
}

/// Whether the number of rows that a call has touched is assigned, as its last statement; none if
/// it is assigned elsewhere only, so that neither the tail nor the last action knows it.
fn tail_counts(body: &[Statement]) -> Option<bool> {
    let assigns = |statement: &Statement| {
        let StatementKind::Assign { .. } = &statement.kind else { return false };
        let mut is_count = false;
        walk::defines(statement, &mut |slot| is_count |= slot == ROW_COUNT);
        is_count
    };
    if body.last().is_some_and(assigns) {
        return Some(true);
    }
    let mut is_assigned = false;
    walk::statements(body, &mut |statement| is_assigned |= assigns(statement));
    (!is_assigned).then_some(false)
}

impl FlatLeaf {
    fn new(
        catalog: &Catalog,
        program: &Program,
        leaf: &Leaf,
        (part, mark): (&[Statement], SingleMark),
        (kept, is_read): (&[Kept], &[bool]),
    ) -> Option<Self> {
        let [statement] = part else { return None };
        let known = leaf.inputs.iter().all(|input| input.known);
        if !known || !leaf.guards.is_empty() || leaf.returns {
            return None;
        }
        let mut captured = Vec::new();
        let (index, table, reads, intent);
        let mut capture = |slot: SlotId| {
            if !captured.contains(&slot) {
                captured.push(slot);
            }
        };
        match &statement.kind {
            StatementKind::Access(access) => {
                let code = &program.access[leaf.site? as usize];
                let PathCode::Point(key) = &code.path else { return None };
                if !key.is_plain {
                    return None;
                }
                (index, table, reads, intent) = (key.index, code.table, code.reads, code.intent);
                let mut own = Vec::new();
                walk::access_defines(access, &mut |slot| own.push(slot));
                let exprs = walk::row_exprs(access);
                exprs.into_iter().for_each(|expr| walk::expr_slots(expr, &mut capture));
                walk::private_slots(access, &mut |slot| own.push(slot));
                captured.retain(|slot| !own.contains(slot));
            }
            StatementKind::Insert(insert) => {
                index = catalog.table(insert.table).primary?;
                (table, reads, intent) = (insert.table, Reads::Rows, Intent::Write);
                walk::uses(statement, &mut capture);
            }
            _ => return None,
        }
        if captured.iter().any(|slot| matches!(kept[slot.index()], Kept::Array(_))) {
            return None;
        }
        let is_needed = |slot: &&SlotId| is_read[slot.index()];
        let outputs: Box<[_]> = leaf.outputs.iter().filter(is_needed).copied().collect();
        Some(Self {
            mark,
            simple: Simple::of(program, leaf, &captured, &outputs),
            table,
            reads,
            intent,
            entry: leaf.entry,
            index,
            captured: captured.iter().map(|&slot| (slot, kept[slot.index()])).collect(),
            made: outputs.iter().map(|slot| kept[slot.index()]).collect(),
            outputs,
            writes: leaf.writes,
        })
    }

    /// The lock space of its granule, and how that is used.
    #[inline]
    pub fn granule(&self) -> (Space, LockMode) {
        (self.mark.space, self.mark.mode)
    }

    /// The table of its record.
    #[inline]
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Puts the values that an action captures into a frame.
    #[inline]
    pub fn give(&self, batch: &Batch, Captured(first): Captured, frame: &mut Frame) {
        for (known, &(slot, kept)) in (first..).zip(&self.captured) {
            let datum = batch.give(known, kept, &mut frame.machine);
            frame.set_slot(slot, datum);
        }
    }

    /// Whether an output has bytes.
    #[inline]
    pub fn makes_bytes(&self, number: usize) -> bool {
        self.made[number] == Kept::Bytes
    }

    /// Finds the record that a [simple](FlatLeaf::simple) leaf works on.
    ///
    /// # Errors
    ///
    /// As [`RecordAccess::find`].
    #[inline]
    pub fn find<A: RecordAccess>(
        &self,
        (key, hash): (&[u8], u64),
        access: &mut A,
    ) -> Result<Option<A::Record>, Stop> {
        let Self { table, index, reads, intent, .. } = *self;
        access.find(&KeyAt { table, index, key, hash, entry: Some(0), reads }, intent)
    }

    /// Does what a simple leaf does. `captured`: the captured value with a number; `make` gets each
    /// output. Whether it is done; if not, nothing is, and [`FlatLeaf::run`] tells what is the
    /// matter.
    ///
    /// # Errors
    ///
    /// As [`RecordAccess::update`].
    #[inline]
    pub fn run_simple<A: RecordAccess>(
        &self,
        simple: &Simple,
        record: A::Record,
        access: &mut A,
        captured: impl Fn(usize) -> Datum,
        mut make: impl FnMut(usize, Datum),
    ) -> Result<bool, Stop> {
        match simple {
            Simple::Bump(bump, operand) => {
                let row = access.row(self.table, record);
                let Some(operand) = operand.value(captured) else { return Ok(false) };
                if bump.field.is_null(row) {
                    return Ok(false);
                }
                let Some(value) = bump.apply(bump.field.read_int(row), operand) else {
                    return Ok(false);
                };
                Ok(access.update_int(self.table, record, bump.field, value)? == Inserted::Yes)
            }
            Simple::Read(readings) => {
                let row = access.row(self.table, record);
                for (number, reading) in readings.iter().enumerate() {
                    let datum = match *reading {
                        Reading::Int(field) => Datum::int(field.read_int(row)),
                        Reading::Numeric(field) => Datum::numeric(field.read_int(row).into()),
                        Reading::Found => Datum::TRUE,
                        Reading::Count => Datum::int(1),
                    };
                    make(number, datum);
                }
                Ok(true)
            }
        }
    }

    /// Runs the leaf in a frame that has the leaves' code and the captured values. `key`: as it was
    /// planned.
    ///
    /// # Errors
    ///
    /// As [`interpret::run`].
    #[inline]
    pub fn run<A: RecordAccess>(
        &self,
        program: &Program,
        key: (&[u8], u64),
        frame: &mut Frame,
        access: &mut A,
    ) -> Result<(), Stop> {
        let mut hook = OneKey { key: Some(key) };
        interpret::run(program, self.entry.into(), frame, access, &mut hook)
    }
}

impl Simple {
    /// What a leaf's code comes to, if it is that simple.
    fn of(program: &Program, leaf: &Leaf, captured: &[SlotId], outputs: &[SlotId]) -> Option<Self> {
        let entry = &program.entries[usize::from(leaf.entry)];
        let code = &program.code[entry.start as usize..entry.end as usize];
        let access = &program.access[usize::from(leaf.site?)];
        match *code {
            [Op::Bump { .. }, Op::End, ..] => {
                let bump = access.bump?;
                if !outputs.is_empty() {
                    return None;
                }
                let operand = match captured.iter().position(|captured| captured.0 == bump.slot) {
                    Some(number) => Operand::Captured(number),
                    None => {
                        let constant = *program.image.get(usize::from(bump.slot))?;
                        if constant.is_null() {
                            return None;
                        }
                        Operand::Constant(constant.as_int())
                    }
                };
                Some(Self::Bump(bump, operand))
            }
            [Op::Point { .. }, Op::End, ..] => {
                let reading = |output: &SlotId| match *output {
                    FOUND => Some(Reading::Found),
                    ROW_COUNT => Some(Reading::Count),
                    SlotId(slot) => {
                        let bind = access.binds.iter().find(|bind| bind.slot == slot)?;
                        match bind.kind {
                            BindKind::Int => Some(Reading::Int(bind.field)),
                            BindKind::Numeric => Some(Reading::Numeric(bind.field)),
                            BindKind::Any => None,
                        }
                    }
                };
                let readings: Option<_> = outputs.iter().map(reading).collect();
                Some(Self::Read(readings?))
            }
            _ => None,
        }
    }
}

/// Puts marks, numbered as sites, in the place of accesses.
fn replace_accesses(block: &mut [Statement], site: &mut u32) {
    for statement in block {
        if walk::own_site(statement).is_some() {
            statement.kind = StatementKind::Mark(OWN_MARK | *site);
            *site += 1;
            continue;
        }
        for nested in walk::blocks_mut(statement) {
            replace_accesses(nested, site);
        }
    }
}

/// Leaves one mark for each action, with the leaf's number, of the mark of its granule and that of
/// its leaf; `marks` gets the former's number, by leaf. Others go: what they record is for the
/// tail. False: some leaf has not exactly one granule's mark.
fn join_marks(
    block: &mut Vec<Statement>,
    (steps, leaves): (&[Step], &[Leaf]),
    marks: &mut [u32],
) -> bool {
    let mut last = None;
    let mut joined = Vec::with_capacity(block.len());
    for mut statement in std::mem::take(block) {
        let id = match statement.kind {
            StatementKind::Mark(id) if id & OWN_MARK == 0 => {
                if last.replace(id).is_some() {
                    return false;
                }
                continue;
            }
            StatementKind::Mark(id) => id & !OWN_MARK,
            _ => {
                let mut nested = walk::blocks_mut(&mut statement).into_iter();
                if !nested.all(|nested| join_marks(nested, (steps, leaves), marks)) {
                    return false;
                }
                joined.push(statement);
                continue;
            }
        };
        if let Step::Leaf(number) = steps[id as usize]
            && leaves[usize::from(number)].site.is_some()
        {
            let Some(mark) = last.take() else { return false };
            marks[usize::from(number)] = mark;
            statement.kind = StatementKind::Mark(number.into());
            joined.push(statement);
        }
    }
    *block = joined;
    last.is_none()
}

impl FlatProgram {
    /// Plans a call, and adds it to a batch if it is flat; whether it is. If not, what the sink was
    /// given is of no use.
    pub fn plan(
        &self,
        batch: &mut Batch,
        invocation: &Invocation,
        frame: &mut Frame,
        sink: &mut impl FlatSink,
    ) -> bool {
        let begun = batch.begin();
        frame.begin(&self.plan, invocation);
        let mut taking = Taking { flat: self, batch: &mut *batch, sink };
        let is_flat = interpret::run(&self.plan, 0, frame, &mut NoRows, &mut taking).is_ok();
        match is_flat {
            true => batch.add_empty(),
            false => batch.cut_back(&begun),
        }
        is_flat
    }
}

/// Ends the planning of a call that is not flat.
const NOT_FLAT: Stop = Stop::Replan;

/// The hook that turns marks into actions.
struct Taking<'a, S> {
    flat: &'a FlatProgram,
    batch: &'a mut Batch,
    sink: &'a mut S,
}

impl<S: FlatSink> Hook for Taking<'_, S> {
    const PLANNED: bool = false;
    const FORGIVES: bool = true;

    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        None
    }

    // A call of its own costs 40 instructions an access, a thirtieth of a short call.
    #[inline(always)]
    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop> {
        let number = id as u16;
        let leaf = self.flat.leaf(number);
        let mut bytes = PackedKey::default();
        // A key with a NULL matches nothing.
        let Some((key, hash)) = leaf.mark.pack(frame, &mut bytes) else { return Err(NOT_FLAT) };
        let lock = leaf.mark.lock_id(hash);
        let captured = Captured(self.batch.known.len() as u32);
        self.batch.capture(&leaf.captured, frame);
        let action = FlatAction { leaf: number, key, hash, lock, captured };
        if self.sink.take(action, leaf) { Ok(()) } else { Err(NOT_FLAT) }
    }
}

/// Hands out one key.
struct OneKey<'a> {
    key: Option<(&'a [u8], u64)>,
}

impl Hook for OneKey<'_> {
    const PLANNED: bool = true;

    #[inline]
    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        let (key, hash) = self.key.take()?;
        Some(PlannedKey { key, hash, entry: 0 })
    }

    fn mark(&mut self, _: u32, _: &mut Frame) -> Result<(), Stop> {
        Ok(())
    }
}

/// Serves the tail's marks.
struct Outcomes<'a, O> {
    flat: &'a FlatProgram,
    outcomes: &'a mut O,
}

impl<O: FlatOutcomes> Hook for Outcomes<'_, O> {
    const PLANNED: bool = false;

    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        None
    }

    #[inline]
    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop> {
        let leaf = self.flat.leaf_of[(id & !OWN_MARK) as usize];
        self.outcomes.next(self.flat.leaf(leaf), frame)
    }
}
