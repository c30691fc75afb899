//! ALTER TYPE of a composite type: its attributes.
//!
//! Source       PostgreSQL 15, "ALTER TYPE". We differ: no attribute is added or dropped while a
//!              column has the type

use hotrow_base::composite::{CompositeField, CompositeType, nesting};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{NamedType, local, qualified};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::alter_syntax::AlterSyntax;
use crate::attribute_syntax::AttributeChange;
use crate::changes::{CatalogChange, left_out};
use crate::error::{Result, error, unsupported};
use crate::named_type::asks;
use crate::scope::Compiler;
use crate::types::{check_nesting, kept_type};

impl Compiler<'_> {
    /// ALTER TYPE ... ATTRIBUTE.
    pub(crate) fn alter_attributes(
        &self,
        written: &AlterSyntax,
        changes: &[AttributeChange],
    ) -> Result<Vec<CatalogChange>> {
        let place = written.place;
        let name = self.altered_type((written.kind, &written.name), place)?;
        let before = match self.type_named(&name).map(|named| &**named) {
            Some(NamedType::Composite(before)) => *before,
            _ => {
                let name = local(&name);
                let message = format!("\"{name}\" is not a composite type");
                return Err(error(b"42809", place, message));
            }
        };
        let mut fields = before.fields().to_vec();
        let mut all = Vec::new();
        for change in changes {
            let told = self.change_attribute((local(&name), &mut fields), change, place)?;
            all.extend(told.map(|text| CatalogChange::Nothing(left_out(text))));
        }
        let next = CompositeType::of(before.name(), &fields);
        if next != before {
            self.refuse_domain_over(before, place)?;
        }
        let is_rename = matches!(changes, [AttributeChange::Rename(..)]);
        if next != before && !is_rename {
            self.refuse_used(before, place)?;
        }
        all.extend(self.with_next_type((&name, before), next));
        Ok(all)
    }

    /// What is told of a change that leaves the attributes as they are.
    fn change_attribute(
        &self,
        (of, fields): (&str, &mut Vec<CompositeField>),
        change: &AttributeChange,
        place: Place,
    ) -> Result<Option<String>> {
        let found = |name: &str| fields.iter().position(|(known, _)| **known == *name);
        let missing = |name: &str| format!("column \"{name}\" of relation \"{of}\" does not exist");
        let is_taken = |name: &str| -> SqlError {
            let message = format!("column \"{name}\" of relation \"{of}\" already exists");
            error(b"42701", place, message)
        };
        let type_of = |written: &ast::DataType| -> Result<DataType> {
            let of = kept_type(written, self.type_names(), place)?.packed();
            check_nesting(1 + nesting(of), place)?;
            Ok(of)
        };
        match change {
            AttributeChange::Add(name, _) if found(name).is_some() => return Err(is_taken(name)),
            AttributeChange::Add(name, written) => {
                let field = type_of(written)?;
                fields.push((name.as_str().into(), field));
            }
            AttributeChange::Drop(name, if_exists) => match found(name) {
                Some(at) => drop(fields.remove(at)),
                None if *if_exists => return Ok(Some(format!("{}, skipping", missing(name)))),
                None => return Err(error(b"42703", place, missing(name))),
            },
            AttributeChange::Type(name, written) => match found(name) {
                Some(at) => fields[at].1 = type_of(written)?,
                None => return Err(error(b"42703", place, missing(name))),
            },
            AttributeChange::Rename(name, to) => match (found(name), found(to)) {
                (None, _) => {
                    return Err(error(
                        b"42703",
                        place,
                        format!("column \"{name}\" does not exist"),
                    ));
                }
                (_, Some(_)) => return Err(is_taken(to)),
                (Some(at), None) => fields[at].0 = to.as_str().into(),
            },
        }
        Ok(None)
    }

    /// Fails with 0A000 where a domain is made from a type.
    fn refuse_domain_over(&self, of: CompositeType, place: Place) -> Result<()> {
        let mut all = self.catalog.types();
        let is_over = |named: &NamedType| match named {
            NamedType::Domain(domain) => asks(domain.of, DataType::Composite(of)),
            NamedType::Enum(_) | NamedType::Composite(_) => false,
        };
        match all.find(|(.., named)| is_over(named)) {
            None => Ok(()),
            Some((_, domain, _)) => {
                let what = format!("another form of a type that domain \"{domain}\" is made from");
                Err(unsupported(place, what, "drop the domain, and make it again behind it"))
            }
        }
    }

    /// Fails with 0A000 where a column of a table has rows of a type.
    fn refuse_used(&self, of: CompositeType, place: Place) -> Result<()> {
        let of = DataType::Composite(of);
        let mut tables = self.catalog.tables().iter();
        let used = tables.find_map(|table| {
            let column = table.columns.iter().find(|column| asks(column.data_type, of))?;
            Some((&table.name, &column.name))
        });
        let Some((table, column)) = used else { return Ok(()) };
        let DataType::Composite(of) = of else { return Ok(()) };
        let name = of.name();
        let message =
            format!("cannot alter type \"{name}\" because column \"{table}.{column}\" uses it");
        Err(error(b"0A000", place, message))
    }

    /// A type as it is next, and the types that have fields of it.
    fn with_next_type(
        &self,
        (name, before): (&str, CompositeType),
        next: CompositeType,
    ) -> Vec<CatalogChange> {
        let mut all = vec![CatalogChange::SetType {
            name: name.to_owned(),
            named: NamedType::Composite(next),
        }];
        let (was, is) = (DataType::Composite(before), DataType::Composite(next));
        let with_it = |of: DataType| match of {
            of if of == was => is,
            of if of == was.array() => is.array(),
            other => other,
        };
        for (schema, other, named) in self.catalog.types() {
            let NamedType::Composite(row) = **named else { continue };
            let fields: Vec<CompositeField> =
                row.fields().iter().map(|(name, of)| (name.clone(), with_it(*of))).collect();
            let around = CompositeType::of(row.name(), &fields);
            if around != row {
                all.extend(self.with_next_type((&qualified(schema, other), row), around));
            }
        }
        all
    }
}
