//! A frame: the memory of one running call, reused from call to call.
//!
//! Role         one per transaction in flight; filled by [`Frame::begin`], worked on by
//!              [`crate::interpret::run`]. Knows no table.
//! Invariants   I1 after warm-up a call allocates nothing: every buffer is cleared, never freed
//!              I2 ranges in slots point into `heap` (bytes) or `elements` (arrays); both only grow
//!                 during a call, but for the bytes of rows that a visit did not keep

mod memory;
mod result;
mod row_set;
mod slots;
mod spare;
mod texts;
mod totals;

use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::datum::Datum;
use hotrow_base::ids::ColumnId;
use hotrow_base::interrupt::{Interrupt, Interruption, current};
use hotrow_base::key::KeyBuffer;
use hotrow_base::types::SqlType;

use crate::bytecode::{PACKED_BYTES_MAX, Program, ReturnCode};
use crate::fault::Fault;
use crate::invocation::{Arguments, Invocation, Leaves};
use crate::outcome::{Notice, NoticeLevel, SqlError};
use crate::program::{FIRST_PARAMETER, FOUND, NOW, ROW_COUNT, SlotId};

pub use result::{RowStore, StoredRows};
pub(crate) use row_set::RowSet;
pub use slots::{SLOTS_MAX, Slots};
pub use spare::SpareFrame;
pub(crate) use texts::Texts;
pub use totals::Totals;

/// Loop iterations and visited rows that one call may use, unless said otherwise.
pub const STEPS_DEFAULT: u64 = 100_000_000;

/// Steps between two looks at what may interrupt them: some 100 us.
const STEPS_BETWEEN_LOOKS: u64 = 1024;

/// Turns of loops without a bound that planning runs ahead of a call. Each may make a trial read
/// and note a granule, some microsecond, so that planning that comes to no end takes no more than
/// some 20 ms; the call then runs with what is planned, or alone.
pub const TURNS_AHEAD_MAX: u32 = 16_384;

/// Bytes that the texts of one call may take.
pub const HEAP_BYTES_MAX: usize = 1 << 30;

/// Bytes that the rows of one call, and the texts in them, may take.
#[derive(Clone, Copy, Debug)]
struct RowsMax(usize);

impl Default for RowsMax {
    fn default() -> Self {
        Self(usize::MAX)
    }
}

/// Slots and heap: what pure code works on.
#[derive(Default, Debug)]
pub struct Machine {
    /// the program's slots
    pub slots: Slots,
    /// bytes of texts
    pub heap: Vec<u8>,
    /// elements of arrays
    pub elements: Vec<Datum>,
    /// loop iterations and visited rows left, up to the next look at `interrupt`
    steps_left: u64,
    /// those behind it
    steps_behind: u64,
    /// turns of loops without a bound that planning may still run ahead
    turns_ahead: u32,
    /// what may end the call early; none: nothing but its budget
    interrupt: Option<Arc<Interrupt>>,
    /// of the session that makes the call
    pub(crate) conventions: Conventions,
    /// what the call leaves to its caller to check
    pub(crate) leaves: Leaves,
    rows_max: RowsMax,
    budget: memory::Budget,
    /// what went wrong, when execution stopped with [`crate::outcome::Stop::Error`]
    pub error: Option<SqlError>,
    /// it says that the call may not go on: no handler is to catch it
    pub(crate) is_over: bool,
    /// the protected blocks that are entered, the innermost last, and how much had been said before
    /// each; empty when execution ends
    pub(crate) protected: Vec<(u16, usize)>,
    /// what the handlers that run have caught, the innermost last
    pub(crate) caught: Vec<SqlError>,
    /// what was said, and the bytes that it takes
    notices: (Vec<Notice>, usize),
}

/// Room for a key of integers, whose parts are written 8 bytes at a time.
pub(crate) type PackedBytes = [u8; PACKED_BYTES_MAX + 8];

/// Keys being encoded.
#[derive(Default, Debug)]
pub(crate) struct Keys {
    pub(crate) packed: PackedBytes,
    pub(crate) key: KeyBuffer,
    pub(crate) lower: KeyBuffer,
    pub(crate) upper: KeyBuffer,
}

/// What a visit gathers.
#[derive(Default, Debug)]
pub(crate) struct Gathered {
    /// rows, `width` datums each
    pub(crate) datums: Vec<Datum>,
    /// row numbers, for sorting
    pub(crate) order: Vec<u32>,
    /// running aggregates
    pub(crate) totals: Vec<Totals>,
    /// of a visit that comes in parts
    pub(crate) progress: Progress,
}

