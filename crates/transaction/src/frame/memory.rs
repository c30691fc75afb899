//! What a call's memory is charged to, and how its buffers grow.
//!
//! Role         buffers of a frame are used again from call to call, and small ones are nobody's:
//!              up to [`KEPT_BYTES`] each. What grows beyond is charged to the statement's account
//!              before it is allocated, and freed when the call has ended
//! Invariants   I1 a buffer of more than [`KEPT_BYTES`] is charged with its capacity
//!              I2 while nothing is charged no buffer is larger, so that a call which stays small
//!                 pays a comparison where it grows

use std::sync::Arc;

use hotrow_base::conventions::EnteredConventions;
use hotrow_base::datum::Datum;
use hotrow_base::interrupt::Interrupt;
use hotrow_base::interrupt::current::{self, Entered, LOOK_EVERY_BYTES};
use hotrow_base::memory::{Charge, OutOfMemory};
use hotrow_base::packed;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;

use super::{Frame, HEAP_BYTES_MAX, Machine};
use crate::bytecode::Program;
use crate::fault::Fault;
use crate::outcome::SqlError;

/// Bytes of each of its buffers that a frame keeps from call to call.
pub(super) const KEPT_BYTES: usize = 64 << 10;
/// Up to here a buffer is doubled, beyond it grows by half.
const DOUBLED_BYTES: usize = 16 << 20;
/// Room for what is appended to the heap between two looks at how large it is: a row's texts.
const SPARE_BYTES: usize = 16 << 10;
/// Values of a result that are not worth counting.
const FEW_VALUES: usize = 1024;

/// Who pays for what a machine allocates.
#[derive(Default, Debug)]
pub(super) struct Budget {
    /// capacity of the heap, if it is a large one, and of large lists
    charge: Charge,
    /// the heap's part of it
    heap: usize,
    /// the part of the list of elements
    elements: usize,
    /// values that the result becomes
    answer: Charge,
    /// bytes gone over since the last look at the interrupt
    gone: usize,
    /// the interrupt is that of the call which runs, not of whoever has the frame
    is_of_call: bool,
}

impl Machine {
    /// Has a call pay, and obey, from now on.
    pub(super) fn set_interrupt(&mut self, interrupt: Option<Arc<Interrupt>>) {
        let charge = || {
            let account = interrupt.as_ref().map(|interrupt| interrupt.memory());
            account.map_or_else(Charge::default, Charge::new)
        };
        self.budget = Budget { charge: charge(), answer: charge(), ..Budget::default() };
        self.interrupt = interrupt;
    }

