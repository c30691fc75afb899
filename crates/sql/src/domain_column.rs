//! Columns of domains: what they take over, and what ALTER DOMAIN makes of them.
//!
//! Role         a column of a domain has the domain's default, NOT NULL and constraints as its own,
//!              and notes which of them are the domain's ([`OfDomain`]), so that they follow it
//! Source       PostgreSQL 15, "ALTER DOMAIN". We differ: what breaks a constraint breaks the
//!              table's, `table_column_constraint`

use std::sync::Arc;

use hotrow_base::ids::ColumnId;
use hotrow_base::quote::identifier;
use hotrow_transaction::catalog::{Check, Column, Domain, NamedType, OfDomain, local, schema_of};
use hotrow_transaction::program::{ArrayFunction, Expr, ExprKind, Function, Place};
use sqlparser::ast::{self, ArrayElemTypeDef, ColumnOption};

use crate::columns_of_domain::{DomainColumn, name_in_table};
use crate::definition::Draft;
use crate::error::{Result, error};
use crate::named_type::with_value;
use crate::scope::Compiler;
use crate::written::{bare, object_name};

impl Compiler<'_> {
    /// What a column that is declared so has of a domain, before it takes that over; none: its type
    /// is no domain, nor an array of one.
    pub(crate) fn of_domain(
        &self,
        (written, options): (&ast::DataType, &[ast::ColumnOptionDef]),
        place: Place,
    ) -> Result<Option<Arc<OfDomain>>> {
        let (named, is_array) = match written {
            ast::DataType::Array(
                ArrayElemTypeDef::SquareBracket(of, _) | ArrayElemTypeDef::AngleBracket(of),
            ) => (&**of, true),
            of => (of, false),
        };
        let ast::DataType::Custom(name, _) = named else { return Ok(None) };
        if self.domain(named, place).is_none() {
            return Ok(None);
        }
        let says =
            |what: fn(&ColumnOption) -> bool| options.iter().any(|written| what(&written.option));
        let is_not_null = says(|of| matches!(of, ColumnOption::NotNull));
        let has_default =
            says(|of| matches!(of, ColumnOption::Default(_) | ColumnOption::Generated { .. }));
        let name = self.found_type_name(&object_name(name, place)?)?;
        let gives_not_null = !is_array && !is_not_null;
        let gives_default = !is_array && !has_default;
        Ok(Some(Arc::new(OfDomain { name, gives_not_null, gives_default, checks: Vec::new() })))
    }

    /// Gives a column of a draft what its domain asks for.
    pub(crate) fn take_over(
        &mut self,
        draft: &mut Draft,
        column: &str,
        domain: &Domain,
        place: Place,
    ) -> Result<()> {
        let mut checks = Vec::new();
        for (own, condition) in &domain.checks {
            let condition = with_value(condition, column)?;
            let check = name_in_table(&draft.table.name, column, own);
            self.check(draft, Some(check.clone()), &condition, place)?;
            checks.push((own.clone(), check));
        }
        let default = self.default_of_domain(draft, column, domain)?;
        let Some(of) = draft.column_mut(column) else { return Ok(()) };
        let has_own = !of.nullable;
        of.nullable &= domain.nullable;
        if default.is_some() {
            of.default = default;
        }
        if let Some(of) = of.domain.as_mut().map(Arc::make_mut) {
            of.gives_not_null &= !domain.nullable && !has_own;
            of.checks = checks;
        }
        Ok(())
    }

    /// Has a column that there is be of a domain; it keeps its default, if it has one.
    pub(crate) fn join_domain(
        &mut self,
        draft: &mut Draft,
        (id, name): (ColumnId, &str),
        domain: &Domain,
        place: Place,
    ) -> Result<()> {
        let had = draft.table.columns[id.index()].default.clone();
        self.take_over(draft, name, domain, place)?;
        let column = &mut draft.table.columns[id.index()];
        if had.is_some() {
            column.default = had;
            if let Some(of) = &mut column.domain {
                Arc::make_mut(of).gives_default = false;
            }
        }
        Ok(())
    }

    /// The domain that a column is of, if it is of one, and not of arrays of it.
    pub(crate) fn domain_of_column(&self, column: &Column) -> Option<Domain> {
        let of = column.domain.as_deref()?;
        match &**self.type_named(&of.name)? {
            NamedType::Domain(domain) if domain.of == column.data_type => Some(domain.clone()),
            _ => None,
        }
    }

    /// A domain as a column that is called by a name, and its constraints as those of a table.
    ///
    /// Errors: it could not be declared here.
    pub(crate) fn domain_as_column(
        &mut self,
        name: &str,
        domain: &Domain,
    ) -> Result<(Option<Column>, Vec<Check>)> {
        let place = self.place;
        let mut draft = Draft::of_one_column(name, domain.of, place);
        self.take_over(&mut draft, name, domain, place)?;
        Ok((draft.table.columns.pop(), draft.table.checks))
    }

    /// The default that a domain gives a column of a draft.
    pub(crate) fn default_of_domain(
        &mut self,
        draft: &Draft,
        column: &str,
        domain: &Domain,
    ) -> Result<Option<Expr>> {
        let Some(default) = &domain.default else { return Ok(None) };
        let default = with_value(default, column)?;
        let mut columns = draft.table.columns.iter();
        let of = columns.find(|known| known.name == column);
        of.map(|of| self.default_value(&default, of)).transpose()
    }

    /// The name of the domain, or of arrays of one, that a value is told to be of: of a column, a
    /// cast or a variable.
    pub(crate) fn domain_told(&self, written: &ast::Expr, value: &Expr) -> Option<String> {
        let shown = |name: &str| {
            let own = self.found_type_name(local(name)).ok();
            match own.is_some_and(|own| own == name) {
                true => identifier(local(name)),
                false => {
                    let schema = schema_of(name);
                    format!("{}.{}", identifier(schema), identifier(local(name)))
                }
            }
        };
        if let ast::Expr::Cast { data_type: to @ ast::DataType::Custom(name, _), .. } =
            bare(written)
        {
            self.domain(to, self.place)?;
            let name = object_name(name, self.place).ok()?;
            return self.found_type_name(&name).ok().map(|name| shown(&name));
        }
        if let ExprKind::Slot(slot) = value.kind
            && let Some((_, of)) = self.domains.of_slots.iter().find(|(known, _)| *known == slot)
        {
            return Some(of.name.clone());
        }
        let kept = match &value.kind {
            ExprKind::Call(Function::Array(ArrayFunction::Unpack), arguments) => {
                arguments.first()?
            }
            _ => value,
        };
        let (table, column) = self.origin_of(kept)?;
        let column = &self.catalog.table(table).columns[column.index()];
        let of = column.domain.as_deref()?;
        let is_array = self.domain_of_column(column).is_none();
        Some(shown(&of.name) + if is_array { "[]" } else { "" })
    }

    /// The check that a condition over VALUE is for a column, as one of its table: its name there.
    pub(crate) fn check_of_column(
        &mut self,
        of: DomainColumn<'_>,
        (own, condition): (&str, &str),
        place: Place,
    ) -> Result<Check> {
        let column = &of.column().name;
        let mut draft = self.draft_of(of.table, place).draft;
        let name = self.free_name(&draft, name_in_table(&of.table.name, column, own));
        self.check(&mut draft, Some(name), &with_value(condition, column)?, place)?;
        let made = draft.table.checks.pop();
        made.ok_or_else(|| error(b"XX000", place, "a constraint of a domain was not made"))
    }
}

impl Draft {
    /// The column of this name.
    pub(crate) fn column_mut(&mut self, name: &str) -> Option<&mut Column> {
        self.table.columns.iter_mut().find(|known| known.name == name)
    }
}
