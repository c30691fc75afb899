//! ALTER TABLE: columns, constraints, names.
//!
//! Role         reads the operations of one statement into drafts of the table as it is to be
//!              ([`Altered`]), in the order in which PostgreSQL carries them out, whatever order
//!              they are written in: what goes, other types, new columns, then what is asked of
//!              them. Each column or constraint that goes is a step of its own, and the next step
//!              is compiled for the catalog behind it: numbers of columns and names are other
//!              ones there
//! Source       PostgreSQL 15, `ATPrepCmd` and the passes of `tablecmds.c`

use std::cell::OnceCell;

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{Catalog, Column, Generated, Numbering, Table, qualified, split};
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::Place;
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation as Operation};

use crate::altered::Altered;
use crate::apply::apply;
use crate::changes::{CatalogChange, Filled, left_out};
use crate::compiled::Compiled;
use crate::definition::refuse_other_options;
use crate::drawn::is_random;
use crate::error::{Advice, Result, error, ident_place, place_in, unsupported};
use crate::generated::refuse_generated_of_generated;
use crate::scope::Compiler;
use crate::token::{expression_of_text, folded};
use crate::types::kept_type;
use crate::typing::{Coercion, assign};
use crate::written::object_name;

impl Compiler<'_> {
    /// ALTER TABLE.
    pub(crate) fn alter_table(&mut self, written: &ast::AlterTable) -> Result<Compiled> {
        let place = place_in(&written.name, self.place);
        let name = object_name(&written.name, place)?;
        if let Some((view, partition)) = self.partition_named(&name) {
            let has_key = matches!(written.operations.as_slice(),
                [Operation::AddConstraint { constraint, .. }]
                    if self.has_key_of(view, constraint));
            if !has_key
                && let Some(added) = self.added_to_partition(written, (view, partition), place)?
            {
                return match added {
                    ast::Statement::AlterTable(altered) => self.alter_table(&altered),
                    ast::Statement::CreateIndex(index) => {
                        self.create_index(&index).map(Compiled::Catalog)
                    }
                    _ => Err(unsupported(place, "this of a partition", "say it of its table")),
                };
            }
            return self.altered_partition(view, &written.operations, place).map(Compiled::Catalog);
        }
        let table = match self.table(&name, place) {
            Ok(table) => table,
            Err(_) if written.if_exists => {
                let text = format!("relation \"{name}\" does not exist, skipping");
                return Ok(Compiled::Catalog(vec![CatalogChange::Nothing(left_out(text))]));
            }
            Err(error) => return Err(error),
        };
        let (id, steps) = (table.id, steps_of(&written.operations));
        let (mut next, mut changes) = (OnceCell::<Catalog>::new(), Vec::new());
        for (at, operations) in steps.iter().enumerate() {
            let mut made = match next.get() {
                None => self.altered_by(table, operations, place)?,
                Some(catalog) => {
                    let mut compiler = Compiler::new(catalog).seeing(&self.path);
                    (compiler.place, compiler.settles_times) = (self.place, self.settles_times);
                    compiler.is_own = self.is_own;
                    compiler.role.clone_from(&self.role);
                    compiler.altered_by(catalog.table(id), operations, place)?
                }
            };
            if at + 1 < steps.len() {
                next.get_or_init(|| self.catalog.clone());
                let behind = next.get_mut().into_iter();
                for catalog in behind {
                    made.iter().try_for_each(|change| apply(catalog, change))?;
                }
            }
            changes.append(&mut made);
        }
        Ok(Compiled::Catalog(changes))
    }

    /// What some operations change of a table.
    fn altered_by(
        &mut self,
        table: &Table,
        operations: &[&Operation],
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        let mut altered = self.draft_of(table, place);
        altered.is_own = self.is_own;
        for operation in operations {
            self.operation(&mut altered, operation)?;
        }
        Ok(self.changes_of(altered))
    }

    fn operation(&mut self, altered: &mut Altered<'_>, operation: &Operation) -> Result<()> {
        let place = altered.draft.place;
        match operation {
            Operation::AddConstraint { constraint, not_valid } => {
                let had = altered.draft.table.checks.len();
                let had = (had, altered.draft.table.foreign_keys.len());
                if *not_valid && !self.is_own {
                    refuse_not_valid(constraint, place)?;
                }
                self.add_constraint(altered, constraint)?;
                if *not_valid {
                    altered.mark_not_valid(had);
                }
                Ok(())
            }
            Operation::ValidateConstraint { name } => altered.validate(name),
            Operation::AddColumn { if_not_exists, column_def, .. } => {
                self.add_column(altered, column_def, *if_not_exists)
            }
            Operation::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                let [name] = column_names.as_slice() else {
                    let hint = "write DROP COLUMN for each";
                    return Err(unsupported(place, "a list of columns behind DROP", hint));
                };
                altered.drop_column(self.catalog, name, (*if_exists, cascades(drop_behavior)))
            }
            Operation::DropConstraint { name, if_exists, drop_behavior } => {
                let how = (*if_exists, cascades(drop_behavior));
                altered.drop_constraint(self.catalog, name, how)
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
            Operation::EnableRowLevelSecurity
            | Operation::DisableRowLevelSecurity
            | Operation::ForceRowLevelSecurity
            | Operation::NoForceRowLevelSecurity => altered.switch_security(operation),
            // PostgreSQL's UNLOGGED tables are logged here, too.
            Operation::SetLogged | Operation::SetUnlogged => Ok(()),
            Operation::SetOptionsParens { options } => {
                let options = ast::CreateTableOptions::Plain(options.clone());
                refuse_other_options(&options, place)?;
                let text = "storage parameters have no effect: there are no pages here";
                altered.draft.told.push(text.to_owned());
                Ok(())
            }
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
        Ok(())
    }

    fn add_column(
        &mut self,
        altered: &mut Altered<'_>,
        written: &ast::ColumnDef,
        if_not_exists: bool,
    ) -> Result<()> {
        let name = folded(&written.name.value, written.name.quote_style.is_some());
        let place = ident_place(&written.name, altered.draft.place);
        if altered.draft.table.shown().iter().any(|column| column.name == name) {
            let table = &altered.table.name;
            let text = format!("column \"{name}\" of relation \"{table}\" already exists");
            if !if_not_exists {
                return Err(error(b"42701", place, text));
            }
            let text = SqlError::new(b"42701", format!("{text}, skipping"));
            altered.changes.push(CatalogChange::Nothing(Notice::new(text)));
            return Ok(());
        }
        let hidden = altered.set_hidden_aside();
        let sequences = altered.draft.sequences.len();
        self.columns(&mut altered.draft, std::slice::from_ref(written))?;
        self.column_constraints(&mut altered.draft, written)?;
        let draws = altered.draft.table.columns.last().and_then(|column| column.draws);
        if draws.is_some() && altered.draft.sequences.len() == sequences {
            let hint = "add the column without it, UPDATE the rows, then SET DEFAULT";
            return Err(unsupported(
                place,
                "numbers of a sequence that there is, for a column that is being added,",
                hint,
            ));
        }
        let draft = &mut altered.draft.table;
        let default = draft.columns.last().and_then(|column| column.default.clone());
        if default.as_ref().is_some_and(is_random) {
            let hint = "add the column without it, UPDATE the rows, then SET DEFAULT";
            return Err(unsupported(
                place,
                "a random DEFAULT, or current_user, of a column that is being added",
                hint,
            ));
        }
        refuse_generated_of_generated(draft, place)?;
        let last = ColumnId((draft.columns.len() - 1) as u16);
        let computed = draft.generated.iter().find(|computed| computed.column == last);
        let filled = match (computed, draws) {
            (Some(computed), _) => Filled::Computed(computed.clone()),
            (None, Some(draws)) => Filled::Numbered(draws.sequence),
            (None, None) => Filled::By(default),
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
                let column = &altered.draft.table.columns[id.index()];
                let is_required = self.domain_of_column(column).is_some_and(|of| !of.nullable);
                let table = &mut altered.draft.table;
                if nullable && table.primary.as_ref().is_some_and(|key| key.columns.contains(&id)) {
                    let column = &table.columns[id.index()].name;
                    let text = format!("column \"{column}\" is in a primary key");
                    return Err(error(b"42P16", place, text));
                }
                let next = nullable && !is_required;
                altered.rebuilds |= table.columns[id.index()].nullable != next;
                table.columns[id.index()].nullable = next;
                altered.change_domain(id, |of| of.gives_not_null = nullable && is_required);
            }
            AlterColumnOperation::SetDefault { value } => {
                altered.refuse_identity(id, place)?;
                altered.change_domain(id, |of| of.gives_default = false);
                let column = &altered.draft.table.columns[id.index()];
                if let Some(draws) = self.drawn_by_default(value, place)? {
                    if !column.data_type.is_integer() {
                        let hint = "give it a type of integers";
                        return Err(unsupported(place, "numbers of a column like this", hint));
                    }
                    altered.set_draws(id, Some(draws));
                    return Ok(());
                }
                if column.draws.is_some() {
                    altered.set_draws(id, None);
                }
                let column = &altered.draft.table.columns[id.index()];
                let default = self.default_value(value, column)?;
                altered.draft.table.columns[id.index()].default = Some(default.clone());
                altered.set_default(id, Some(default));
            }
            AlterColumnOperation::AddGenerated { generated_as, sequence_options } => {
                let as_written = match generated_as {
                    Some(ast::GeneratedAs::Always) => Numbering::Always,
                    _ => Numbering::ByDefault,
                };
                let column = &altered.draft.table.columns[id.index()];
                let what =
                    format!("column \"{}\" of relation \"{}\"", column.name, altered.table.name);
                let refused = match () {
                    () if column.nullable => Some(format!(
                        "{what} must be declared NOT NULL before identity can be added"
                    )),
                    () if altered.is_identity(id) => {
                        Some(format!("{what} is already an identity column"))
                    }
                    () if column.draws.is_some() || column.default.is_some() => {
                        Some(format!("{what} already has a default value"))
                    }
                    () => None,
                };
                if let Some(message) = refused {
                    return Err(error(b"55000", place, message));
                }
                let options = sequence_options.as_deref().unwrap_or_default();
                self.number(&mut altered.draft, id, (as_written, options), place)?;
                altered.rebuilds = true;
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                self.alter_column_type(altered, id, (data_type, using.as_ref()), place)?;
            }
            AlterColumnOperation::DropDefault => {
                altered.refuse_identity(id, place)?;
                altered.change_domain(id, |of| of.gives_default = true);
                let column = &altered.draft.table.columns[id.index()];
                let default = match self.domain_of_column(column) {
                    Some(of) => self.default_of_domain(&altered.draft, &column.name, &of)?,
                    None => None,
                };
                if column.draws.is_some() {
                    altered.set_draws(id, None);
                    if default.is_none() {
                        return Ok(());
                    }
                }
                altered.draft.table.columns[id.index()].default.clone_from(&default);
                altered.set_default(id, default);
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
        let domain = self.domain(written, place);
        let to = match &domain {
            Some(domain) => domain.of,
            None => kept_type(written, self.type_names(), place)?.packed(),
        };
        let old = altered.draft.table.columns[id.index()].clone();
        let Filled::Old(from) = altered.filled[id.index()].clone() else {
            let hint = "write an ALTER TABLE of its own for it";
            return Err(unsupported(place, "another type of a column that is new", hint));
        };
        altered.refuse_key(self.catalog, ("alter", &old.name), place)?;
        altered.refuse_needed_type(self.catalog, (&old.name, id), to, place)?;
        let checks = altered.take_checks(self.catalog, id);
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
        altered.leave_domain(id);
        let of_domain = self.of_domain((written, &[]), place)?;
        let name = column.name.clone();
        altered.draft.table.columns[id.index()] = Column { default, domain: of_domain, ..column };
        altered.rebuilds = true;
        for (name, said) in checks {
            let written = expression_of_text(&said, place)?;
            self.check(&mut altered.draft, Some(name), &written, place)?;
        }
        match domain {
            Some(domain) => self.join_domain(&mut altered.draft, (id, &name), &domain, place),
            None => Ok(()),
        }
    }
}

/// The operations of a statement in the order in which they are carried out, as steps.
fn steps_of(operations: &[Operation]) -> Vec<Vec<&Operation>> {
    let goes = |operation: &&Operation| {
        matches!(operation, Operation::DropColumn { .. } | Operation::DropConstraint { .. })
    };
    let mut steps: Vec<_> = operations.iter().filter(goes).map(|one| vec![one]).collect();
    let mut rest: Vec<_> = operations.iter().filter(|one| !goes(one)).collect();
    rest.sort_by_key(|operation| pass_of(operation));
    if !rest.is_empty() || steps.is_empty() {
        steps.push(rest);
    }
    steps
}

/// When an operation is carried out, beside others of its statement.
fn pass_of(operation: &Operation) -> u8 {
    use AlterColumnOperation as Of;
    match operation {
        Operation::AlterColumn { op: Of::DropNotNull | Of::DropDefault, .. } => 0,
        Operation::AlterColumn { op: Of::SetDataType { .. }, .. } => 1,
        Operation::AddColumn { .. } => 2,
        Operation::AlterColumn { op: Of::SetNotNull, .. } => 3,
        Operation::AddConstraint { constraint, .. } => match constraint {
            ast::TableConstraint::PrimaryKey(_) | ast::TableConstraint::Unique(_) => 4,
            ast::TableConstraint::ForeignKey(_) => 6,
            _ => 5,
        },
        Operation::AlterColumn { .. } => 5,
        _ => 7,
    }
}

/// Fails for a constraint that cannot be NOT VALID.
fn refuse_not_valid(constraint: &ast::TableConstraint, place: Place) -> Result<()> {
    let kind = match constraint {
        ast::TableConstraint::PrimaryKey(_) => "PRIMARY KEY",
        ast::TableConstraint::Unique(_) => "UNIQUE",
        ast::TableConstraint::Exclude(_) => "EXCLUDE",
        _ => return Ok(()),
    };
    Err(error(b"0A000", place, format!("{kind} constraints cannot be marked NOT VALID")))
}

fn cascades(behavior: &Option<ast::DropBehavior>) -> bool {
    *behavior == Some(ast::DropBehavior::Cascade)
}