/// How far a visit has come.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Progress {
    /// matching rows so far
    pub(crate) seen: u64,
    /// OFFSET
    pub(crate) skip: u64,
    /// LIMIT
    pub(crate) take: u64,
    /// the last row that is wanted has come
    pub(crate) is_full: bool,
}

/// The memory of one call.
#[derive(Debug)]
pub struct Frame {
    /// slots and heap
    pub machine: Machine,
    pub(crate) keys: Keys,
    pub(crate) row_sets: Vec<RowSet>,
    /// routines that run in themselves, by number, the innermost last
    pub(crate) running: Vec<u16>,
    pub(crate) gathered: Gathered,
    /// values of the row being inserted
    pub(crate) row_values: Vec<Datum>,
    pub(crate) row_words: Vec<u64>,
    pub(crate) changes: Vec<(ColumnId, Datum)>,
    /// rows touched by the last visit
    pub(crate) touched: u64,
    pub(crate) result: Vec<Datum>,
    pub(crate) result_rows: u64,
    step_budget: u64,
    /// bytes and elements that were there when the call began
    begun: (usize, usize),
    /// of calls that run statements whose text is known only then
    pub(crate) texts: Option<Box<Texts>>,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            machine: Machine::default(),
            keys: Keys::default(),
            row_sets: Vec::new(),
            running: Vec::new(),
            gathered: Gathered::default(),
            row_values: Vec::new(),
            row_words: Vec::new(),
            changes: Vec::new(),
            touched: 0,
            result: Vec::new(),
            result_rows: 0,
            step_budget: STEPS_DEFAULT,
            begun: (0, 0),
            texts: None,
        }
    }
}

impl Frame {
    /// An empty frame.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many loop iterations and visited rows each following call may use.
    pub fn set_step_budget(&mut self, steps: u64) {
        self.step_budget = steps;
    }

    /// How many bytes the rows of one call, with their texts, may take from now on.
    pub fn set_rows_max(&mut self, bytes: usize) {
        self.machine.rows_max = RowsMax(bytes);
    }

    /// The conventions of the session whose leaf runs next, where no call is begun
    /// ([`Frame::begin_code`]).
    #[inline]
    pub fn set_conventions(&mut self, conventions: Conventions) {
        self.machine.conventions = conventions;
    }

    /// What may end the calls that begin from now on, and pays for them, unless a call brings its
    /// own.
    pub fn set_interrupt(&mut self, interrupt: Option<Arc<Interrupt>>) {
        self.release();
        self.machine.set_interrupt(interrupt);
    }

