//! Window functions.

use std::ops::Range;

use crate::plan::{Exclusion, GroupAggregate, SortKey, Window, WindowFunction};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use crate::frame::{Peers, frames, kept_rows};
use crate::group::Total;
use crate::host::integer;
use crate::memory::{Held, Kept, Made, bytes_of_key};
use crate::order::key_of;
use crate::{Ground, Row, Runner, Table, compare_rows, place, sort_places};

/// The rows of a partition, in order.
pub(crate) struct Partition<'r> {
    pub(crate) rows: &'r [Row],
    pub(crate) layout: &'r [SlotId],
    /// values of rows around
    pub(crate) around: &'r [Value],
}

impl Partition<'_> {
    /// The value of a slot in a row.
    pub(crate) fn value(&self, at: usize, slot: SlotId) -> &Value {
        match place(self.layout, slot) {
            Ok(column) => &self.rows[at][column],
            Err(slot) => &self.around[slot.index()],
        }
    }

    /// The value of a slot that is the same for all rows.
    pub(crate) fn offset(&self, slot: SlotId) -> &Value {
        self.value(0, slot)
    }

    fn integer(&self, at: usize, slot: SlotId) -> Option<i64> {
        integer(self.value(at, slot))
    }

    fn peers(&self, order: &[SortKey]) -> Peers {
        let places = sort_places(self.layout, order);
        let differ = |at: usize| compare_rows(&self.rows[at - 1], &self.rows[at], &places).is_ne();
        Peers::new(self.rows.len(), differ)
    }
}

impl<G: Ground> Runner<'_, G> {
    pub(crate) fn windowed(&mut self, window: &Window) -> Result<Kept, G::Error> {
        let mut kept = self.rows(&window.input)?;
        let mut layout = window.input.layout();
        // By the partitions first, as PostgreSQL sorts them: who asks for no order finds them in
        // theirs.
        let by = window.partition.iter();
        let by = by.map(|slot| SortKey { slot: *slot, descending: false, nulls_first: false });
        let by: Vec<SortKey> = by.chain(window.order.iter().copied()).collect();
        self.sort(&mut kept, &layout, &by)?;
        let Kept { rows, mut held } = kept;
        let places: Vec<_> =
            window.partition.iter().filter_map(|slot| place(&layout, *slot).ok()).collect();
        let mut known: Table<usize> = Table::default();
        let mut keys = self.limits.held();
        let mut partitions: Vec<Vec<Row>> = Vec::new();
        for row in rows {
            self.tick_row(&row)?;
            let key = key_of(places.iter().map(|at| &row[*at]));
            keys.add(size_of::<Row>())?;
            let at = match known.get(&key) {
                Some(at) => *at,
                None => {
                    keys.add(bytes_of_key(&key) + size_of::<Vec<Row>>())?;
                    known.insert(key, partitions.len());
                    partitions.push(Vec::new());
                    partitions.len() - 1
                }
            };
            partitions[at].push(row);
        }
        for (function, output) in &window.functions {
            for rows in &mut partitions {
                let values = self.window_values(function, rows, &layout, window, &mut held)?;
                for (row, value) in rows.iter_mut().zip(values) {
                    row.push(value);
                }
            }
            layout.push(*output);
        }
        Ok(Kept { rows: partitions.into_iter().flatten().collect(), held })
    }

    /// The values of a function for the rows of a partition, which are in order.
    fn window_values(
        &mut self,
        function: &WindowFunction,
        rows: &[Row],
        layout: &[SlotId],
        window: &Window,
        held: &mut Held,
    ) -> Result<Vec<Value>, G::Error> {
        let around = std::mem::take(&mut self.calculator.around);
        let partition = Partition { rows, layout, around: &around };
        self.work(rows.len() / 16)?;
        let peers = partition.peers(&window.order);
        let mut made = Made::new(held);
        let filled = match function {
            WindowFunction::First(_)
            | WindowFunction::Last(_)
            | WindowFunction::Nth { .. }
            | WindowFunction::Running(_) => {
                frames(&partition, window, &peers).map_err(G::Error::from).and_then(|frames| {
                    let exclusion = window.frame.map(|frame| frame.exclusion).unwrap_or_default();
                    let kept = |at: usize| kept_rows(&frames[at], exclusion, at, &peers);
                    match function {
                        WindowFunction::Running(aggregate) if exclusion == Exclusion::NoOthers => {
                            self.running(aggregate, &partition, &frames, &mut made)
                        }
                        WindowFunction::Running(aggregate) => {
                            self.anew(aggregate, &partition, kept, &mut made)
                        }
                        _ => self.framed(function, &partition, kept, &mut made),
                    }
                })
            }
            _ => ranked(function, &partition, &peers, &mut made).map_err(G::Error::from),
        };
        let values = made.values;
        self.calculator.around = around;
        filled.map(|()| values)
    }

    /// The values of a function of each row's frame.
    fn framed(
        &mut self,
        function: &WindowFunction,
        partition: &Partition<'_>,
        kept: impl Fn(usize) -> [Range<usize>; 3],
        made: &mut Made<'_>,
    ) -> Result<(), G::Error> {
        let of = |at: Option<usize>, slot: SlotId| {
            at.map_or(Value::Null, |at| partition.value(at, slot).clone())
        };
        for row in 0..partition.rows.len() {
            let mut frame = kept(row).into_iter().flatten();
            let value = match function {
                WindowFunction::First(slot) => of(frame.next(), *slot),
                WindowFunction::Last(slot) => of(frame.next_back(), *slot),
                WindowFunction::Nth { value, at } => {
                    let nth = match partition.integer(row, *at) {
                        None => None,
                        Some(nth) if nth > 0 => frame.nth(nth as usize - 1),
                        Some(_) => {
                            let message = "argument of nth_value must be greater than zero";
                            return Err(SqlError::new(b"22016", message).into());
                        }
                    };
                    of(nth, *value)
                }
                _ => Value::Null,
            };
            self.work(1 + value.bytes() / 1024)?;
            made.push(value)?;
        }
        Ok(())
    }

    /// An aggregate of each frame, made anew for each row: what is left out differs.
    fn anew(
        &mut self,
        aggregate: &GroupAggregate,
        partition: &Partition<'_>,
        kept: impl Fn(usize) -> [Range<usize>; 3],
        made: &mut Made<'_>,
    ) -> Result<(), G::Error> {
        for at in 0..partition.rows.len() {
            let mut total = Total::new(aggregate);
            let mut held = self.limits.held();
            for row in kept(at).into_iter().flatten() {
                held.add(total.add(&partition.rows[row], partition.layout)?)?;
                self.tick_row(&partition.rows[row])?;
            }
            let value = total.result(partition.layout, &mut held)?;
            self.work(1 + value.bytes() / 1024)?;
            made.push(value)?;
        }
        Ok(())
    }

    /// An aggregate of each frame: rows are added to the frame before where it only grows.
    fn running(
        &mut self,
        aggregate: &GroupAggregate,
        partition: &Partition<'_>,
        frames: &[Range<usize>],
        made: &mut Made<'_>,
    ) -> Result<(), G::Error> {
        // Towards the partition's end, frames grow from the last row on.
        let end = partition.rows.len();
        let backwards = !aggregate.function.tells_order()
            && frames.windows(2).any(|pair| pair[0].start != pair[1].start)
            && frames.iter().all(|frame| frame.end == end);
        let mut total = Total::new(aggregate);
        let mut held = self.limits.held();
        let mut added = 0..0;
        for turn in 0..frames.len() {
            let at = if backwards { frames.len() - 1 - turn } else { turn };
            let frame = frames[at].clone();
            let (keeps, new) = match backwards {
                true => {
                    (added.end == frame.end && frame.start <= added.start, frame.start..added.start)
                }
                false => {
                    (added.start == frame.start && added.end <= frame.end, added.end..frame.end)
                }
            };
            let new = if keeps && turn > 0 { new } else { frame.clone() };
            if !keeps || turn == 0 {
                total = Total::new(aggregate);
                held = self.limits.held();
            }
            for row in new {
                held.add(total.add(&partition.rows[row], partition.layout)?)?;
                self.tick_row(&partition.rows[row])?;
            }
            added = frame;
            let value = total.result(partition.layout, &mut held)?;
            self.work(value.bytes() / 1024)?;
            made.push(value)?;
        }
        if backwards {
            made.values.reverse();
        }
        Ok(())
    }
}