    /// Has the call that begins pay, and obey its session; where it is nobody's, whoever has the
    /// frame.
    #[inline]
    pub(super) fn serve(&mut self, interrupt: Option<&Arc<Interrupt>>) {
        let is_same = match (interrupt, &self.interrupt) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (None, old) => old.is_none() || !self.budget.is_of_call,
            (Some(_), None) => false,
        };
        if !is_same {
            self.set_interrupt(interrupt.cloned());
            self.budget.is_of_call = true;
        }
    }

    /// Has functions of values that the machine calls obey and pay as the machine does, and show
    /// and read values by its conventions.
    pub(crate) fn enter(&self) -> (Entered, EnteredConventions) {
        (current::enter(self.interrupt.as_ref()), self.conventions.enter())
    }

    /// As [`Machine::enter`], for sorting so many values, if there are any.
    pub(crate) fn enter_for(&self, values: usize) -> Result<Option<(Entered, Charge)>, Fault> {
        if values == 0 {
            return Ok(None);
        }
        // Their numbers, and again while these are merged.
        let order = self.borrow(values * 2 * size_of::<u32>())?;
        Ok(Some((current::enter(self.interrupt.as_ref()), order)))
    }

    /// Makes room for so many bytes more of text.
    #[inline]
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Fault> {
        if self.heap.capacity() - self.heap.len() < bytes { self.grow_heap(bytes) } else { Ok(()) }
    }

    /// Refuses to let texts grow without bound, and makes room for those of another row.
    #[inline]
    pub(crate) fn check_heap(&mut self) -> Result<(), Fault> {
        let capacity = self.heap.capacity();
        let is_charged = capacity <= KEPT_BYTES || capacity == self.budget.heap;
        if is_charged && (capacity <= KEPT_BYTES || capacity - self.heap.len() >= SPARE_BYTES) {
            return Ok(());
        }
        self.grow_heap(SPARE_BYTES)
    }

    #[cold]
    #[inline(never)]
    fn grow_heap(&mut self, bytes: usize) -> Result<(), Fault> {
        let Self { heap, budget, .. } = self;
        if heap.len().saturating_add(bytes) > HEAP_BYTES_MAX {
            return Err(Fault::HeapFull);
        }
        Ok(budget.charge.grow_part(&mut budget.heap, heap, bytes)?)
    }

    /// Makes room for so many elements of arrays more.
    #[inline]
    pub(crate) fn room_for_elements(&mut self, more: usize) -> Result<(), Fault> {
        if self.elements.capacity() - self.elements.len() >= more {
            return Ok(());
        }
        self.grow_elements(more)
    }

    #[cold]
    #[inline(never)]
    fn grow_elements(&mut self, more: usize) -> Result<(), Fault> {
        let Self { elements, budget, .. } = self;
        Ok(budget.charge.grow_part(&mut budget.elements, elements, more)?)
    }

    /// Charges what arguments take, which are there already, if it is much.
    #[inline]
    pub(super) fn take_arguments(&mut self) {
        if self.heap.capacity() > KEPT_BYTES {
            let more = self.heap.capacity() - self.budget.heap.min(self.heap.capacity());
            self.budget.charge.take(more);
            self.budget.heap = self.heap.capacity();
        }
        let bytes = self.elements.capacity() * size_of::<Datum>();
        if bytes > KEPT_BYTES {
            self.budget.charge.take(bytes - self.budget.elements.min(bytes));
            self.budget.elements = bytes;
        }
    }

    /// Makes room for so many items more in a list.
    #[inline]
    pub(crate) fn room<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), Fault> {
        if list.capacity() - list.len() < more { self.grow(list, more) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn grow<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), Fault> {
        let bytes = |items: usize| items.saturating_mul(size_of::<T>());
        let before = bytes(list.capacity());
        let held = if before > KEPT_BYTES { before } else { 0 };
        let needed = bytes(list.len().saturating_add(more));
        let charged = self.budget.charge.replace(held, needed, before)?;
        list.reserve_exact((charged / size_of::<T>()).max(list.len() + more) - list.len());
        Ok(())
    }

    /// Charges what is about to be allocated elsewhere, until the call has ended.
    pub(crate) fn pay(&mut self, bytes: usize) -> Result<(), Fault> {
        Ok(self.budget.charge.add(bytes)?)
    }

    /// Charges what is about to be allocated elsewhere, until the charge is dropped.
    pub(crate) fn borrow(&self, bytes: usize) -> Result<Charge, Fault> {
        let mut charge = self.budget.charge.beside();
        charge.add(bytes)?;
        Ok(charge)
    }

    /// Frees a list that [`Machine::room`] has made room in, but for what is kept from call to
    /// call.
    pub(crate) fn shrink<T>(&mut self, list: &mut Vec<T>) {
        let before = list.capacity() * size_of::<T>();
        if before > KEPT_BYTES {
            shrink(list);
            self.budget.charge.subtract(before.min(self.budget.charge.bytes() as usize));
        }
    }

    /// Appends a value, which may be large, to the heap.
    pub(crate) fn keep_value(&mut self, value: &Value, to: DataType) -> Result<Datum, Fault> {
        self.reserve(value.bytes())?;
        Ok(value.to_datum(to, &mut self.heap).map_err(SqlError::from)?)
    }

    /// So many bytes have been gone over: looks at the interrupt from time to time.
    #[inline]
    pub(crate) fn went(&mut self, bytes: usize) -> Result<(), Fault> {
        self.budget.gone = self.budget.gone.saturating_add(bytes);
        if self.budget.gone < LOOK_EVERY_BYTES {
            return Ok(());
        }
        self.budget.gone = 0;
        self.look()
    }

    /// Whether to go on.
    #[cold]
    pub(crate) fn look(&self) -> Result<(), Fault> {
        Ok(self.interrupt.as_ref().map_or(Ok(()), |interrupt| interrupt.check())?)
    }
}

/// Bytes of memory of the value that a datum becomes.
fn bytes_of(datum: Datum, of: DataType, heap: &[u8]) -> usize {
    let bytes = match of.is_bytes() && !datum.is_null() {
        true => datum.as_range().len as usize,
        false => 0,
    };
    let elements = match of {
        DataType::Array(_) if bytes > 0 => packed::elements(datum, heap).len(),
        // A field takes a byte at least.
        DataType::Composite(_) => bytes,
        _ => 0,
    };
    size_of::<Value>().saturating_mul(elements + 1).saturating_add(bytes)
}

fn shrink<T>(list: &mut Vec<T>) {
    list.clear();
    list.shrink_to(KEPT_BYTES / size_of::<T>());
}

/// Charges of buffers.
trait Buffers {
    /// Has a buffer's part of the charge be its capacity, if that is a large one.
    fn set_part(&mut self, part: &mut usize, capacity: usize) -> Result<(), OutOfMemory>;

