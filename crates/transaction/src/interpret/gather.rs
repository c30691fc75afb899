//! The sink of a visit: what becomes of its matching rows.

use hotrow_base::datum::Datum;

use super::order;
use crate::bytecode::{Gather, OrderCode, RowRun};
use crate::fault::Fault;
use crate::frame::{Frame, Gathered, Machine, Progress, Totals};
use crate::program::RowsTo;

/// Rows that are sorted together before those are forgotten that nobody wants.
const FORGOTTEN_TOGETHER: u64 = 256;

/// What the visit does next with a row that was handed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Added {
    /// its bytes are needed no longer
    Drop,
    /// its bytes are kept
    Keep,
    /// it was the last one wanted; its bytes are kept
    Last,
}

/// Counts, keeps or adds up rows.
pub(super) struct Sink<'a> {
    code: &'a Gather,
    progress: Progress,
}

impl<'a> Sink<'a> {
    /// Reads OFFSET and LIMIT, clears buffers.
    pub(super) fn begin(
        code: &'a Gather,
        machine: &Machine,
        gathered: &mut Gathered,
    ) -> Result<Self, Fault> {
        let (mut skip, mut take) = (0, u64::MAX);
        match code {
            Gather::Count => {}
            Gather::First { offset, .. } => {
                gathered.datums.clear();
                skip = offset_of(*offset, machine)?;
                take = 1;
            }
            Gather::Rows { offset, limit, .. } => {
                gathered.datums.clear();
                skip = offset_of(*offset, machine)?;
                take = limit_of(*limit, machine)?;
            }
            Gather::Aggregate(codes) => {
                if gathered.totals.len() < codes.len() {
                    gathered.totals.resize_with(codes.len(), Totals::default);
                }
                gathered.totals.iter_mut().for_each(Totals::clear);
            }
        }
        Ok(Self { code, progress: Progress { seen: 0, skip, take, is_full: false } })
    }

    /// Leaves what it knows in the frame, until its next rows come.
    pub(super) fn pause(self, gathered: &mut Gathered) {
        gathered.progress = self.progress;
    }

    /// Goes on where it was [paused](Sink::pause).
    pub(super) fn resume(code: &'a Gather, gathered: &Gathered) -> Self {
        Self { code, progress: gathered.progress }
    }

    /// Matching rows so far.
    pub(super) fn seen(&self) -> u64 {
        self.progress.seen
    }

    /// Whether the last row that was wanted has come.
    pub(super) fn is_full(&self) -> bool {
        self.progress.is_full
    }

    /// Whether the values of the next row are looked at.
    pub(super) fn wants_values(&self) -> bool {
        match self.code {
            Gather::Count => false,
            Gather::First { order, .. } => {
                !order.is_empty() || self.progress.seen == self.progress.skip
            }
            _ => true,
        }
    }

    /// Takes a matching row, whose values lie in slots.
    pub(super) fn add(
        &mut self,
        machine: &mut Machine,
        gathered: &mut Gathered,
    ) -> Result<Added, Fault> {
        if let Gather::Rows { row, counted: Some(counted), .. } = self.code
            && !machine.slots[*counted].is_true()
        {
            keep(*row, machine, gathered)?;
            return Ok(Added::Keep);
        }
        self.progress.seen += 1;
        let added = self.added(machine, gathered)?;
        self.progress.is_full |= added == Added::Last;
        Ok(added)
    }