/// The values of a function that looks at the whole partition.
fn ranked(
    function: &WindowFunction,
    partition: &Partition<'_>,
    peers: &Peers,
    made: &mut Made<'_>,
) -> Result<(), SqlError> {
    let count = partition.rows.len();
    let all = 0..count;
    let number = |number: usize| Value::BigInt(number as i64);
    let share = |part: usize, of: usize| Value::Double(part as f64 / of as f64);
    match function {
        WindowFunction::RowNumber => made.extend(all, |at| number(at + 1)),
        WindowFunction::Rank => made.extend(all, |at| number(peers.of(at).start + 1)),
        WindowFunction::DenseRank => made.extend(all, |at| number(peers.group(at) + 1)),
        WindowFunction::PercentRank if count == 1 => made.push(Value::Double(0.0)),
        WindowFunction::PercentRank => made.extend(all, |at| share(peers.of(at).start, count - 1)),
        WindowFunction::CumeDist => made.extend(all, |at| share(peers.of(at).end, count)),
        WindowFunction::Buckets(slot) => match partition.integer(0, *slot) {
            None => made.extend(all, |_| Value::Null),
            Some(buckets) if buckets > 0 => {
                let buckets = usize::try_from(buckets).unwrap_or(usize::MAX);
                // The first ones have one row more, where it does not come out even.
                let (least, more) = (count / buckets, count % buckets);
                let bucket = |at: usize| match at.checked_sub(more * (least + 1)) {
                    Some(behind) => more + behind / least.max(1),
                    None => at / (least + 1),
                };
                made.extend(all, |at| Value::Int(bucket(at) as i32 + 1))
            }
            Some(_) => {
                let message = "argument of ntile must be greater than zero";
                Err(SqlError::new(b"22014", message))
            }
        },
        WindowFunction::Lag { value, by, ahead, otherwise } => {
            let shifted = |at: usize| {
                let by = partition.integer(at, *by)?;
                let by = if *ahead { by.checked_neg() } else { Some(by) };
                let from = by.and_then(|by| (at as i64).checked_sub(by));
                let from = from.and_then(|from| usize::try_from(from).ok());
                match from.filter(|from| *from < count) {
                    Some(from) => Some(partition.value(from, *value).clone()),
                    None => otherwise.map(|slot| partition.value(at, slot).clone()),
                }
            };
            made.extend(all, |at| shifted(at).unwrap_or_default())
        }
        _ => Ok(()),
    }
}
