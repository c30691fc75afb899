//! ALTER DOMAIN.
//!
//! Role         changes a domain, and its columns with it: what they have of it is the table's own
//!              ([`crate::domain_column`])
//! Source       PostgreSQL 15, "ALTER DOMAIN" and `typecmds.c`

use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_transaction::catalog::{Domain, NamedType, OfDomain, local};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::alter_syntax::AlterSyntax;
use crate::changes::{CatalogChange, left_out};
use crate::columns_of_domain::{DomainColumn, columns_of_domain};
use crate::domain_syntax::DomainChange;
use crate::error::{Result, error};
use crate::named_type::constraint_name;
use crate::scope::Compiler;

/// A domain that is altered.
struct AlteredDomain<'c> {
    /// with its schema
    name: String,
    before: Domain,
    columns: Vec<DomainColumn<'c>>,
    place: Place,
}

impl<'c> Compiler<'c> {
    pub(crate) fn alter_domain(
        &mut self,
        written: &AlterSyntax,
        change: &DomainChange,
    ) -> Result<Vec<CatalogChange>> {
        let place = written.place;
        let name = self.altered_type((written.kind, &written.name), place)?;
        let before = match self.type_named(&name).map(|named| &**named) {
            Some(NamedType::Domain(before)) => before.clone(),
            _ => return Ok(Vec::new()),
        };
        let columns = columns_of_domain(self.catalog, &name).collect();
        let altered = AlteredDomain { name, before, columns, place };
        match change {
            DomainChange::Default(value) => self.domain_default(&altered, value.as_ref()),
            DomainChange::Nullable(nullable) => self.domain_nullable(&altered, *nullable),
            DomainChange::Add { name, condition, not_valid } => {
                self.add_domain_check(&altered, name.clone(), (condition, *not_valid))
            }
            DomainChange::Drop { name, if_exists } => altered.without_check(name, *if_exists),
            DomainChange::Rename { name, to } => altered.with_renamed(name, to),
            DomainChange::Validate(name) => self.validate_domain_check(&altered, name),
        }
    }

    /// SET and DROP DEFAULT
    fn domain_default(
        &mut self,
        altered: &AlteredDomain<'c>,
        value: Option<&ast::Expr>,
    ) -> Result<Vec<CatalogChange>> {
        let default = value.map(ToString::to_string);
        let next = Domain { default, ..altered.before.clone() };
        self.try_domain(&next, altered.place)?;
        let mut changes = Vec::new();
        for of in altered.columns.iter().filter(|of| of.of.gives_default) {
            let draft = self.draft_of(of.table, altered.place).draft;
            let default = self.default_of_domain(&draft, &of.column().name, &next)?;
            let (table, column) = (of.table.id, of.id);
            changes.push(CatalogChange::SetDefault { table, column, default });
        }
        changes.push(altered.becomes(next));
        Ok(changes)
    }

    /// SET and DROP NOT NULL
    fn domain_nullable(
        &mut self,
        altered: &AlteredDomain<'c>,
        nullable: bool,
    ) -> Result<Vec<CatalogChange>> {
        if altered.before.nullable == nullable {
            return Ok(Vec::new());
        }
        altered.refuse_arrays()?;
        let mut tables: BTreeMap<TableId, Vec<&DomainColumn<'c>>> = BTreeMap::new();
        for of in &altered.columns {
            tables.entry(of.table.id).or_default().push(of);
        }
        let mut changes = Vec::new();
        for columns in tables.into_values() {
            let mut draft = self.draft_of(columns[0].table, altered.place);
            for of in columns {
                let is_key = of.table.declared_primary();
                let is_key =
                    is_key.is_some_and(|key| self.catalog.index(key).columns.contains(&of.id));
                let column = &mut draft.draft.table.columns[of.id.index()];
                let follows = match nullable {
                    true => of.of.gives_not_null && !is_key,
                    false => column.nullable,
                };
                if !follows {
                    continue;
                }
                column.nullable = nullable;
                let next = OfDomain { gives_not_null: !nullable, ..of.of.clone() };
                column.domain = Some(Arc::new(next));
                draft.rebuilds = true;
            }
            changes.extend(self.changes_of(draft));
        }
        changes.push(altered.becomes(Domain { nullable, ..altered.before.clone() }));
        Ok(changes)
    }

    /// ADD CONSTRAINT
    fn add_domain_check(
        &mut self,
        altered: &AlteredDomain<'c>,
        given: Option<String>,
        (condition, not_valid): (&ast::Expr, bool),
    ) -> Result<Vec<CatalogChange>> {
        let AlteredDomain { name, before, place, .. } = altered;
        let own = constraint_name((name, &before.checks), given, *place)?;
        let condition = condition.to_string();
        let mut next = before.clone();
        next.checks.push((own.clone(), condition.clone()));
        if not_valid {
            next.not_valid.push(own.clone());
        }
        self.try_domain(&next, *place)?;
        altered.refuse_arrays()?;
        let mut changes = Vec::new();
        for of in &altered.columns {
            let check = self.check_of_column(*of, (&own, &condition), *place)?;
            let table = of.table.id;
            if !not_valid {
                let (rows, refused) = (check.clone(), Box::new(violated(of, *place)));
                changes.push(CatalogChange::RequireRows { table, rows, refused });
            }
            let mut next = of.of.clone();
            next.checks.push((own.clone(), check.name.clone()));
            changes.push(CatalogChange::AddCheck { table, check, is_valid: !not_valid });
            changes.push(of.set(next));
        }
        changes.push(altered.becomes(next));
        Ok(changes)
    }