    /// Whether what runs may go on.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn check_interrupt(&self) -> Result<(), Interruption> {
        self.machine.interrupt.as_ref().map_or(Ok(()), |interrupt| interrupt.check())
    }

    /// Prepares for running `program`. The caller has checked number and types of the arguments.
    pub fn begin(&mut self, program: &Program, invocation: &Invocation) {
        self.release();
        let machine = &mut self.machine;
        machine.serve(invocation.interrupt.as_ref());
        machine.conventions = invocation.conventions;
        machine.leaves = invocation.leaves;
        machine.slots.begin(&program.image);
        machine.heap.clear();
        machine.elements.clear();
        machine.give_steps(self.step_budget);
        machine.turns_ahead = TURNS_AHEAD_MAX;
        machine.forget();
        machine.slots[FOUND.0] = Datum::FALSE;
        machine.slots[NOW.0] = Datum::int(invocation.now_us);
        machine.slots[ROW_COUNT.0] = Datum::int(0);
        machine.heap.extend_from_slice(&program.constants);
        machine.put_arguments(program, &invocation.arguments);
        self.begun = (machine.heap.len(), machine.elements.len());
        self.touched = 0;
        self.result.clear();
        self.result_rows = 0;
        if let Some(texts) = &mut self.texts {
            texts.begin();
        }
        if self.row_sets.len() < program.row_sets as usize {
            self.row_sets.resize_with(program.row_sets as usize, RowSet::default);
        }
    }

    /// Prepares for another action of the call that [`Frame::begin`] was told of, which reads
    /// nothing that those before it have made. Rows that are there have been taken out.
    pub fn begin_next_action(&mut self) {
        self.machine.heap.truncate(self.begun.0);
        self.machine.elements.truncate(self.begun.1);
        self.begin_next_leaf();
    }

    /// Prepares for another leaf of the action that runs, which finds what those before it have
    /// made. Rows that are there have been taken out.
    pub fn begin_next_leaf(&mut self) {
        let machine = &mut self.machine;
        machine.give_steps(self.step_budget);
        machine.forget();
        self.touched = 0;
        self.result.clear();
        self.result_rows = 0;
    }

    /// Prepares for running leaves of `program` that read no parameters but those that are set
    /// before each.
    pub fn begin_code(&mut self, program: &Program) {
        let machine = &mut self.machine;
        machine.slots.begin(&program.image);
        machine.heap.clear();
        machine.heap.extend_from_slice(&program.constants);
        if self.row_sets.len() < program.row_sets as usize {
            self.row_sets.resize_with(program.row_sets as usize, RowSet::default);
        }
        self.begin_leaf(program);
    }

    /// Prepares for the next leaf of the program that [`Frame::begin_code`] was told of.
    #[inline]
    pub fn begin_leaf(&mut self, program: &Program) {
        let machine = &mut self.machine;
        machine.heap.truncate(program.constants.len());
        machine.elements.clear();
        machine.give_steps(self.step_budget);
        machine.error = None;
        self.touched = 0;
    }

    /// Prepares for taking in the result of a call that was run elsewhere.
    pub fn begin_result(&mut self) {
        self.release();
        self.machine.heap.clear();
        self.machine.elements.clear();
        self.machine.forget();
        self.result.clear();
        self.result_rows = 0;
    }

    /// Appends a row to the result.
    #[inline]
    pub(crate) fn return_row(&mut self, row: &ReturnCode) -> Result<(), Fault> {
        let Self { machine, result, .. } = self;
        machine.room(result, row.width())?;
        let slots = &machine.slots;
        match row {
            ReturnCode::Run(run) => result.extend_from_slice(&slots[run.clone()]),
            ReturnCode::Slots(row) => result.extend(row.iter().map(|&slot| slots[slot])),
        }
        self.result_rows += 1;
        self.machine.check_rows(&self.result)?;
        self.machine.step()
    }

    /// The value of a slot.
    #[inline]
    pub fn slot(&self, slot: SlotId) -> Datum {
        self.machine.slots[slot.0]
    }

    /// Sets a slot. Ranges must point into this frame's heap or elements.
    #[inline]
    pub fn set_slot(&mut self, slot: SlotId, value: Datum) {
        self.machine.slots[slot.0] = value;
    }

    /// What byte ranges of slots point into.
    #[inline]
    pub fn heap(&self) -> &[u8] {
        &self.machine.heap
    }

    /// What array ranges of slots point into.
    #[inline]
    pub fn elements(&self) -> &[Datum] {
        &self.machine.elements
    }

    /// Number of elements of an array; none where it is NULL.
    pub fn array_len(&self, array: SlotId) -> Option<usize> {
        let array = self.slot(array);
        (!array.is_null()).then(|| array.as_range().range().len())
    }

    /// Puts an array's elements into another order: the one that was `order[i]`-th comes `i`-th.
    pub fn rearrange(&mut self, array: SlotId, order: impl Iterator<Item = usize>) {
        let range = self.slot(array).as_range().range();
        let elements = &mut self.machine.elements;
        let end = elements.len();
        order.for_each(|from| elements.push(elements[range.start + from]));
        elements.copy_within(end.., range.start);
        elements.truncate(end);
    }

    /// What went wrong.
    pub fn error(&self) -> Option<&SqlError> {
        self.machine.error.as_ref()
    }

    /// What went wrong, taken out, with what was said before.
    pub fn take_error(&mut self) -> Option<SqlError> {
        let mut error = self.machine.error.take()?;
        error.notices.append(&mut self.machine.notices.0);
        Some(error)
    }

    /// What was said, from the first to the last.
    pub fn notices(&self) -> &[Notice] {
        &self.machine.notices.0
    }

    pub(crate) fn notices_mut(&mut self) -> &mut Vec<Notice> {
        &mut self.machine.notices.0
    }
}

impl Machine {
    fn put_arguments(&mut self, program: &Program, arguments: &Arguments) {
        let first = FIRST_PARAMETER as usize;
        let count = arguments.datums.len().min(program.parameters.len());
        self.slots[first..first + count].copy_from_slice(&arguments.datums[..count]);
        if !program.has_range_parameters {
            return;
        }
        let heap_start = self.heap.len() as u32;
        self.heap.extend_from_slice(&arguments.heap);
        self.elements.extend_from_slice(&arguments.elements);
        self.take_arguments();
        if heap_start == 0 {
            return;
        }
        for (i, sql_type) in program.parameters[..count].iter().enumerate() {
            let slot = &mut self.slots[FIRST_PARAMETER + i as u16];
            match sql_type {
                SqlType::Scalar(data_type) if data_type.is_bytes() => {
                    *slot = moved(*slot, heap_start);
                }
                SqlType::Array(data_type) if data_type.is_bytes() && !slot.is_null() => {
                    for element in &mut self.elements[slot.as_range().range()] {
                        *element = moved(*element, heap_start);
                    }
                }
                _ => {}
            }
        }
    }

