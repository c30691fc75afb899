//! Rows of partitions that come and go: ATTACH and DETACH PARTITION, DROP and TRUNCATE of one, and
//! what ALTER TABLE says of one.
//!
//! Role         rows are moved where the definition is put in force ([`MovedRows`]): those of a
//!              partition lie among all others of its table
//! Source       PostgreSQL 15, "ALTER TABLE", `ATExecAttachPartition` (tablecmds.c)

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_transaction::catalog::{
    Check, Column, Draws, Hidden, IndexDefinition, IndexKind, Numbering, Partition, PartitionBound,
    Table, View,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast::{self, AlterTableOperation as Operation};

use crate::changes::{CatalogChange, Filled, MovedRows, TableDefinition, left_out};
use crate::definition::{Draft, joined_name};
use crate::error::{Advice, Result, error, unsupported};
use crate::hidden::{identity_key, identity_name};
use crate::maintenance::EmptiedPartition;
use crate::partition::{Partitioned, partition_view};
use crate::partition_checks::{bound_condition, partition_condition, row_condition};
use crate::scope::Compiler;

impl<'c> Compiler<'c> {
    /// Which rows of its table are in a partition.
    fn partition_rows(&self, of: &Partition) -> Result<Check> {
        let table = self.catalog.table(of.table);
        row_condition(self.catalog, table, &partition_condition(self.catalog, of), self.place)
    }

    /// DROP TABLE of a partition: its rows go, and so do the partitions that it has.
    pub(crate) fn partition_dropped(
        &self,
        (view, of): (&View, &Partition),
    ) -> Result<Vec<CatalogChange>> {
        let rows = MovedRows {
            from: of.table,
            into: None,
            of: self.partition_rows(of)?,
            columns: Vec::new(),
            refused: None,
            kept: None,
        };
        // Those that are in it go with it.
        let gone = CatalogChange::DropView(view.qualified_name());
        Ok(vec![CatalogChange::MoveRows(Box::new(rows)), gone])
    }

    /// TRUNCATE of a partition.
    pub(crate) fn partition_emptied(
        &self,
        (view, of): (&View, &Partition),
    ) -> Result<EmptiedPartition> {
        let (table, name) = (of.table, view.qualified_name());
        Ok(EmptiedPartition { table, name, rows: self.partition_rows(of)? })
    }

    /// That the rows which DEFAULT has are none of a new partition's.
    pub(crate) fn leaves_default(
        &self,
        of: &Partitioned<'c>,
        bound: &PartitionBound,
    ) -> Result<Option<(Check, SqlError)>> {
        let mut parts = self.parts_of(of);
        let is_default = |(_, part): &(_, &Partition)| part.bound == PartitionBound::Default;
        let Some((view, default)) = parts.find(is_default) else { return Ok(None) };
        let own = bound_condition(of.key, bound, &[]);
        let text = format!("NOT ({} AND {own})", partition_condition(self.catalog, default));
        let rows = row_condition(self.catalog, of.table, &text, self.place)?;
        let message = format!(
            "updated partition constraint for default partition \"{}\" would be violated by some \
             row",
            view.name
        );
        let mut refused = error(b"23514", self.place, message)
            .hint("move these rows out of it first: DETACH it, or DELETE them");
        refused.table = Some(view.name.clone());
        Ok(Some((rows, refused)))
    }

    /// ALTER TABLE ... ATTACH PARTITION.
    pub(crate) fn attach(
        &mut self,
        (table, place): (&str, Place),
        (name, at): (&str, Place),
        written: &ast::ForValues,
    ) -> Result<Vec<CatalogChange>> {
        let of = self.partitioned(table, place)?;
        if let Some((view, _)) = self.partition_named(name) {
            return Err(error(b"42809", at, format!("\"{}\" is already a partition", view.name)));
        }
        let child = self.table(name, at)?;
        let what = match () {
            () if child.partitioning.is_some() => "a table that is partitioned itself",
            () if child.id == of.table.id => "a table as a partition of itself",
            () if !child.triggers.is_empty() => "a table with triggers as a partition",
            () if child.security.is_enabled => "a table with row security as a partition",
            () if child.schema != of.table.schema => "a partition in another schema",
            () if self.keys_to(child.id).iter().any(|key| key.child != child.id) => {
                "a table that foreign keys refer to as a partition"
            }
            () => "",
        };
        if !what.is_empty() {
            let hint = "create a partition, and INSERT ... SELECT the rows";
            return Err(unsupported(at, what, hint));
        }
        let is_strange = |column: &&Column| of.table.column(&column.name).is_none();
        if let Some(column) = child.shown().iter().find(is_strange) {
            let (own, parent) = (&child.name, of.name());
            let message =
                format!("table \"{own}\" contains column \"{}\" not found in parent", column.name);
            return Err(error(b"42804", at, format!("{message} \"{parent}\""))
                .detail("The new partition may contain only the columns present in parent."));
        }
        let bound = self.bound(&of, (&child.name, Some(written)), place)?;
        let columns = columns_from(of.table, child, at)?;
        let (mut changes, kept) = (Vec::new(), self.leaves_default(&of, &bound)?);
        for check in &child.checks {
            let text = format!("constraint \"{}\" of the partition goes", check.name);
            let text = format!("{text}: those of \"{}\" hold for it", of.table.name);
            changes.push(CatalogChange::Nothing(left_out(text)));
        }
        let own = bound_condition(of.key, &bound, &[]);
        let own = match of.within.and_then(|view| view.partition.as_deref()) {
            Some(within) => format!("{} AND {own}", partition_condition(self.catalog, within)),
            None => own,
        };
        let own = match bound {
            PartitionBound::Default => self.default_condition(&of),
            _ => own,
        };
        let message =
            format!("partition constraint of relation \"{}\" is violated by some row", child.name);
        let mut refused = SqlError::new(b"23514", message);
        refused.table = Some(child.name.clone());
        let rows = MovedRows {
            from: child.id,
            into: Some(of.table.id),
            of: row_condition(self.catalog, child, &own, self.place)?,
            columns,
            refused: Some(refused),
            kept,
        };
        changes.push(CatalogChange::MoveRows(Box::new(rows)));
        changes.push(CatalogChange::DropTable(child.id));
        changes
            .extend(crate::sequence::owned_by(self.catalog, child).map(CatalogChange::DropTable));
        let name = (child.schema.to_string(), child.name.clone());
        changes.push(CatalogChange::SetView(partition_view(name, &of, bound, None)));
        Ok(changes)
    }

    /// What holds for the rows of a DEFAULT that is yet to come.
    fn default_condition(&self, of: &Partitioned<'c>) -> String {
        let siblings: Vec<_> = self.parts_of(of).map(|(_, part)| &part.bound).collect();
        let own = bound_condition(of.key, &PartitionBound::Default, &siblings);
        match of.within.and_then(|view| view.partition.as_deref()) {
            Some(within) => format!("{} AND {own}", partition_condition(self.catalog, within)),
            None => own,
        }
    }

    /// ALTER TABLE ... DETACH PARTITION: the partition becomes a table with its rows.
    pub(crate) fn detach(
        &mut self,
        (table, place): (&str, Place),
        (name, at): (&str, Place),
    ) -> Result<Vec<CatalogChange>> {
        let of = self.partitioned(table, place)?;
        let found = self.partition_named(name);
        let is_own =
            |(_, part): &(_, &Partition)| part.table == of.table.id && part.parent == of.number();
        let Some((view, partition)) = found.filter(is_own) else {
            if found.is_none() {
                self.table(name, at)?;
            }
            let message =
                format!("relation \"{name}\" is not a partition of relation \"{}\"", of.name());
            return Err(error(b"42P01", at, message));
        };
        if partition.key.is_some() {
            let hint = "detach the partitions that it has, one by one";
            return Err(unsupported(at, "DETACH of a partition that has partitions", hint));
        }
        let into = TableId(self.catalog.tables().len() as u16);
        let columns = (0..of.table.columns.len()).map(|at| Filled::Old(ColumnId(at as u16)));
        let rows = MovedRows {
            from: of.table.id,
            into: Some(into),
            of: self.partition_rows(partition)?,
            columns: columns.collect(),
            refused: None,
            kept: None,
        };
        Ok(vec![
            CatalogChange::DropView(view.qualified_name()),
            CatalogChange::CreateTable(self.detached(of.table, view)),
            CatalogChange::MoveRows(Box::new(rows)),
        ])
    }

    /// The table that a partition becomes.
    fn detached(&self, table: &Table, view: &View) -> TableDefinition {
        let mut own = TableDefinition::of(self.catalog, table);
        (own.name, own.schema) = (view.name.clone(), view.schema.clone());
        (own.partition_key, own.routing) = (None, None);
        for key in &mut own.foreign_keys {
            key.parent = key.parent.or(Some(table.id));
        }
        for column in &mut own.columns {
            // The numbers stay the sequence's that they are of.
            let draws = |draws: Draws| Draws { as_written: Numbering::Default, ..draws };
            column.draws = column.draws.map(draws);
        }
        let (primary, unique) = (own.primary.take(), std::mem::take(&mut own.unique));
        let mut draft = Draft::of(own, IndexKind::BTree, self.place);
        let primary = primary.map(|index| {
            let name = self.free_name(&draft, format!("{}_pkey", view.name));
            IndexDefinition { name, ..index }
        });
        let identity = table.identity().filter(|_| table.hidden.contains(&Hidden::Identity));
        draft.table.primary = primary.or_else(|| {
            let name = self.free_name(&draft, identity_name(&view.name));
            identity.map(|column| identity_key(name, column))
        });
        for index in unique {
            let suffix = if index.is_constraint { "key" } else { "idx" };
            let wanted = joined_name(&draft.table, &index.columns, suffix);
            let name = self.free_name(&draft, wanted);
            draft.table.unique.push(IndexDefinition { name, ..index });
        }
        draft.table
    }

    /// ALTER TABLE of a partition, which is what its table is: it has the keys of that.
    pub(crate) fn altered_partition(
        &self,
        view: &View,
        operations: &[Operation],
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        if let [Operation::AddConstraint { constraint, .. }] = operations
            && self.has_key_of(view, constraint)
        {
            let name = &view.name;
            let text = format!("partition \"{name}\" has this key of its table, skipping");
            return Ok(vec![CatalogChange::Nothing(left_out(text))]);
        }
        Err(self.refuse_altered_partition(view, operations, place))
    }

    /// Whether the table of a partition has a key of the same columns.
    pub(crate) fn has_key_of(&self, view: &View, constraint: &ast::TableConstraint) -> bool {
        let Some(partition) = &view.partition else { return false };
        let (columns, is_primary) = match constraint {
            ast::TableConstraint::PrimaryKey(key) => (&key.columns, true),
            ast::TableConstraint::Unique(key) => (&key.columns, false),
            _ => return false,
        };
        let wanted: Vec<String> = columns.iter().map(|of| of.column.expr.to_string()).collect();
        let table = self.catalog.table(partition.table);
        let mut keys = table.declared_indexes().map(|id| self.catalog.index(id));
        keys.any(|index| {
            let of = index.columns.iter().map(|column| &table.columns[column.index()].name);
            let is_it = table.primary == Some(index.id) || !is_primary && index.unique;
            is_it && of.eq(wanted.iter())
        })
    }

    fn refuse_altered_partition(
        &self,
        view: &View,
        operations: &[Operation],
        place: Place,
    ) -> SqlError {
        let inherited = |verb: &str, column: &ast::Ident| {
            let column = crate::written::ident_name(column);
            error(b"42P16", place, format!("cannot {verb} inherited column \"{column}\""))
        };
        let refused = match operations {
            [Operation::AddColumn { .. }] => {
                error(b"42809", place, "cannot add column to a partition")
            }
            [Operation::DropColumn { column_names, .. }] if column_names.len() == 1 => {
                inherited("drop", &column_names[0])
            }
            [Operation::RenameColumn { old_column_name, .. }] => {
                inherited("rename", old_column_name)
            }
            [
                Operation::AlterColumn {
                    column_name,
                    op: ast::AlterColumnOperation::SetDataType { .. },
                },
            ] => inherited("alter", column_name),
            _ => {
                let what = format!("this ALTER TABLE of \"{}\", which is a partition,", view.name);
                return unsupported(place, what, "alter the table that it is a partition of");
            }
        };
        refused.hint("alter the table that it is a partition of")
    }
}

/// Where the columns of a table find their values in one that is to be a partition of it.
fn columns_from(table: &Table, child: &Table, place: Place) -> Result<Vec<Filled>> {
    let mut all = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let id = ColumnId(at as u16);
        if let Some(generated) = table.generated(id) {
            all.push(Filled::Computed(generated.clone()));
            continue;
        }
        if table.identity() == Some(id) {
            all.push(child.identity().map_or(Filled::Identity, Filled::Old));
            continue;
        }
        let name = &column.name;
        let Some(own) = child.column(name) else {
            let message = format!("child table is missing column \"{name}\"");
            return Err(error(b"42804", place, message));
        };
        let of = &child.columns[own.index()];
        let child = &child.name;
        if of.data_type != column.data_type {
            let message =
                format!("child table \"{child}\" has different type for column \"{name}\"");
            return Err(error(b"42804", place, message));
        }
        if of.nullable && !column.nullable {
            let message = format!("column \"{name}\" in child table must be marked NOT NULL");
            return Err(error(b"42804", place, message));
        }
        all.push(Filled::Old(own));
    }
    Ok(all)
}