    /// VALIDATE CONSTRAINT
    fn validate_domain_check(
        &mut self,
        altered: &AlteredDomain<'c>,
        own: &str,
    ) -> Result<Vec<CatalogChange>> {
        let AlteredDomain { before, place, .. } = altered;
        if !before.checks.iter().any(|(known, _)| known == own) {
            return Err(altered.no_constraint(own));
        }
        let mut next = before.clone();
        next.not_valid.retain(|known| known != own);
        if next == *before {
            return Ok(Vec::new());
        }
        let mut changes = Vec::new();
        for of in &altered.columns {
            let mut checks = of.table.checks.iter();
            let Some(name) = of.check(own) else { continue };
            let Some(rows) = checks.find(|check| check.name == name).cloned() else { continue };
            let (table, refused) = (of.table.id, Box::new(violated(of, *place)));
            changes.push(CatalogChange::RequireRows { table, rows, refused });
            changes.push(CatalogChange::Validate { table, name: name.to_owned() });
        }
        changes.push(altered.becomes(next));
        Ok(changes)
    }
}

impl AlteredDomain<'_> {
    fn becomes(&self, next: Domain) -> CatalogChange {
        CatalogChange::SetType { name: self.name.clone(), named: NamedType::Domain(next) }
    }

    /// Fails with 0A000 where arrays of the domain are in a column: their elements are not asked.
    fn refuse_arrays(&self) -> Result<()> {
        match self.columns.iter().find(|of| of.is_array(&self.before)) {
            None => Ok(()),
            Some(of) => {
                let (name, table, column) = (local(&self.name), &of.table.name, &of.column().name);
                let message = format!(
                    "cannot alter type \"{name}\" because column \"{table}.{column}\" uses it"
                );
                Err(error(b"0A000", self.place, message))
            }
        }
    }

    fn no_constraint(&self, own: &str) -> SqlError {
        let name = local(&self.name);
        let message = format!("constraint \"{own}\" of domain \"{name}\" does not exist");
        error(b"42704", self.place, message)
    }

    /// DROP CONSTRAINT
    fn without_check(&self, own: &str, if_exists: bool) -> Result<Vec<CatalogChange>> {
        let mut next = self.before.clone();
        next.checks.retain(|(known, _)| known != own);
        next.not_valid.retain(|known| known != own);
        if next.checks.len() == self.before.checks.len() {
            let missing = self.no_constraint(own);
            return match if_exists {
                true => {
                    let text = format!("{}, skipping", missing.message);
                    Ok(vec![CatalogChange::Nothing(left_out(text))])
                }
                false => Err(missing),
            };
        }
        let mut changes = Vec::new();
        for of in &self.columns {
            let Some(name) = of.check(own).map(str::to_owned) else { continue };
            changes.push(CatalogChange::DropConstraint { table: of.table.id, name });
            let mut next = of.of.clone();
            next.checks.retain(|(known, _)| known != own);
            changes.push(of.set(next));
        }
        changes.push(self.becomes(next));
        Ok(changes)
    }

    /// RENAME CONSTRAINT; what it is called in tables stays.
    fn with_renamed(&self, own: &str, to: &str) -> Result<Vec<CatalogChange>> {
        let name = local(&self.name);
        let has = |wanted: &str| self.before.checks.iter().any(|(known, _)| known == wanted);
        if !has(own) {
            let message = format!("constraint \"{own}\" for domain {name} does not exist");
            return Err(error(b"42704", self.place, message));
        }
        if has(to) {
            let message = format!("constraint \"{to}\" for domain {name} already exists");
            return Err(error(b"42710", self.place, message));
        }
        let mut next = self.before.clone();
        let checks = next.checks.iter_mut().map(|(known, _)| known);
        let renamed = checks.chain(&mut next.not_valid).filter(|known| **known == *own);
        renamed.for_each(|known| to.clone_into(known));
        let mut changes = Vec::new();
        for of in &self.columns {
            let mut next = of.of.clone();
            let renamed = next.checks.iter_mut().filter(|(known, _)| known == own);
            renamed.for_each(|(known, _)| to.clone_into(known));
            changes.push(of.set(next));
        }
        changes.push(self.becomes(next));
        Ok(changes)
    }
}

/// That rows which are there break a constraint of a domain.
fn violated(of: &DomainColumn<'_>, place: Place) -> SqlError {
    let (column, table) = (&of.column().name, &of.table.name);
    let message = format!(
        "column \"{column}\" of table \"{table}\" contains values that violate the new constraint"
    );
    error(b"23514", place, message)
}
