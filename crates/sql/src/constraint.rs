//! Constraints and defaults of CREATE TABLE.

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{
    Check, Column, Deferral, IndexDefinition, IndexKind, Numbering, ReferentialAction,
    is_temporary, split,
};
use hotrow_transaction::program::{Expr, NOW, Place, SlotId};
use hotrow_transaction::walk::{self, reads_any};
use sqlparser::ast::{self, ColumnOption, TableConstraint};

use crate::changes::ForeignKeyDefinition;
use crate::column_syntax::never_deferred;
use crate::definition::{Draft, column_of, joined_name};
use crate::error::{Advice, Result, constraint_taken, error, ident_place, place_in, unsupported};
use crate::index::{check_key, column_name, key_columns};
use crate::scope::Compiler;
use crate::sequence::defaults_twice;
use crate::state::Row;
use crate::token::folded;
use crate::typing::{Coercion, common_type};
use crate::written::object_name;

/// CHECK constraints of a table: as many as columns.
const CHECKS_MAX: usize = 1600;

impl Compiler<'_> {
    pub(crate) fn column_constraints(
        &mut self,
        draft: &mut Draft,
        written: &ast::ColumnDef,
    ) -> Result<()> {
        let place = ident_place(&written.name, draft.place);
        let name = folded(&written.name.value, written.name.quote_style.is_some());
        let id = column_of(&draft.table, &name, place)?;
        if let Some(domain) = self.domain(&written.data_type, place) {
            self.take_over(draft, &name, &domain, place)?;
        }
        for option in &written.options {
            let given = option.name.as_ref().map(|n| folded(&n.value, n.quote_style.is_some()));
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => draft.table.columns[id.index()].nullable = false,
                ColumnOption::Default(expr) => {
                    if draft.table.columns[id.index()].draws.is_some() {
                        return Err(defaults_twice(&draft.table.name, &name, place));
                    }
                    if let Some(draws) = self.drawn_by_default(expr, place_in(expr, place))? {
                        draft.table.columns[id.index()].draws = Some(draws);
                        continue;
                    }
                    draft.table.columns[id.index()].default =
                        Some(self.default_value(expr, &draft.table.columns[id.index()])?);
                }
                ColumnOption::PrimaryKey(key) => {
                    primary_key(draft, given, vec![id], place)?;
                    tell_primary(draft, key.characteristics.as_ref(), place)?;
                }
                ColumnOption::Unique(key) => {
                    check_key(&draft.table.columns, &[id], place)?;
                    self.unique(draft, given, vec![id]);
                    defer_key(draft, key.characteristics.as_ref(), place)?;
                }
                ColumnOption::Check(check) => {
                    self.check(draft, given, &check.expr, place)?;
                }
                ColumnOption::ForeignKey(key) => {
                    self.foreign_key(draft, given, key, vec![id], place)?
                }
                ColumnOption::Generated {
                    generated_as:
                        as_written @ (ast::GeneratedAs::Always | ast::GeneratedAs::ByDefault),
                    sequence_options,
                    generation_expr: None,
                    ..
                } => {
                    let as_written = match as_written {
                        ast::GeneratedAs::Always => Numbering::Always,
                        _ => Numbering::ByDefault,
                    };
                    let options = sequence_options.as_deref().unwrap_or_default();
                    self.number(draft, id, (as_written, options), place)?;
                }
                ColumnOption::Generated {
                    generated_as: ast::GeneratedAs::Always | ast::GeneratedAs::ExpStored,
                    generation_expr: Some(value),
                    generation_expr_mode: Some(ast::GeneratedExpressionMode::Stored),
                    ..
                } => self.generate(draft, id, value, place)?,
                ColumnOption::Generated { .. } | ColumnOption::Identity(_) => {
                    let hint = "write GENERATED ALWAYS AS (expression) STORED, or GENERATED ALWAYS \
                                AS IDENTITY";
                    return Err(unsupported(place, "this kind of generated column", hint));
                }
                other => {
                    return Err(unsupported(
                        place,
                        format!("column option {other}"),
                        "leave it out",
                    ));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn default_value(&mut self, written: &ast::Expr, column: &Column) -> Result<Expr> {
        let place = place_in(written, self.place);
        self.is_default = true;
        let value = self.value_for(written, column.data_type, Coercion::Assignment, || {
            format!("column \"{}\"", column.name)
        });
        self.is_default = false;
        let value = value?;
        if self.needs_query.take().is_some() || reads_any(&value, |slot| slot != NOW) {
            let hint = "write a constant, now(), gen_random_uuid(), nextval('sequence'), or \
                        current_user";
            return Err(unsupported(place, "this DEFAULT", hint));
        }
        Ok(value)
    }

    pub(crate) fn table_constraint(
        &mut self,
        draft: &mut Draft,
        written: &TableConstraint,
    ) -> Result<()> {
        let place = place_in(written, draft.place);
        let named = |name: &Option<ast::Ident>| {
            name.as_ref().map(|n| folded(&n.value, n.quote_style.is_some()))
        };
        match written {
            TableConstraint::PrimaryKey(key) => {
                let columns = key_columns(&draft.table, &key.columns, place)?;
                primary_key(draft, named(&key.name), columns, place)?;
                tell_primary(draft, key.characteristics.as_ref(), place)
            }
            TableConstraint::Unique(unique) => {
                let columns = key_columns(&draft.table, &unique.columns, place)?;
                if matches!(unique.nulls_distinct, ast::NullsDistinctOption::NotDistinct) {
                    return Err(unsupported(place, "NULLS NOT DISTINCT", "declare NOT NULL"));
                }
                self.unique(draft, named(&unique.name), columns);
                defer_key(draft, unique.characteristics.as_ref(), place)
            }
            TableConstraint::Exclude(excluded) => {
                let name = named(&excluded.name);
                self.exclude(draft, name, excluded, place)
            }
            TableConstraint::Check(check) => {
                self.check(draft, named(&check.name), &check.expr, place)
            }
            TableConstraint::ForeignKey(key) => {
                let columns = key
                    .columns
                    .iter()
                    .map(|c| {
                        let name = folded(&c.value, c.quote_style.is_some());
                        column_of(&draft.table, &name, ident_place(c, place))
                    })
                    .collect::<Result<Vec<_>>>()?;
                self.foreign_key(draft, named(&key.name), key, columns, place)
            }
            _ => Err(unsupported(
                place,
                "this constraint",
                "write PRIMARY KEY, UNIQUE, CHECK or FOREIGN KEY",
            )),
        }
    }

    pub(crate) fn unique(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        columns: Vec<ColumnId>,
    ) {
        let name = name.unwrap_or_else(|| {
            let wanted = joined_name(&draft.table, &columns, "key");
            self.free_name(draft, wanted)
        });
        let kind = IndexKind::BTree;
        draft.table.unique.push(IndexDefinition::of_constraint(name, columns, kind));
    }

    /// EXCLUDE of rows whose values are all equal, which is what UNIQUE does.
    fn exclude(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        written: &ast::ExcludeConstraint,
        place: Place,
    ) -> Result<()> {
        let is_equal = |of: &ast::ExcludeConstraintElement| {
            let sign = &of.operator;
            matches!(sign, ast::ExcludeConstraintOperator::Token(sign) if sign == "=")
        };
        if !written.elements.iter().all(is_equal) {
            let hint = "look for the row that is in the way before you write";
            return Err(unsupported(place, "EXCLUDE by another operator than =", hint));
        }
        let is_named = |of: &ast::ExcludeConstraintElement| column_name(&of.column.column.expr);
        if written.where_clause.is_some() || !written.elements.iter().all(|e| is_named(e).is_some())
        {
            let hint = "write CREATE UNIQUE INDEX, which takes expressions and WHERE";
            return Err(unsupported(place, "EXCLUDE of some of the rows, or by expressions", hint));
        }
        let columns: Vec<_> = written.elements.iter().map(|of| of.column.clone()).collect();
        let columns = key_columns(&draft.table, &columns, place)?;
        let name = name.unwrap_or_else(|| {
            let wanted = joined_name(&draft.table, &columns, "excl");
            self.free_name(draft, wanted)
        });
        draft.told.push(format!(
            "constraint \"{name}\" is UNIQUE of its columns: who violates it is told so (23505)"
        ));
        self.unique(draft, Some(name), columns);
        defer_key(draft, written.characteristics.as_ref(), place)
    }

    pub(crate) fn check(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        written: &ast::Expr,
        place: Place,
    ) -> Result<()> {
        if draft.table.checks.len() >= CHECKS_MAX {
            let message = format!("tables can have at most {CHECKS_MAX} CHECK constraints");
            return Err(error(b"54011", place, message).hint("join some of them with AND"));
        }
        refuse_taken(draft, name.as_deref(), place)?;
        let row = Row::of(&draft.table.name, draft.table.shown());
        let (mut condition, row) = self.with_row(row, |this| this.condition(written, "CHECK"))?;
        let bound = row.bound;
        if self.needs_query.take().is_some()
            || reads_any(&condition, |slot| !bound.iter().any(|(_, s)| *s == slot))
        {
            return Err(unsupported(
                place,
                "a CHECK that reads anything but its row",
                "compare columns and constants only",
            ));
        }
        let position = |slot: SlotId| {
            bound.iter().position(|(_, s)| *s == slot).map_or(slot, |i| SlotId(i as u16))
        };
        walk::map_slots(&mut condition, &position);
        let columns: Vec<ColumnId> = bound.iter().map(|(column, _)| *column).collect();
        let name = name.unwrap_or_else(|| {
            let wanted = match columns.as_slice() {
                [column] => joined_name(&draft.table, &[*column], "check"),
                _ => format!("{}_check", draft.table.name),
            };
            self.free_name(draft, wanted)
        });
        draft.table.checks.push(Check { name, columns, condition });
        Ok(())
    }

    pub(crate) fn foreign_key(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        written: &ast::ForeignKeyConstraint,
        columns: Vec<ColumnId>,
        place: Place,
    ) -> Result<()> {
        refuse_taken(draft, name.as_deref(), place)?;
        let actions = referential_actions(written, place)?;
        let at = place_in(&written.foreign_table, place);
        let parent_name = object_name(&written.foreign_table, at)?;
        let own = match split(&parent_name) {
            (Some(schema), name) => schema == draft.table.schema && name == draft.table.name,
            // A table that is made is not there yet, one that is altered is.
            (None, name) => {
                let known = self.table_named(name);
                name == draft.table.name
                    && known.is_none_or(|table| *table.schema == draft.table.schema)
            }
        };
        let parent = if own { None } else { Some(self.table(&parent_name, at)?) };
        let is_of_session = is_temporary(&draft.table.schema);
        if parent.is_some_and(|parent| is_temporary(&parent.schema) != is_of_session) {
            let of = if is_of_session { "temporary" } else { "permanent" };
            let message = format!("constraints on {of} tables may reference only {of} tables");
            return Err(error(b"42P16", at, message));
        }
        let parent_columns_of = |names: &[ast::Ident]| -> Result<Vec<ColumnId>> {
            names
                .iter()
                .map(|ident| {
                    let name = folded(&ident.value, ident.quote_style.is_some());
                    match parent {
                        Some(table) => self.table_column(table, &name, ident_place(ident, at)),
                        None => column_of(&draft.table, &name, ident_place(ident, at)),
                    }
                })
                .collect()
        };
        let keys: Vec<(Vec<ColumnId>, Deferral)> = match parent {
            Some(table) => {
                let all = table.declared_indexes().map(|id| self.catalog.index(id));
                let unique = all.filter(|i| i.unique || i.deferral.is_deferrable());
                unique.map(|i| (i.columns.clone(), i.deferral)).collect()
            }
            None => {
                let own = draft.table.primary.iter().chain(&draft.table.unique);
                own.map(|i| (i.columns.clone(), i.deferral)).collect()
            }
        };
        let has_primary = match parent {
            Some(table) => table.declared_primary().is_some(),
            None => draft.table.primary.is_some(),
        };
        let parent_columns = if written.referred_columns.is_empty() {
            if !has_primary {
                return Err(error(
                    b"42704",
                    at,
                    format!("there is no primary key for referenced table \"{parent_name}\""),
                ));
            }
            keys.first().map(|(key, _)| key.clone()).unwrap_or_default()
        } else {
            parent_columns_of(&written.referred_columns)?
        };
        if parent_columns.len() != columns.len() {
            return Err(error(
                b"42830",
                at,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        let mut matching = keys.iter().filter(|(key, _)| {
            key.len() == parent_columns.len() && key.iter().all(|c| parent_columns.contains(c))
        });
        let is_late = |(_, deferral): &(Vec<ColumnId>, Deferral)| deferral.is_deferrable();
        if matching.clone().next().is_some() && matching.clone().all(is_late) {
            let message = format!(
                "cannot use a deferrable unique constraint for referenced table \"{parent_name}\""
            );
            return Err(error(b"55000", at, message));
        }
        if matching.next().is_none() {
            return Err(error(
                b"42830",
                at,
                format!(
                    "there is no unique constraint matching given keys for referenced table \
                     \"{parent_name}\""
                ),
            )
            .hint("declare the referenced columns PRIMARY KEY or UNIQUE"));
        }
        let name = name.unwrap_or_else(|| {
            let wanted = joined_name(&draft.table, &columns, "fkey");
            self.free_name(draft, wanted)
        });
        for (child, referenced) in columns.iter().zip(&parent_columns) {
            let child = &draft.table.columns[child.index()];
            let referenced = match parent {
                Some(table) => &table.columns[referenced.index()],
                None => &draft.table.columns[referenced.index()],
            };
            if common_type(child.data_type, referenced.data_type).is_none() {
                return Err(error(
                    b"42804",
                    at,
                    format!("foreign key constraint \"{name}\" cannot be implemented"),
                )
                .detail(format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    child.name, referenced.name, child.data_type, referenced.data_type
                )));
            }
        }
        let deferral = deferral(written.characteristics.as_ref(), place)?;
        draft.table.foreign_keys.push(ForeignKeyDefinition {
            name,
            child_columns: columns,
            parent: parent.map(|table| table.id),
            parent_columns,
            actions,
            deferral,
        });
        Ok(())
    }
}

pub(crate) fn primary_key(
    draft: &mut Draft,
    name: Option<String>,
    columns: Vec<ColumnId>,
    place: Place,
) -> Result<()> {
    if draft.table.primary.is_some() {
        return Err(error(
            b"42P16",
            place,
            format!("multiple primary keys for table \"{}\" are not allowed", draft.table.name),
        ));
    }
    for column in &columns {
        draft.table.columns[column.index()].nullable = false;
    }
    check_key(&draft.table.columns, &columns, place)?;
    let name = name.unwrap_or_else(|| format!("{}_pkey", draft.table.name));
    let kind = draft.primary_kind;
    draft.table.primary = Some(IndexDefinition::of_constraint(name, columns, kind));
    Ok(())
}

/// Has the UNIQUE that came last be checked when it is declared to be.
fn defer_key(
    draft: &mut Draft,
    written: Option<&ast::ConstraintCharacteristics>,
    place: Place,
) -> Result<()> {
    let deferral = deferral(written, place)?;
    if let Some(key) = draft.table.unique.last_mut() {
        key.defer(deferral);
    }
    Ok(())
}

/// Tells that the primary key is not deferred, as was asked for: engines know rows by it.
fn tell_primary(
    draft: &mut Draft,
    written: Option<&ast::ConstraintCharacteristics>,
    place: Place,
) -> Result<()> {
    let is_deferrable = deferral(written, place)?.is_deferrable();
    if let Some(key) = draft.table.primary.as_ref().filter(|_| is_deferrable) {
        let name = &key.name;
        draft.told.push(format!(
            "primary key \"{name}\" is checked row by row: DEFERRABLE has no effect; write UNIQUE \
             DEFERRABLE and NOT NULL to have it"
        ));
    }
    Ok(())
}

/// When a constraint is declared to be checked.
fn deferral(written: Option<&ast::ConstraintCharacteristics>, place: Place) -> Result<Deferral> {
    let Some(written) = written else { return Ok(Deferral::Never) };
    let is_late = written.initially == Some(ast::DeferrableInitial::Deferred);
    if is_late && written.deferrable == Some(false) {
        return Err(never_deferred(place));
    }
    if written.enforced == Some(false) {
        return Err(unsupported(place, "NOT ENFORCED", "leave the constraint out"));
    }
    Ok(match written.deferrable {
        _ if is_late => Deferral::Deferred,
        Some(true) => Deferral::Immediate,
        _ => Deferral::Never,
    })
}

/// ON DELETE and ON UPDATE.
fn referential_actions(
    key: &ast::ForeignKeyConstraint,
    place: Place,
) -> Result<[ReferentialAction; 2]> {
    use ast::ReferentialAction as Written;
    let action = |written: Option<Written>| match written {
        None | Some(Written::NoAction) => ReferentialAction::NoAction,
        Some(Written::Restrict) => ReferentialAction::Restrict,
        Some(Written::Cascade) => ReferentialAction::Cascade,
        Some(Written::SetNull) => ReferentialAction::SetNull,
        Some(Written::SetDefault) => ReferentialAction::SetDefault,
    };
    use ast::ConstraintReferenceMatchKind as Match;
    let is_other = match key.match_kind {
        // Of one column it is what there is.
        Some(Match::Full) => key.columns.len() > 1,
        Some(Match::Partial) => true,
        Some(Match::Simple) | None => false,
    };
    if is_other {
        return Err(unsupported(place, "MATCH FULL or PARTIAL", "declare the columns NOT NULL"));
    }
    Ok([action(key.on_delete), action(key.on_update)])
}

/// Fails where a constraint of the table has this name.
pub(crate) fn refuse_taken(draft: &Draft, name: Option<&str>, place: Place) -> Result<()> {
    let table = &draft.table;
    match name.filter(|name| table.constraint_names().any(|known| known == *name)) {
        None => Ok(()),
        Some(name) => Err(constraint_taken(name, &table.name, place)),
    }
}
