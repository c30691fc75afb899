//! ALTER TYPE ... ADD VALUE BEFORE and AFTER: a label among those that there are.
//!
//! Role         values are kept as their labels' places, so the rows of all tables with columns of
//!              the type are made anew, as by ALTER COLUMN ... TYPE, which refuses what it cannot
//!              do: columns that constraints, keys of partitions or expressions of indexes need

use hotrow_base::enumeration::EnumType;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{NamedType, PUBLIC, Table, split};
use hotrow_transaction::program::{ExprKind, Place};
use sqlparser::ast;

use crate::changes::CatalogChange;
use crate::compiled::Compiled;
use crate::error::{Result, error, unsupported};
use crate::named_type::asks;
use crate::scope::Compiler;
use crate::token::{parse_statement, quoted, tokenize};

impl Compiler<'_> {
    /// Has a type have labels in another order, or some among those that it has: what is changed
    /// before the type is.
    pub(crate) fn reorder_labels(
        &self,
        (name, before): (&str, EnumType),
        next: EnumType,
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        let of = DataType::Enum(before);
        let refused = |what: &str| {
            let hint = "add it behind all others, or make another type";
            Err(unsupported(place, format!("a label among others of a type that {what} has"), hint))
        };
        for (.., named) in self.catalog.types() {
            match &**named {
                NamedType::Composite(row) if row.types().any(|field| asks(field, of)) => {
                    return refused("a field");
                }
                NamedType::Domain(domain) if asks(domain.of, of) => return refused("a domain"),
                _ => {}
            }
        }
        let mut catalog = self.catalog.clone();
        catalog.set_type(name, NamedType::Enum(next));
        let mut changes = Vec::new();
        for table in self.catalog.tables().iter() {
            if table
                .columns
                .iter()
                .any(|column| column.data_type != of && asks(column.data_type, of))
            {
                return refused("an array");
            }
            let Some(text) = with_labels(table, name, before, place)? else { continue };
            let mut compiler = Compiler::new(&catalog).seeing(&self.path);
            (compiler.place, compiler.settles_times) = (self.place, self.settles_times);
            compiler.role.clone_from(&self.role);
            let parsed = parse_statement(&tokenize(&text, place)?, place)?;
            let ast::Statement::AlterTable(altered) = parsed else {
                return Err(error(b"XX000", place, "this is no ALTER TABLE"));
            };
            if let Compiled::Catalog(mut made) = compiler.alter_table(&altered)? {
                changes.append(&mut made);
            }
        }
        Ok(changes)
    }
}

/// ALTER TABLE of a table with columns of an enum, by their labels; none: it has none.
fn with_labels(table: &Table, of: &str, before: EnumType, place: Place) -> Result<Option<String>> {
    let of = match split(of) {
        (Some(schema), own) => format!("{}.{}", quoted(schema), quoted(own)),
        (None, own) => format!("{PUBLIC}.{}", quoted(own)),
    };
    let mut actions = Vec::new();
    for column in table.shown() {
        if column.data_type != DataType::Enum(before) {
            continue;
        }
        let name = quoted(&column.name);
        let default = match column.default.as_ref().map(|default| &default.kind) {
            None => None,
            Some(ExprKind::Constant(Value::Enum(known, at))) => Some(known.label(*at)),
            Some(_) => {
                let what = "a label among others of a type whose column has a computed default";
                return Err(unsupported(place, what, "drop the default before"));
            }
        };
        if default.is_some() {
            actions.push(format!("ALTER COLUMN {name} DROP DEFAULT"));
        }
        actions.push(format!("ALTER COLUMN {name} TYPE {of} USING {name}::text::{of}"));
        if let Some(label) = default {
            let label = label.replace('\'', "''");
            actions.push(format!("ALTER COLUMN {name} SET DEFAULT '{label}'::{of}"));
        }
    }
    let named = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
    Ok((!actions.is_empty()).then(|| format!("ALTER TABLE {named} {}", actions.join(", "))))
}