    fn added(&self, machine: &mut Machine, gathered: &mut Gathered) -> Result<Added, Fault> {
        Ok(match self.code {
            Gather::Count => Added::Drop,
            Gather::Aggregate(codes) => {
                let mut added = Added::Drop;
                for (code, totals) in codes.iter().zip(&mut gathered.totals) {
                    if totals.add(code, machine)? {
                        added = Added::Keep;
                    }
                }
                added
            }
            Gather::First { row, order, single, .. } if !order.is_empty() => {
                keep(*row, machine, gathered)?;
                // Of several rows where there must be one, it is to be known that they were.
                if !single {
                    self.forget_last(*row, order, machine, gathered)?;
                }
                Added::Keep
            }
            Gather::First { single, .. } => {
                let wanted = self.progress.skip.saturating_add(1);
                match self.progress.seen.cmp(&wanted) {
                    std::cmp::Ordering::Less => Added::Drop,
                    std::cmp::Ordering::Equal if *single => Added::Keep,
                    std::cmp::Ordering::Equal => Added::Last,
                    std::cmp::Ordering::Greater if *single => return Err(too_many_rows()),
                    std::cmp::Ordering::Greater => Added::Drop,
                }
            }
            Gather::Rows { row, distinct, order, has_bytes, .. } => {
                let in_window = || {
                    self.progress.seen > self.progress.skip
                        && self.progress.seen - self.progress.skip <= self.progress.take
                };
                let windowed = distinct.is_empty() && order.is_empty();
                if !windowed || in_window() {
                    keep(*row, machine, gathered)?;
                }
                if !order.is_empty() && distinct.is_empty() {
                    self.forget_last(*row, order, machine, gathered)?;
                }
                if windowed
                    && self.progress.seen >= self.progress.skip.saturating_add(self.progress.take)
                {
                    Added::Last
                } else if *has_bytes {
                    Added::Keep
                } else {
                    Added::Drop
                }
            }
        })
    }

    /// Where there are many more rows than are wanted of all that come, forgets those that stand
    /// behind that many by now. So few of many rows take little memory, and most are never sorted.
    fn forget_last(
        &self,
        row: RowRun,
        keys: &[OrderCode],
        machine: &mut Machine,
        gathered: &mut Gathered,
    ) -> Result<(), Fault> {
        let width = row.width().max(1);
        let wanted = self.progress.skip.saturating_add(self.progress.take);
        let most = wanted.saturating_mul(2).max(FORGOTTEN_TOGETHER);
        if ((gathered.datums.len() / width) as u64) < most {
            return Ok(());
        }
        gathered.number(row, machine)?;
        gathered.sort(row, keys, machine)?;
        let all = gathered.datums.len();
        // Fewer than there are. Ties stay in the order in which they came.
        for at in 0..wanted as usize {
            let start = gathered.order[at] as usize * width;
            machine.room(&mut gathered.datums, width)?;
            gathered.datums.extend_from_within(start..start + width);
        }
        gathered.datums.drain(..all);
        Ok(())
    }

    /// Puts results where they belong. False: there is none.
    pub(super) fn finish(self, frame: &mut Frame) -> Result<bool, Fault> {
        let Frame { machine, gathered, .. } = frame;
        frame.touched = self.progress.seen;
        Ok(match self.code {
            Gather::Count => self.progress.seen > 0,
            Gather::Aggregate(codes) => {
                let _entered = machine.enter_for(gathered.totals.iter().map(Totals::kept).sum())?;
                for (code, totals) in codes.iter().zip(&mut gathered.totals) {
                    let value = totals.result(code, &mut machine.heap)?;
                    machine.slots[code.result] = value;
                }
                frame.touched = 1;
                true
            }
            Gather::First { order, .. } if order.is_empty() => {
                frame.touched = self.progress.seen.saturating_sub(self.progress.skip);
                frame.touched > 0
            }
            Gather::First { row, single, order: keys, .. } => {
                gathered.number(*row, machine)?;
                gathered.sort(*row, keys, machine)?;
                if *single && gathered.order.len() as u64 > self.progress.skip.saturating_add(1) {
                    return Err(too_many_rows());
                }
                let Some(&first) = gathered.order.get(self.progress.skip as usize) else {
                    frame.touched = 0;
                    return Ok(false);
                };
                let start = first as usize * row.width();
                frame.touched = 1;
                let values = &gathered.datums[start..start + row.width()];
                machine.slots[row.slots()].copy_from_slice(values);
                true
            }
            Gather::Rows { to, row, distinct, .. } => {
                self.arrange(machine, gathered)?;
                let rows = (gathered.datums.len() / row.width().max(1)) as u64;
                frame.touched = rows;
                match to {
                    RowsTo::Loop(set) => {
                        let set = &mut frame.row_sets[set.0 as usize];
                        std::mem::swap(&mut set.datums, &mut gathered.datums);
                        set.begin();
                    }
                    RowsTo::More { rows: set, .. } => {
                        let set = &mut frame.row_sets[set.0 as usize];
                        set.append(&gathered.datums, distinct, machine)?;
                        machine.check_rows(&set.datums)?;
                    }
                    RowsTo::Result => {
                        machine.room(&mut frame.result, gathered.datums.len())?;
                        frame.result.extend_from_slice(&gathered.datums);
                        frame.result_rows += rows;
                    }
                }
                rows > 0
            }
        })
    }