    /// The bytes of a text, bytea or uuid.
    #[inline]
    pub fn bytes(&self, datum: Datum) -> &[u8] {
        &self.heap[datum.as_range().range()]
    }

    /// Appends bytes to the heap: few, such as those of a row.
    pub fn keep(&mut self, bytes: &[u8]) -> Datum {
        Datum::of_bytes(bytes, &mut self.heap)
    }

    /// Forgets what went wrong and what was said.
    #[inline]
    fn forget(&mut self) {
        self.error = None;
        self.notices.0.clear();
        self.notices.1 = 0;
    }

    /// Enters a protected block at a depth.
    pub(crate) fn protect(&mut self, block: u16, depth: u16) {
        self.protected.truncate(usize::from(depth));
        self.protected.push((block, self.notices.0.len()));
    }

    /// Takes back notifications and events of triggers that stand behind so many notices: what was
    /// done with them is.
    pub(crate) fn take_notifications_back(&mut self, said: usize) {
        let behind = self.notices.0.split_off(said.min(self.notices.0.len()));
        let stays = |notice: &Notice| {
            !matches!(notice.level, NoticeLevel::Notification | NoticeLevel::Event)
        };
        self.notices.0.extend(behind.into_iter().filter(stays));
    }

    /// Notes what is to be told. It counts as rows do.
    #[cold]
    pub(crate) fn tell(&mut self, notice: Notice) -> Result<(), Fault> {
        let SqlError { message, detail, hint, .. } = &notice.said;
        let texts = [Some(message), detail.as_ref(), hint.as_ref()].into_iter().flatten();
        let bytes = size_of::<Notice>() + texts.map(String::len).sum::<usize>();
        self.pay(bytes)?;
        self.notices.1 += bytes;
        self.notices.0.push(notice);
        let RowsMax(most) = self.rows_max;
        let bytes = self.notices.1 + self.heap.len();
        if bytes > most.min(HEAP_BYTES_MAX) { Err(Fault::RowsFull) } else { Ok(()) }
    }

    /// Bytes that the rows of one query may take.
    pub(crate) const fn rows_max(&self) -> usize {
        self.rows_max.0
    }

    /// What may end the call early.
    pub(crate) const fn interrupt(&self) -> Option<&Arc<Interrupt>> {
        self.interrupt.as_ref()
    }

    /// Takes one step off the budget.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> Result<(), Fault> {
        if self.steps_left == 0 {
            self.look_up()?;
        }
        self.steps_left -= 1;
        Ok(())
    }

    /// Gives the steps that follow, in portions if something may interrupt them.
    #[inline]
    fn give_steps(&mut self, budget: u64) {
        self.steps_left = match &self.interrupt {
            None => budget,
            Some(_) => budget.min(STEPS_BETWEEN_LOOKS),
        };
        self.steps_behind = budget - self.steps_left;
    }

    /// Takes one turn off those of loops without a bound that planning may run ahead.
    pub(crate) fn turn_ahead(&mut self) -> Result<(), Fault> {
        self.turns_ahead = self.turns_ahead.checked_sub(1).ok_or(Fault::StepBudget)?;
        Ok(())
    }

    /// A portion of steps is used up: whether there is another one.
    #[cold]
    #[inline(never)]
    fn look_up(&mut self) -> Result<(), Fault> {
        if let Some(interrupt) = &self.interrupt {
            interrupt.check()?;
            current::note_look(interrupt);
        }
        if self.steps_behind == 0 {
            return Err(Fault::StepBudget);
        }
        self.give_steps(self.steps_behind);
        Ok(())
    }

    /// How many steps are left.
    pub(crate) const fn steps(&self) -> u64 {
        self.steps_left + self.steps_behind
    }

    /// Whether the budget has steps left.
    pub(crate) fn has_steps(&self) -> bool {
        self.steps_left > 0 || self.steps_behind > 0
    }

    /// Refuses to let rows grow beyond what they may take.
    #[inline]
    pub(crate) fn check_rows(&self, rows: &[Datum]) -> Result<(), Fault> {
        let RowsMax(most) = self.rows_max;
        if size_of_val(rows) + self.heap.len() > most { Err(Fault::RowsFull) } else { Ok(()) }
    }
}

fn moved(datum: Datum, by: u32) -> Datum {
    if datum.is_null() {
        return datum;
    }
    let range = datum.as_range();
    Datum::range(range.start + by, range.len)
}
