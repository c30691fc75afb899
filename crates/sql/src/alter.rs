//! ALTER TABLE: columns, constraints, names.
//!
//! Role         reads the operations of one statement, in order, into a draft of the table as it is
//!              to be, and tells the [`CatalogChange`]s that lead there: one for all that changes
//!              the rows' form, then one for each constraint
//! Invariants   I1 what the draft has of indexes and constraints beyond what the table had is new

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{
    Catalog, Column, Generated, Hidden, IndexKind, Table, qualified, split,
};
use hotrow_transaction::program::{Place, Procedure};
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation as Operation};

use crate::changes::{CatalogChange, Columns, Filled, TableDefinition, left_out};
use crate::compiled::Compiled;
use crate::definition::Draft;
use crate::drawn::is_random;
use crate::error::{Advice, Result, error, ident_place, place_in, unsupported};
use crate::generated::refuse_generated_of_generated;
use crate::hidden::{gone_with, identity_column, identity_key, identity_name, without};
use crate::mention::may_name;
use crate::scope::Compiler;
use crate::sequence::owned_by_column;
use crate::token::{folded, parse_statement, quoted, tokenize};
use crate::trigger::{switched, trigger_with};
use crate::types::data_type;
use crate::typing::{Coercion, assign};
use crate::written::object_name;

/// A table while the operations on it are read.
struct Altered<'c> {
    table: &'c Table,
    draft: Draft,
    /// what fills each column of the draft
    filled: Vec<Filled>,
    /// the rows' form, or the columns' NOT NULL, changes
    rebuilds: bool,
    /// indexes that go with a column, before it
    dropped: Vec<CatalogChange>,
    /// names and defaults of columns change, or a key is new
    changes: Vec<CatalogChange>,
}