    /// Charges a larger buffer that takes another one's place, of which `held` bytes are charged:
    /// while the old one is copied there are both. How large it may be: generous, or, where there
    /// is no room for that, as large as needed.
    fn replace(&mut self, held: usize, needed: usize, before: usize) -> Result<usize, OutOfMemory>;

    /// Makes room for so many items more in a buffer that has its part of the charge.
    fn grow_part<T>(
        &mut self,
        part: &mut usize,
        buffer: &mut Vec<T>,
        more: usize,
    ) -> Result<(), OutOfMemory> {
        let bytes = |items: usize| items.saturating_mul(size_of::<T>());
        // What has grown unasked, by a row's texts, is charged as it is.
        self.set_part(part, bytes(buffer.capacity()))?;
        let needed = buffer.len().saturating_add(more);
        if buffer.capacity() < needed {
            let charged = self.replace(*part, bytes(needed), bytes(buffer.capacity()))?;
            *part = if charged > KEPT_BYTES { charged } else { 0 };
            buffer.reserve_exact(charged / size_of::<T>() - buffer.len());
            self.set_part(part, bytes(buffer.capacity()))?;
        }
        Ok(())
    }
}

impl Buffers for Charge {
    fn set_part(&mut self, part: &mut usize, capacity: usize) -> Result<(), OutOfMemory> {
        let large = if capacity > KEPT_BYTES { capacity } else { 0 };
        match large.checked_sub(*part) {
            Some(more) => self.add(more)?,
            None => self.subtract(*part - large),
        }
        *part = large;
        Ok(())
    }

    fn replace(&mut self, held: usize, needed: usize, before: usize) -> Result<usize, OutOfMemory> {
        let more = if before < DOUBLED_BYTES { before } else { before / 2 };
        let generous = needed.max(before.saturating_add(more));
        if generous <= KEPT_BYTES {
            return Ok(generous);
        }
        let wanted = match self.add(generous) {
            Ok(()) => generous,
            Err(_) => {
                self.add(needed)?;
                needed
            }
        };
        self.subtract(held);
        Ok(wanted)
    }
}

impl Frame {
    /// Charges the values that the result becomes, before the call commits: from then on there is
    /// no way to refuse them.
    #[inline]
    pub(crate) fn charge_answer(&mut self, program: &Program) -> Result<(), Fault> {
        let is_small = self.result.len() <= FEW_VALUES && self.machine.heap.len() <= KEPT_BYTES / 8;
        if is_small || self.result.is_empty() { Ok(()) } else { self.count_answer(program) }
    }

    #[cold]
    #[inline(never)]
    fn count_answer(&mut self, program: &Program) -> Result<(), Fault> {
        let columns = program.result.iter().cycle();
        let heap = &self.machine.heap;
        let values =
            self.result.iter().zip(columns).map(|(datum, of)| bytes_of(*datum, of.data_type, heap));
        let bytes = values.fold(0, usize::saturating_add);
        Ok(self.machine.budget.answer.set(bytes)?)
    }

    /// A value of the result, charged while it is made: an array's values take more than its bytes.
    ///
    /// # Errors
    ///
    /// There is no room for it.
    pub fn result_value(&self, at: usize, of: DataType) -> Result<Value, SqlError> {
        let (datum, heap) = (self.result[at], &self.machine.heap);
        let bytes = bytes_of(datum, of, heap);
        let _charge = match bytes > KEPT_BYTES {
            true => Some(self.machine.borrow(bytes).map_err(Fault::into_error)?),
            false => None,
        };
        Ok(Value::from_datum(datum, of, heap))
    }

    /// The charge of the values that the result becomes, for whoever keeps these.
    pub fn take_answer(&mut self) -> Charge {
        let answer = &mut self.machine.budget.answer;
        let none = answer.beside();
        std::mem::replace(answer, none)
    }

    /// Frees what the call took beyond what frames keep. Its result is gone then. Whether there was
    /// any.
    #[inline]
    pub fn release(&mut self) -> bool {
        let Budget { charge, answer, .. } = &self.machine.budget;
        let took = charge.bytes() > 0 || answer.bytes() > 0;
        if took {
            self.free();
        }
        took
    }

    #[cold]
    #[inline(never)]
    fn free(&mut self) {
        let Self { machine, row_sets, gathered, result, .. } = self;
        shrink(&mut machine.heap);
        shrink(&mut machine.elements);
        shrink(&mut gathered.datums);
        shrink(&mut gathered.order);
        gathered.totals.iter_mut().for_each(|totals| totals.shrink(shrink::<Datum>));
        shrink(result);
        row_sets.iter_mut().for_each(|set| set.shrink(shrink::<Datum>));
        (machine.budget.heap, machine.budget.elements) = (0, 0);
        machine.budget.charge.clear();
        machine.budget.answer.clear();
    }
}
