//! What ALTER TABLE says that the parser does not know: ALTER COLUMN ... SET GENERATED, DROP
//! IDENTITY and DROP EXPRESSION, ADD CONSTRAINT ... USING INDEX, ALTER CONSTRAINT.
//!
//! Role         compiles what `column_syntax` has read, each as a statement of its own
//! Source       PostgreSQL 15, "ALTER TABLE"

use hotrow_transaction::catalog::{Deferral, Index, Table};
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::alter_syntax::{AlterSyntax, Altering, RelationKind};
use crate::apply::apply;
use crate::changes::{CatalogChange, left_out};
use crate::column_syntax::{ColumnChange, UsingIndex};
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error};
use crate::scope::Compiler;
use crate::sequence::is_identity;
use crate::token::{parse_statement, quoted, tokenize};

impl Compiler<'_> {
    /// OWNED BY of a sequence that these changes make, by the parts of a column's name.
    pub(crate) fn owned_when_made(
        &self,
        made: &[CatalogChange],
        name: String,
        owner: Vec<String>,
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        if matches!(owner.as_slice(), [none] if none == "none") {
            return Ok(Vec::new());
        }
        // What it is owned by is asked of the sequence that there is behind them.
        let mut next = self.catalog.clone();
        made.iter().try_for_each(|change| apply(&mut next, change))?;
        let mut compiler = Compiler::new(&next).seeing(&self.path);
        compiler.place = self.place;
        let (kind, if_exists) = (RelationKind::Sequence, false);
        let what = Altering::OwnedBy(place, owner);
        compiler.altering(&AlterSyntax { kind, name, place, if_exists, what })
    }

    /// SET GENERATED, DROP IDENTITY, DROP EXPRESSION
    pub(crate) fn column_change(
        &mut self,
        written: &AlterSyntax,
        (name, change): (&str, &ColumnChange),
    ) -> Result<Vec<CatalogChange>> {
        let place = written.place;
        if written.if_exists && self.table_named(&written.name).is_none() {
            return self.missing(written);
        }
        let table = self.table(&written.name, place)?;
        let column = self.table_column(table, name, place)?;
        let (of, id) = (&table.columns[column.index()], table.id);
        let what = format!("column \"{name}\" of relation \"{}\"", table.name);
        let draws = of.draws.filter(|_| is_identity(of));
        let not_one = |of: &str, if_exists: bool| {
            let message = format!("{what} is not {of} column");
            match if_exists {
                true => {
                    let notice = left_out(format!("{message}, skipping"));
                    Ok(vec![CatalogChange::Nothing(notice)])
                }
                false => Err(error(b"55000", place, message)),
            }
        };
        match (change, draws) {
            (ColumnChange::SetGenerated(numbering), Some(_)) => {
                Ok(vec![CatalogChange::SetIdentity { table: id, column, numbering: *numbering }])
            }
            (ColumnChange::SetGenerated(_), None) => not_one("an identity", false),
            (ColumnChange::DropIdentity { if_exists }, None) => not_one("an identity", *if_exists),
            (ColumnChange::DropIdentity { .. }, Some(draws)) => Ok(vec![
                CatalogChange::SetDraws { table: id, column, sequence: None },
                CatalogChange::DropTable(draws.sequence),
            ]),
            (ColumnChange::DropExpression { if_exists }, _) => {
                if !table.generated.iter().any(|generated| generated.column == column) {
                    return not_one("a stored generated", *if_exists);
                }
                Ok(self.without_expression(table, column, place))
            }
        }
    }

    fn without_expression(
        &mut self,
        table: &Table,
        column: hotrow_base::ids::ColumnId,
        place: Place,
    ) -> Vec<CatalogChange> {
        let mut altered = self.draft_of(table, place);
        altered.draft.table.generated.retain(|generated| generated.column != column);
        altered.rebuilds = true;
        self.changes_of(altered)
    }

    /// ADD CONSTRAINT ... USING INDEX: the index goes, and one of the constraint comes.
    pub(crate) fn constraint_of_index(
        &mut self,
        written: &AlterSyntax,
        using: &UsingIndex,
    ) -> Result<Vec<CatalogChange>> {
        let place = written.place;
        if written.if_exists && self.table_named(&written.name).is_none() {
            return self.missing(written);
        }
        let table = self.table(&written.name, place)?;
        let mut indexes = table.declared_indexes().map(|id| self.catalog.index(id));
        let Some(index) = indexes.find(|index| index.name == using.index) else {
            let message = format!("index \"{}\" does not exist", using.index);
            return Err(error(b"42704", place, message));
        };
        let columns = self.columns_of_constraint(table, index, place)?;
        let name = using.name.as_ref().unwrap_or(&using.index);
        let kind = if using.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
        let of = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
        let (name_quoted, when) = (quoted(name), using.deferral.clause());
        let text =
            format!("ALTER TABLE {of} ADD CONSTRAINT {name_quoted} {kind} ({columns}){when}");
        let mut changes = vec![CatalogChange::DropIndex(index.id)];
        let mut next = self.catalog.clone();
        apply(&mut next, &changes[0])?;
        let mut compiler = Compiler::new(&next).seeing(&self.path);
        (compiler.place, compiler.settles_times) = (self.place, self.settles_times);
        compiler.role.clone_from(&self.role);
        let ast::Statement::AlterTable(added) = parse_statement(&tokenize(&text, place)?, place)?
        else {
            return Err(error(b"42601", place, "this is no ALTER TABLE"));
        };
        if let Compiled::Catalog(mut added) = compiler.alter_table(&added)? {
            changes.append(&mut added);
        }
        if name != &using.index {
            let text = format!(
                "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{}\" to \"{name}\"",
                using.index
            );
            changes.push(CatalogChange::Nothing(left_out(text)));
        }
        Ok(changes)
    }

    /// The names of the columns of an index that may become a constraint.
    fn columns_of_constraint(&self, table: &Table, index: &Index, place: Place) -> Result<String> {
        let name = &index.name;
        if index.is_constraint {
            let message = format!("index \"{name}\" is already associated with a constraint");
            return Err(error(b"55000", place, message));
        }
        let refused = match () {
            () if !index.unique => Some(format!("\"{name}\" is not a unique index")),
            () if table.key_of(index).len() < index.columns.len() => {
                Some(format!("\"{name}\" is a partial index"))
            }
            () if index.columns.iter().any(|c| c.index() >= table.shown().len()) => {
                Some(format!("index \"{name}\" contains expressions"))
            }
            () => None,
        };
        if let Some(message) = refused {
            let detail = "Cannot create a primary key or unique constraint using such an index.";
            return Err(error(b"42809", place, message).detail(detail.to_owned()));
        }
        let columns = index.columns.iter().map(|c| quoted(&table.columns[c.index()].name));
        Ok(columns.collect::<Vec<_>>().join(", "))
    }

    /// ALTER CONSTRAINT of a foreign key: when it is checked.
    pub(crate) fn constraint_checked(
        &self,
        written: &AlterSyntax,
        (name, deferral): (&str, Deferral),
    ) -> Result<Vec<CatalogChange>> {
        if written.if_exists && self.table_named(&written.name).is_none() {
            return self.missing(written);
        }
        let table = self.table(&written.name, written.place)?;
        if !table.foreign_keys.iter().any(|key| key.name == name) {
            let of = &table.name;
            let message = format!("constraint \"{name}\" of relation \"{of}\" does not exist");
            return Err(error(b"42704", written.place, message));
        }
        let (table, name) = (table.id, name.to_owned());
        Ok(vec![CatalogChange::SetDeferral { table, name, deferral }])
    }
}