impl Compiler<'_> {
    /// ALTER TABLE.
    pub(crate) fn alter_table(&mut self, written: &ast::AlterTable) -> Result<Compiled> {
        let place = place_in(&written.name, self.place);
        let name = object_name(&written.name, place)?;
        let table = match self.table(&name, place) {
            Ok(table) => table,
            Err(_) if written.if_exists => {
                let text = format!("relation \"{name}\" does not exist, skipping");
                return Ok(Compiled::Catalog(vec![CatalogChange::Nothing(left_out(text))]));
            }
            Err(error) => return Err(error),
        };
        let definition = TableDefinition::of(self.catalog, table);
        let draft = Draft::of(definition, IndexKind::BTree, place);
        let filled = (0..table.columns.len()).map(|at| Filled::Old(ColumnId(at as u16))).collect();
        let (rebuilds, dropped, changes) = (false, Vec::new(), Vec::new());
        let mut altered = Altered { table, draft, filled, rebuilds, dropped, changes };
        for operation in &written.operations {
            self.operation(&mut altered, operation)?;
        }
        let identity = self.free_name(&altered.draft, identity_name(&table.name));
        Ok(Compiled::Catalog(altered.into_changes(identity)))
    }

    fn operation(&mut self, altered: &mut Altered<'_>, operation: &Operation) -> Result<()> {
        let place = altered.draft.place;
        match operation {
            Operation::AddConstraint { constraint, not_valid } => {
                if *not_valid {
                    let text = "NOT VALID has no effect: rows that are there are checked, too";
                    altered.draft.told.push(text.to_owned());
                }
                self.add_constraint(altered, constraint)
            }
            // Rows were checked when it was added.
            Operation::ValidateConstraint { name } => altered.refuse_unknown(name),
            Operation::AddColumn { if_not_exists, column_def, .. } => {
                self.add_column(altered, column_def, *if_not_exists)
            }
            Operation::DropColumn { column_names, if_exists, .. } => column_names
                .iter()
                .try_for_each(|name| altered.drop_column(self.catalog, name, *if_exists)),
            Operation::DropConstraint { name, if_exists, .. } => {
                altered.drop_constraint(self.catalog, name, *if_exists)
            }
            Operation::RenameColumn { old_column_name, new_column_name } => {
                altered.rename_column(old_column_name, new_column_name)
            }
            Operation::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::As(name) | ast::RenameTableNameKind::To(name)) =
                    table_name;
                let name = object_name(name, place)?;
                if split(&name).0.is_some() {
                    let hint = "ALTER TABLE ... SET SCHEMA moves it";
                    return Err(unsupported(place, "RENAME TO a name with a schema", hint));
                }
                self.is_there(&qualified(&altered.table.schema, &name), false, place)?;
                let table = altered.table.id;
                altered.changes.push(CatalogChange::RenameTable { table, name });
                Ok(())
            }
            Operation::AlterColumn { column_name, op } => {
                self.alter_column(altered, column_name, op)
            }
            Operation::EnableTrigger { name } | Operation::EnableAlwaysTrigger { name } => {
                altered.switch_trigger(name, true)
            }
            Operation::DisableTrigger { name } => altered.switch_trigger(name, false),
            Operation::OwnerTo { .. } => {
                Err(unsupported(place, "OWNER TO beside others", "write an ALTER TABLE of its own"))
            }
            // PostgreSQL's UNLOGGED tables are logged here, too.
            Operation::SetLogged | Operation::SetUnlogged => Ok(()),
            other => Err(unsupported(
                place,
                format!("ALTER TABLE ... {other}"),
                "create a table as it should be, and copy the rows",
            )),
        }
    }

    fn add_constraint(
        &mut self,
        altered: &mut Altered<'_>,
        constraint: &ast::TableConstraint,
    ) -> Result<()> {
        let had_key = altered.draft.table.primary.is_some();
        self.table_constraint(&mut altered.draft, constraint)?;
        altered.rebuilds |= !had_key && altered.draft.table.primary.is_some();
        if let ast::TableConstraint::Check(check) = constraint {
            let violated_by = self.violating(altered, &check.expr)?;
            altered.push_check(violated_by);
        }
        Ok(())
    }

    /// A query for a row that a condition is false for.
    fn violating(
        &mut self,
        altered: &Altered<'_>,
        condition: &ast::Expr,
    ) -> Result<Box<Procedure>> {
        let table = altered.table;
        let name = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
        let text = format!("SELECT * FROM {name} WHERE NOT ({condition}) LIMIT 1");
        let place = altered.draft.place;
        let query = parse_statement(&tokenize(&text, place)?, place)?;
        let mut compiler = Compiler::new(self.catalog).seeing(&self.path);
        compiler.ad_hoc = true;
        compiler.place = place;
        let mut body = Vec::new();
        compiler.sql(&query, None, &mut body)?;
        Ok(Box::new(compiler.take_procedure("", body, true)))
    }

    fn add_column(
        &mut self,
        altered: &mut Altered<'_>,
        written: &ast::ColumnDef,
        if_not_exists: bool,
    ) -> Result<()> {
        let name = folded(&written.name.value, written.name.quote_style.is_some());
        let place = ident_place(&written.name, altered.draft.place);
        if if_not_exists && altered.draft.table.shown().iter().any(|c| c.name == name) {
            let table = &altered.table.name;
            let text =
                format!("column \"{name}\" of relation \"{table}\" already exists, skipping");
            altered.changes.push(CatalogChange::Nothing(left_out(text)));
            return Ok(());
        }
        let (checks, had_key) =
            (altered.draft.table.checks.len(), altered.draft.table.primary.is_some());
        let hidden = altered.set_hidden_aside();
        self.columns(&mut altered.draft, std::slice::from_ref(written))?;
        self.column_constraints(&mut altered.draft, written)?;
        if altered.draft.table.columns.last().is_some_and(|column| column.draws.is_some()) {
            let hint = "create a table that has it, and INSERT ... SELECT the rows";
            return Err(unsupported(place, "a numbered column that is being added", hint));
        }
        let draft = &mut altered.draft.table;
        if draft.checks.len() > checks {
            return Err(unsupported(
                place,
                "CHECK of a column that is being added",
                "add the column, then the constraint: ALTER TABLE ... ADD CHECK (...)",
            ));
        }
        if !had_key && draft.primary.is_some() {
            return Err(unsupported(
                place,
                "PRIMARY KEY of a column that is being added",
                "add the column, fill it, then ALTER TABLE ... ADD PRIMARY KEY",
            ));
        }
        let default = draft.columns.last().and_then(|column| column.default.clone());
        if default.as_ref().is_some_and(is_random) {
            let hint = "add the column without it, UPDATE the rows, then SET DEFAULT";
            return Err(unsupported(
                place,
                "a random DEFAULT of a column that is being added",
                hint,
            ));
        }
        refuse_generated_of_generated(draft, place)?;
        let last = ColumnId((draft.columns.len() - 1) as u16);
        let computed = draft.generated.iter().find(|computed| computed.column == last);
        let filled = match computed {
            Some(computed) => Filled::Computed(computed.clone()),
            None => Filled::By(default),
        };
        altered.filled.insert(last.index(), filled);
        altered.put_hidden_back(hidden);
        altered.rebuilds = true;
        Ok(())
    }

    fn alter_column(
        &mut self,
        altered: &mut Altered<'_>,
        name: &ast::Ident,
        operation: &AlterColumnOperation,
    ) -> Result<()> {
        let place = ident_place(name, altered.draft.place);
        let id = altered.column(name)?;
        match operation {
            AlterColumnOperation::SetNotNull | AlterColumnOperation::DropNotNull => {
                let nullable = matches!(operation, AlterColumnOperation::DropNotNull);
                let table = &mut altered.draft.table;
                if nullable && table.primary.as_ref().is_some_and(|key| key.columns.contains(&id)) {
                    let column = &table.columns[id.index()].name;
                    let text = format!("column \"{column}\" is in a primary key");
                    return Err(error(b"42P16", place, text));
                }
                altered.rebuilds |= table.columns[id.index()].nullable != nullable;
                table.columns[id.index()].nullable = nullable;
            }
            AlterColumnOperation::SetDefault { value } => {
                let column = &altered.draft.table.columns[id.index()];
                if column.draws.is_some() || self.drawn_by_default(value, place)?.is_some() {
                    let hint = "create a table that has it, and INSERT ... SELECT the rows";
                    return Err(unsupported(place, "another numbering of a column", hint));
                }
                let default = self.default_value(value, column)?;
                altered.draft.table.columns[id.index()].default = Some(default.clone());
                altered.set_default(id, Some(default));
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                self.alter_column_type(altered, id, (data_type, using.as_ref()), place)?;
            }
            AlterColumnOperation::DropDefault
                if altered.draft.table.columns[id.index()].draws.is_some() =>
            {
                let hint = "give the column values of your own in INSERT";
                return Err(unsupported(place, "dropping a column's numbers", hint));
            }
            AlterColumnOperation::DropDefault => {
                altered.draft.table.columns[id.index()].default = None;
                altered.set_default(id, None);
            }
            other => {
                return Err(unsupported(
                    place,
                    format!("ALTER COLUMN ... {other}"),
                    "add a column of the new type, UPDATE it from the old one, drop that",
                ));
            }
        }
        Ok(())
    }

    /// ALTER COLUMN ... TYPE
    fn alter_column_type(
        &mut self,
        altered: &mut Altered<'_>,
        id: ColumnId,
        (written, using): (&ast::DataType, Option<&ast::Expr>),
        place: Place,
    ) -> Result<()> {
        let to = data_type(written, self.type_names(), place)?;
        let old = altered.draft.table.columns[id.index()].clone();
        let Filled::Old(from) = altered.filled[id.index()].clone() else {
            let hint = "write an ALTER TABLE of its own for it";
            return Err(unsupported(place, "another type of a column that is new", hint));
        };
        altered.refuse_needed_type(&old.name, id, place)?;
        let cannot = |what: &str| {
            let message =
                format!("{what} \"{}\" cannot be cast automatically to type {to}", old.name);
            error(b"42804", place, message)
        };
        let column = Column { data_type: to, ..old.clone() };
        let own = ast::Expr::Identifier(ast::Ident::with_quote('"', &old.name));
        let converted = match using {
            Some(using) => self.converted(altered.table, &column, using, place)?,
            None => self.converted(altered.table, &column, &own, place).map_err(|_| {
                let hint = format!("You might need to specify \"USING {}::{to}\".", old.name);
                cannot("column").hint(hint)
            })?,
        };
        let default = match old.default {
            Some(default) => {
                let what = || format!("column \"{}\"", column.name);
                let default = assign(default, to, Coercion::Assignment, place, what);
                Some(default.map_err(|_| cannot("default for column"))?)
            }
            None => None,
        };
        if column.draws.is_some() && !to.is_integer() {
            return Err(error(
                b"22023",
                place,
                "identity column type must be smallint, integer, or bigint",
            ));
        }
        altered.filled[id.index()] = Filled::Converted(Generated { column: from, ..converted });
        altered.draft.table.columns[id.index()] = Column { default, ..column };
        altered.rebuilds = true;
        Ok(())
    }
}

