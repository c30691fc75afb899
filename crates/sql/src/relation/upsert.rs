//! INSERT ... SELECT ... ON CONFLICT DO UPDATE: which rows of the query have a key that a row
//! before them has.
//!
//! Role         the rows are numbered by key, and stay in their order. What depends on the values
//!              of defaults and triggers is not seen
//! Source       PostgreSQL 15, "INSERT": the statement may not change a row twice

use hotrow_base::types::DataType;
use hotrow_query::{Plan, SortKey, Window, WindowFunction};
use hotrow_transaction::program::{Place, SlotId};
use sqlparser::ast;

use super::Bound;
use super::change::TakenValue;
use crate::conflict::OnConflict;
use crate::error::Result;
use crate::scope::Compiler;

impl Compiler<'_> {
    /// Which column of the query tells how many rows had the key of a row, with itself; none: no
    /// two rows can have the same one, as far as is known.
    pub(super) fn numbered_by_key(
        &mut self,
        bound: &mut Bound,
        (insert, values): (&ast::Insert, &[Option<TakenValue>]),
        place: Place,
    ) -> Result<Option<usize>> {
        if insert.on.is_none() {
            return Ok(None);
        }
        let target = self.insert_target(insert, place)?;
        let OnConflict::Update(index, _) = self.on_conflict(insert.on.as_ref(), &target, place)?
        else {
            return Ok(None);
        };
        let columns = self.insert_columns(insert, &target, place)?;
        let mut partition = Vec::new();
        for column in &self.catalog.index(index).columns {
            let Some(at) = columns.iter().position(|known| known == column) else {
                return Ok(None);
            };
            match values.get(at) {
                Some(Some(TakenValue::Column(of))) => partition.push(bound.outputs[*of].1),
                // It is the same for all rows.
                Some(Some(TakenValue::Fixed(_)) | None) => {}
                None => return Ok(None),
            }
        }
        let order = self.temporary("order", DataType::BigInt)?;
        let again = self.temporary("again", DataType::BigInt)?;
        self.number_rows(bound, (Vec::new(), order));
        self.number_rows(bound, (partition, again));
        let key = SortKey { slot: order, descending: false, nulls_first: false };
        self.sort_rows(bound, key);
        bound.outputs.push((String::new(), again));
        Ok(Some(bound.outputs.len() - 1))
    }

    fn number_rows(&self, bound: &mut Bound, (partition, number): (Vec<SlotId>, SlotId)) {
        let input = std::mem::replace(&mut bound.plan, Plan::One);
        let functions = vec![(WindowFunction::RowNumber, number)];
        let (order, frame) = (Vec::new(), None);
        bound.plan = Plan::Window(Box::new(Window { input, partition, order, frame, functions }));
    }

    fn sort_rows(&self, bound: &mut Bound, key: SortKey) {
        let input = Box::new(std::mem::replace(&mut bound.plan, Plan::One));
        bound.plan = Plan::Sort { input, keys: vec![key] };
    }
}
