//! LIMIT, OFFSET and WITH TIES.

use std::ops::ControlFlow;

use hotrow_transaction::outcome::SqlError;

use crate::memory::Kept;
use crate::plan::{Plan, SortKey};
use crate::{Flow, Ground, MORE, Row, Runner, Take, compare_rows, sort_places};

/// The error of WITH TIES whose count is NULL.
pub(crate) fn no_count() -> SqlError {
    let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
    SqlError::new(b"2201W", message)
}

impl<'g, G: Ground> Runner<'g, G> {
    /// The rows behind the first `offset`, at most `limit`. No more are computed than it takes.
    pub(crate) fn limited(
        &mut self,
        input: &Plan,
        limit: usize,
        offset: usize,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        if limit == 0 {
            return Ok(MORE);
        }
        if let Plan::Sort { input, keys } = input
            && let Some(most) = limit.checked_add(offset)
        {
            let Kept { rows, held: _held } = self.sorted(input, keys, Some(most))?;
            return self.give(rows.into_iter().skip(offset), take);
        }
        let (mut before, mut left, mut flow) = (offset, limit, MORE);
        let _ = self.each(input, &mut |runner, row| {
            if before > 0 {
                before -= 1;
                return Ok(MORE);
            }
            left -= 1;
            flow = take(runner, row)?;
            Ok(if left == 0 { ControlFlow::Break(()) } else { flow })
        })?;
        Ok(flow)
    }

    /// So many rows, and those that the order leaves beside the last of them.
    pub(crate) fn tied(
        &mut self,
        input: &Plan,
        limit: usize,
        (offset, ties): (usize, &[SortKey]),
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        if limit == 0 {
            return Ok(MORE);
        }
        let places = sort_places(&input.layout(), ties);
        let (mut before, mut left, mut flow) = (offset, limit, MORE);
        let mut last: Option<Row> = None;
        let _ = self.each(input, &mut |runner, row| {
            if before > 0 {
                before -= 1;
                return Ok(MORE);
            }
            if let Some(last) = &last
                && compare_rows(last, &row, &places).is_ne()
            {
                return Ok(ControlFlow::Break(()));
            }
            left = left.saturating_sub(1);
            if left == 0 && last.is_none() {
                last = Some(row.clone());
            }
            flow = take(runner, row)?;
            Ok(flow)
        })?;
        Ok(flow)
    }
}