impl Altered<'_> {
    /// ENABLE and DISABLE TRIGGER
    fn switch_trigger(&mut self, written: &ast::Ident, is_enabled: bool) -> Result<()> {
        let name = folded(&written.value, written.quote_style.is_some());
        let place = ident_place(written, self.draft.place);
        self.changes.extend(switched(self.table, &name, is_enabled, place)?);
        Ok(())
    }

    /// Takes the columns that users do not see out of the draft, so that another one comes before
    /// them; which they are, and what for.
    fn set_hidden_aside(&mut self) -> (Vec<Column>, Vec<Hidden>) {
        let table = &mut self.draft.table;
        let first = table.shown().len();
        let later = |column: &mut ColumnId| column.0 += u16::from(column.index() >= first);
        for of in &mut table.generated {
            of.columns.iter_mut().chain([&mut of.column]).for_each(later);
        }
        table.unique.iter_mut().for_each(|index| index.columns.iter_mut().for_each(later));
        (table.columns.split_off(first), std::mem::take(&mut table.hidden))
    }

    fn put_hidden_back(&mut self, (columns, hidden): (Vec<Column>, Vec<Hidden>)) {
        self.draft.table.columns.extend(columns);
        self.draft.table.hidden = hidden;
    }

    /// Fails where something was compiled for the type that a column has.
    fn refuse_needed_type(&self, name: &str, id: ColumnId, place: Place) -> Result<()> {
        let table = &self.draft.table;
        let check = table.checks.iter().find(|check| check.columns.contains(&id));
        let mut keys = table.foreign_keys.iter();
        let key = keys.find(|key| key.child_columns.contains(&id));
        let mut generated = table.generated.iter();
        let computed = generated.find(|other| other.columns.contains(&id) || other.column == id);
        let constraint = check.map(|check| &check.name).or(key.map(|key| &key.name));
        let what = match (constraint, computed) {
            (Some(constraint), _) => format!("constraint \"{constraint}\""),
            (None, Some(of)) if of.column.index() >= table.shown().len() => {
                "the expression or condition of an index".to_owned()
            }
            (None, Some(_)) => "a generated column".to_owned(),
            (None, None) => return Ok(()),
        };
        let what = format!("another type of column \"{name}\", which {what} needs,");
        Err(unsupported(place, what, "drop that, and add it again behind the change"))
    }

    fn column(&self, written: &ast::Ident) -> Result<ColumnId> {
        let name = folded(&written.value, written.quote_style.is_some());
        let found = self.draft.table.shown().iter().position(|column| column.name == name);
        found.map(|at| ColumnId(at as u16)).ok_or_else(|| {
            let place = ident_place(written, self.draft.place);
            let table = &self.table.name;
            let text = format!("column \"{name}\" of relation \"{table}\" does not exist");
            error(b"42703", place, text)
        })
    }

    fn set_default(
        &mut self,
        column: ColumnId,
        default: Option<hotrow_transaction::program::Expr>,
    ) {
        let table = self.table.id;
        self.changes.push(CatalogChange::SetDefault { table, column, default });
    }

    fn push_check(&mut self, violated_by: Box<Procedure>) {
        let Some(check) = self.draft.table.checks.last().cloned() else { return };
        let table = self.table.id;
        self.changes.push(CatalogChange::AddCheck { table, check, violated_by });
    }

    fn rename_column(&mut self, written: &ast::Ident, new: &ast::Ident) -> Result<()> {
        let column = self.column(written)?;
        let name = folded(&new.value, new.quote_style.is_some());
        if self.draft.table.shown().iter().any(|other| other.name == name) {
            let place = ident_place(new, self.draft.place);
            let table = &self.table.name;
            let text = format!("column \"{name}\" of relation \"{table}\" already exists");
            return Err(error(b"42701", place, text));
        }
        let old = &self.table.columns[column.index()].name;
        let names = |text: &String| may_name(text, old);
        let mut triggers = self.table.triggers.iter();
        if let Some(trigger) = triggers.find(|trigger| trigger.when.as_ref().is_some_and(names)) {
            let place = ident_place(written, self.draft.place);
            let what =
                format!("a new name of a column that WHEN of trigger \"{}\" names", trigger.name);
            return Err(unsupported(place, what, "drop the trigger, and make it again behind it"));
        }
        self.draft.table.columns[column.index()].name.clone_from(&name);
        let table = self.table.id;
        self.changes.push(CatalogChange::RenameColumn { table, column, name });
        Ok(())
    }

    /// Only on its own, since the numbers of the columns behind it change.
    fn drop_column(
        &mut self,
        catalog: &Catalog,
        written: &ast::Ident,
        if_exists: bool,
    ) -> Result<()> {
        let place = ident_place(written, self.draft.place);
        let column = match self.column(written) {
            Ok(column) => column,
            Err(missing) if if_exists => {
                let text = format!("{}, skipping", missing.message);
                self.changes.push(CatalogChange::Nothing(left_out(text)));
                return Ok(());
            }
            Err(missing) => return Err(missing),
        };
        if self.rebuilds
            || !self.changes.is_empty()
            || self.filled.len() != self.table.columns.len()
        {
            let hint = "write an ALTER TABLE of its own for each column that is dropped";
            return Err(unsupported(place, "DROP COLUMN beside other changes", hint));
        }
        let name = &self.table.columns[column.index()].name;
        let needs = |what: String| {
            let text = format!("cannot drop column {name} of table {}", self.table.name);
            let text = format!("{text} because {what} needs it");
            Err(error(b"2BP01", place, text).hint("Drop that first."))
        };
        let primary = self.table.primary.map(|id| catalog.index(id));
        if let Some(index) = primary.filter(|index| index.columns.contains(&column)) {
            return needs(format!("index {}", index.name));
        }
        if let Some(check) = self.table.checks.iter().find(|c| c.columns.contains(&column)) {
            return needs(format!("constraint {}", check.name));
        }
        if let Some(trigger) = trigger_with(self.table, column) {
            return needs(format!("trigger {}", trigger.name));
        }
        let is_shown = |of: &&Generated| self.table.hidden(of.column).is_none();
        let mut generated = self.table.generated.iter().filter(is_shown);
        if let Some(computed) = generated.find(|computed| computed.columns.contains(&column)) {
            let name = &self.table.columns[computed.column.index()].name;
            return needs(format!("column {name} of table {}", self.table.name));
        }
        let mut keys = self.table.foreign_keys.iter();
        if let Some(key) = keys.find(|key| key.child_columns.contains(&column)) {
            return needs(format!("constraint {}", key.name));
        }
        if self.table.shown().len() == 1 {
            let hint = "drop the table";
            return Err(unsupported(place, "dropping the only column of a table", hint));
        }
        let (gone, indexes) = gone_with(catalog, self.table, column);
        for id in indexes {
            crate::drop::refuse_needed(catalog, catalog.index(id), place)?;
            self.dropped.push(CatalogChange::DropIndex(id));
        }
        let dropped = &self.table.columns[column.index()];
        self.changes.extend(owned_by_column(dropped).map(CatalogChange::DropTable));
        let Columns { columns, hidden, filled, generated, .. } = without(self.table, &gone);
        let draft = &mut self.draft.table;
        (draft.columns, draft.hidden, draft.generated) = (columns, hidden, generated);
        (self.filled, self.rebuilds) = (filled, true);
        Ok(())
    }

    fn refuse_unknown(&self, written: &ast::Ident) -> Result<()> {
        let name = folded(&written.value, written.quote_style.is_some());
        if self.draft.table.constraint_names().any(|known| known == name) {
            return Ok(());
        }
        let text =
            format!("constraint \"{name}\" of relation \"{}\" does not exist", self.table.name);
        Err(error(b"42704", ident_place(written, self.draft.place), text))
    }

    fn drop_constraint(
        &mut self,
        catalog: &Catalog,
        written: &ast::Ident,
        if_exists: bool,
    ) -> Result<()> {
        let name = folded(&written.value, written.quote_style.is_some());
        let place = ident_place(written, self.draft.place);
        let table = self.table;
        let unique = table.declared_indexes().map(|id| catalog.index(id));
        let unique = unique.filter(|index| index.unique).find(|index| index.name == name);
        if let Some(index) = unique {
            if table.declared_primary() == Some(index.id) {
                let hint = "create a table without it, and copy the rows";
                return Err(unsupported(place, "dropping a primary key", hint));
            }
            crate::drop::refuse_needed(catalog, index, place)?;
            self.changes.push(CatalogChange::DropIndex(index.id));
        } else if table.checks.iter().any(|check| check.name == name)
            || table.foreign_keys.iter().any(|key| key.name == name)
        {
            self.changes.push(CatalogChange::DropConstraint { table: table.id, name });
        } else {
            let text =
                format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
            if !if_exists {
                return Err(error(b"42704", place, text));
            }
            self.changes.push(CatalogChange::Nothing(left_out(format!("{text}, skipping"))));
        }
        Ok(())
    }

    /// A table with indexes has a primary key: its own, until one is declared.
    fn settle_identity(&mut self, name: String) {
        let (table, draft) = (self.table, &mut self.draft.table);
        if let Some(of) = draft.hidden.iter().position(|of| *of == Hidden::Identity)
            && draft.primary.is_some()
        {
            let at = draft.shown().len() + of;
            draft.columns.remove(at);
            draft.hidden.remove(of);
            self.filled.remove(at);
            for generated in &mut draft.generated {
                generated.column.0 -= u16::from(generated.column.index() > at);
            }
        } else if table.primary.is_none()
            && draft.primary.is_none()
            && draft.unique.len() > table.secondary.len()
        {
            draft.primary = Some(identity_key(name, ColumnId(draft.columns.len() as u16)));
            draft.columns.push(identity_column());
            draft.hidden.push(Hidden::Identity);
            self.filled.push(Filled::Identity);
            self.rebuilds = true;
        }
    }

    fn into_changes(mut self, identity: String) -> Vec<CatalogChange> {
        self.settle_identity(identity);
        let Self { table, draft, filled, rebuilds, dropped: mut all, changes } = self;
        let TableDefinition {
            name, columns, hidden, primary, unique, foreign_keys, generated, ..
        } = draft.table;
        if rebuilds {
            let primary = primary.filter(|_| table.declared_primary().is_none());
            let table = table.id;
            all.push(CatalogChange::Columns(Columns {
                table,
                columns,
                hidden,
                filled,
                primary,
                generated,
            }));
        }
        all.extend(changes);
        all.extend(draft.told.into_iter().map(|text| CatalogChange::Nothing(left_out(text))));
        let had = table.secondary.len();
        let new = unique.into_iter().skip(had);
        all.extend(
            new.map(|definition| CatalogChange::CreateIndex { table: name.clone(), definition }),
        );
        let new = foreign_keys.into_iter().skip(table.foreign_keys.len());
        all.extend(new.map(|key| CatalogChange::AddForeignKey { table: table.id, key }));
        all
    }
}

pub(crate) fn taken(name: &str, place: Place) -> hotrow_transaction::outcome::SqlError {
    error(b"42P07", place, format!("relation \"{name}\" already exists"))
}
