//! Window functions.

use hotrow_base::value::Value;
use hotrow_sql::{SortKey, Window, WindowFunction};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::SlotId;

use crate::group::Total;
use crate::order::key_of;
use crate::{Ground, Row, Runner, Table, compare_rows, place, sort, sort_places};

impl<G: Ground> Runner<'_, G> {
    pub(crate) fn windowed(&mut self, window: &Window) -> Result<Vec<Row>, G::Error> {
        let mut rows = self.rows(&window.input)?;
        let mut layout = window.input.layout();
        sort(&mut rows, &layout, &window.order);
        let places: Vec<_> =
            window.partition.iter().filter_map(|slot| place(&layout, *slot).ok()).collect();
        let mut known: Table<usize> = Table::default();
        let mut partitions: Vec<Vec<Row>> = Vec::new();
        for row in rows {
            let key = key_of(places.iter().map(|at| &row[*at]));
            let at = *known.entry(key).or_insert_with(|| {
                partitions.push(Vec::new());
                partitions.len() - 1
            });
            partitions[at].push(row);
        }
        for (function, output) in &window.functions {
            for partition in &mut partitions {
                let values = values(function, partition, &layout, &window.order)?;
                for (row, value) in partition.iter_mut().zip(values) {
                    row.push(value);
                }
            }
            layout.push(*output);
        }
        Ok(partitions.into_iter().flatten().collect())
    }
}

/// The values of a function for the rows of a partition, which are in order.
fn values(
    function: &WindowFunction,
    rows: &[Row],
    layout: &[SlotId],
    order: &[SortKey],
) -> Result<Vec<Value>, SqlError> {
    let places = sort_places(layout, order);
    let is_peer = |at: usize| at > 0 && compare_rows(&rows[at - 1], &rows[at], &places).is_eq();
    let of = |at: usize, slot: SlotId| {
        place(layout, slot).ok().map_or(Value::Null, |column| rows[at][column].clone())
    };
    // Where the peers of each row end.
    let mut ends = vec![rows.len(); rows.len()];
    for at in (1..rows.len()).rev() {
        ends[at - 1] = if is_peer(at) { ends[at] } else { at };
    }
    let all = 0..rows.len();
    Ok(match function {
        WindowFunction::RowNumber => all.map(|at| Value::BigInt(at as i64 + 1)).collect(),
        WindowFunction::Rank | WindowFunction::DenseRank => {
            let (mut rank, mut dense) = (0, 0);
            let mut ranks = Vec::with_capacity(rows.len());
            for at in all {
                if !is_peer(at) {
                    (rank, dense) = (at as i64 + 1, dense + 1);
                }
                let is_dense = matches!(function, WindowFunction::DenseRank);
                ranks.push(Value::BigInt(if is_dense { dense } else { rank }));
            }
            ranks
        }
        WindowFunction::Lag { value, by } => {
            let before = |at: usize| {
                let at = (at as i64).checked_sub(*by).and_then(|at| usize::try_from(at).ok());
                at.filter(|at| *at < rows.len()).map_or(Value::Null, |at| of(at, *value))
            };
            all.map(before).collect()
        }
        WindowFunction::First(slot) => all.map(|_| of(0, *slot)).collect(),
        WindowFunction::Last(slot) => all.map(|at| of(ends[at] - 1, *slot)).collect(),
        WindowFunction::Running(aggregate) => {
            let mut total = Total::new(aggregate);
            let (mut added, mut values) = (0, Vec::with_capacity(rows.len()));
            for end in ends {
                if end > added {
                    for row in &rows[added..end] {
                        total.add(row, layout)?;
                    }
                    added = end;
                    values.push(total.result(layout)?);
                } else {
                    values.push(values.last().cloned().unwrap_or_default());
                }
            }
            values
        }
    })
}