    /// DISTINCT, ORDER BY, LIMIT and OFFSET over all rows, where they could not be applied on the
    /// way; leaves values without keys, in order.
    fn arrange(&self, machine: &mut Machine, gathered: &mut Gathered) -> Result<(), Fault> {
        let Gather::Rows { row, distinct, order: keys, .. } = self.code else { return Ok(()) };
        if distinct.is_empty() && keys.is_empty() {
            return Ok(());
        }
        gathered.number(*row, machine)?;
        if !distinct.is_empty() {
            let Gathered { datums, order, .. } = gathered;
            // While they are merged they are there twice.
            let _merged = machine.borrow(size_of_val(&order[..]))?;
            order::dedup(order, datums, *row, distinct, machine)?;
        }
        if !keys.is_empty() {
            gathered.sort(*row, keys, machine)?;
        }
        let all = gathered.datums.len();
        let skip = usize::try_from(self.progress.skip).unwrap_or(usize::MAX);
        let take = usize::try_from(self.progress.take).unwrap_or(usize::MAX);
        for i in 0..gathered.order.len() {
            if i < skip || i - skip >= take {
                continue;
            }
            let start = gathered.order[i] as usize * row.width() + row.keys as usize;
            machine.room(&mut gathered.datums, row.values as usize)?;
            gathered.datums.extend_from_within(start..start + row.values as usize);
        }
        gathered.datums.drain(..all);
        Ok(())
    }
}

impl Gathered {
    /// Fills `order` with all row numbers.
    fn number(&mut self, run: RowRun, machine: &mut Machine) -> Result<(), Fault> {
        let rows = self.datums.len() / run.width().max(1);
        self.order.clear();
        machine.room(&mut self.order, rows)?;
        self.order.extend(0..rows as u32);
        Ok(())
    }

    /// Puts `order` into the order of the rows' keys.
    fn sort(&mut self, run: RowRun, keys: &[OrderCode], machine: &Machine) -> Result<(), Fault> {
        // While they are merged they are there twice.
        let _merged = machine.borrow(size_of_val(&self.order[..]))?;
        order::sort(&mut self.order, &self.datums, run, keys, machine)
    }
}

fn keep(run: RowRun, machine: &mut Machine, gathered: &mut Gathered) -> Result<(), Fault> {
    machine.room(&mut gathered.datums, run.width())?;
    gathered.datums.extend_from_slice(&machine.slots[run.slots()]);
    machine.check_rows(&gathered.datums)
}

fn too_many_rows() -> Fault {
    let mut error = crate::outcome::SqlError::new(b"P0003", "query returned more than one row");
    error.hint = Some("Make sure the query returns a single row, or use LIMIT 1.".into());
    error.into()
}

fn offset_of(slot: Option<u16>, machine: &Machine) -> Result<u64, Fault> {
    let value = slot.map_or(Datum::NULL, |slot| machine.slots[slot]);
    if value.is_null() {
        return Ok(0);
    }
    u64::try_from(value.as_int()).map_err(|_| Fault::new(b"2201X", "OFFSET must not be negative"))
}

fn limit_of(slot: Option<u16>, machine: &Machine) -> Result<u64, Fault> {
    let value = slot.map_or(Datum::NULL, |slot| machine.slots[slot]);
    if value.is_null() {
        return Ok(u64::MAX);
    }
    u64::try_from(value.as_int()).map_err(|_| Fault::new(b"2201W", "LIMIT must not be negative"))
}
