//! CREATE TYPE, ALTER TYPE of enums, and CREATE DOMAIN.
//!
//! Role         turns them into catalog changes. Enums are types of their own; a domain is the type
//!              that it is made from, whose constraints a column takes over
//!              ([`crate::domain_column`]); a composite type has rows as values
//! Source       PostgreSQL 15, "CREATE TYPE" and "CREATE DOMAIN"

use std::collections::HashSet;
use std::fmt::Display;

use hotrow_base::composite::{CompositeField, CompositeType, nesting};
use hotrow_base::enumeration::{EnumType, LABEL_BYTES_MAX, LABELS_MAX};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{
    Catalog, Domain, NamedType, PUBLIC, Table, local, qualified, split,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast::{self, AlterTypeOperation, UserDefinedTypeRepresentation as Representation};
use sqlparser::tokenizer::Token;

use crate::changes::{CatalogChange, left_out};
use crate::definition::Draft;
use crate::domain_syntax::DomainSyntax;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::scope::Compiler;
use crate::token::{folded, is_word, parse_expression, tokenize};
use crate::types::{check_nesting, kept_type, named_type};
use crate::written::object_name;

impl Compiler<'_> {
    /// CREATE TYPE.
    pub(crate) fn create_type(
        &self,
        name: &ast::ObjectName,
        representation: Option<&Representation>,
    ) -> Result<CatalogChange> {
        let place = place_in(name, self.place);
        let name = self.free_type_name(&object_name(name, place)?, place)?;
        let named = match representation {
            Some(Representation::Enum { labels }) => {
                NamedType::Enum(enum_of(local(&name), labels, place)?)
            }
            Some(Representation::Composite { attributes }) => {
                let mut fields: Vec<CompositeField> = Vec::new();
                for attribute in attributes {
                    let of = kept_type(&attribute.data_type, self.type_names(), place)?.packed();
                    let field = folded(&attribute.name.value, attribute.name.quote_style.is_some());
                    check_nesting(1 + nesting(of), place)?;
                    if fields.iter().any(|(known, _)| **known == *field) {
                        let message = format!("attribute \"{field}\" specified more than once");
                        return Err(error(b"42701", place, message));
                    }
                    fields.push((field.into(), of));
                }
                NamedType::Composite(CompositeType::of(local(&name), &fields))
            }
            Some(Representation::Range { .. } | Representation::SqlDefinition { .. }) | None => {
                let hint = "write AS ENUM ('a', 'b') or AS (name type, ...)";
                return Err(unsupported(place, "such a type", hint));
            }
        };
        Ok(CatalogChange::SetType { name, named })
    }

    /// CREATE DOMAIN.
    pub(crate) fn create_domain(&mut self, written: &DomainSyntax) -> Result<CatalogChange> {
        let place = written.place;
        let name = self.free_type_name(&written.name, place)?;
        let of = kept_type(&written.of, self.type_names(), place)?.packed();
        let mut checks = Vec::new();
        for (given, condition) in &written.checks {
            let own = constraint_name((&name, &checks), given.clone(), place)?;
            checks.push((own, condition.to_string()));
        }
        let default = written.default.as_ref().map(ToString::to_string);
        let nullable = written.nullable;
        let domain = Domain { of, default, nullable, checks, not_valid: Vec::new(), number: 0 };
        self.try_domain(&domain, place)?;
        Ok(CatalogChange::SetType { name, named: NamedType::Domain(domain) })
    }

    /// Fails where a column of a domain could not be declared: its constraints are no conditions
    /// over its values.
    pub(crate) fn try_domain(&mut self, domain: &Domain, place: Place) -> Result<()> {
        const VALUE: &str = "value";
        let mut draft = Draft::of_one_column(VALUE, domain.of, place);
        self.take_over(&mut draft, VALUE, domain, place)
    }

    /// ALTER TYPE.
    pub(crate) fn alter_type(&self, written: &ast::AlterType) -> Result<Vec<CatalogChange>> {
        let place = place_in(&written.name, self.place);
        let name = object_name(&written.name, place)?;
        let Some(named) = self.type_named(&name) else {
            return Err(no_type("type", &name, place));
        };
        let NamedType::Enum(before) = **named else {
            return Err(error(b"42809", place, format!("{name} is not an enum")));
        };
        let added = match &written.operation {
            AlterTypeOperation::AddValue(added) => added,
            AlterTypeOperation::RenameValue(renamed) => {
                let (from, to) = (&renamed.from, &renamed.to);
                if before.place(&from.value).is_none() {
                    let message = format!("\"{}\" is not an existing enum label", from.value);
                    return Err(error(b"22023", place, message));
                }
                if before.place(&to.value).is_some() {
                    let message = format!("enum label \"{}\" already exists", to.value);
                    return Err(error(b"42710", place, message));
                }
                let labels = before.labels().iter().map(|label| match **label == *from.value {
                    true => to.clone(),
                    false => ast::Ident::new(&**label),
                });
                let labels: Vec<_> = labels.collect();
                let name = self.found_type_name(&name)?;
                let named = NamedType::Enum(enum_of(local(&name), &labels, place)?);
                return Ok(vec![CatalogChange::SetType { name, named }]);
            }
            _ => {
                let hint = "make another type, and a column of it";
                return Err(unsupported(place, "this change of a type", hint));
            }
        };
        let label = added.value.value.as_str();
        if before.place(label).is_some() {
            let message = format!("enum label \"{label}\" already exists");
            return match added.if_not_exists {
                true => Ok(vec![CatalogChange::Nothing(left_out(format!("{message}, skipping")))]),
                false => Err(error(b"42710", place, message)),
            };
        }
        let at = match &added.position {
            None => before.labels().len(),
            Some(
                beside @ (ast::AlterTypeAddValuePosition::After(known)
                | ast::AlterTypeAddValuePosition::Before(known)),
            ) => {
                let Some(at) = before.place(&known.value) else {
                    let message = format!("\"{}\" is not an existing enum label", known.value);
                    return Err(error(b"22023", place, message));
                };
                let is_after = matches!(beside, ast::AlterTypeAddValuePosition::After(_));
                usize::from(at) + usize::from(is_after)
            }
        };
        let known = before.labels().iter().map(|label| ast::Ident::new(&**label));
        let mut labels: Vec<_> = known.collect();
        labels.insert(at, added.value.clone());
        let name = self.found_type_name(&name)?;
        let next = enum_of(local(&name), &labels, place)?;
        let mut changes = match at < before.labels().len() {
            true => self.reorder_labels((&name, before), next, place)?,
            false => Vec::new(),
        };
        changes.push(CatalogChange::SetType { name, named: NamedType::Enum(next) });
        Ok(changes)
    }

    /// Fails with 2BP01 where a column has a type; columns in a schema are not asked.
    pub(crate) fn refuse_needed_type(
        &self,
        name: &str,
        but: Option<&str>,
        place: Place,
    ) -> Result<()> {
        let of = match self.type_named(name).map(|named| &**named) {
            Some(NamedType::Enum(of)) => DataType::Enum(*of),
            Some(NamedType::Composite(of)) => DataType::Composite(*of),
            Some(NamedType::Domain(_)) | None => return Ok(()),
        };
        let is_asked = |table: &Table| but.is_none_or(|but| *table.schema != *but);
        match self.needs_type(of, is_asked) {
            None => Ok(()),
            Some(column) => Err(needed("type", local(name), &column, place)),
        }
    }

    /// Fails with 2BP01 where a column of another table has rows of this one; not those of tables
    /// that go with it.
    pub(crate) fn refuse_needed_rows(
        &self,
        table: &Table,
        stays: impl Fn(&Table) -> bool,
        place: Place,
    ) -> Result<()> {
        match self.needs_type(DataType::Composite(table.row_type()), stays) {
            None => Ok(()),
            Some(column) => Err(needed("table", &table.name, &column, place)),
        }
    }

    /// A column that has values of a type, or values with such in them.
    fn needs_type(&self, of: DataType, is_asked: impl Fn(&Table) -> bool) -> Option<String> {
        // Not those that are kept for sessions to come: they are made anew for another type.
        let is_asked =
            |table: &Table| is_asked(table) && self.path.shows(&table.schema, &table.name);
        Some(match column_of_type(self.catalog, of, is_asked)? {
            (Holder::Type(other), field) => format!("column {field} of composite type {other}"),
            (Holder::Table(table), column) => format!("column {column} of table {table}"),
        })
    }

    /// The name, with its schema, of a type that is there.
    pub(crate) fn found_type_name(&self, written: &str) -> Result<String> {
        let (schema, name) = split(written);
        let mut schemas = schema.into_iter().chain(self.path.schemas());
        let is_there = |schema: &&str| {
            let mut all = self.catalog.types();
            all.any(|(of, known, _)| of == *schema && known == name)
        };
        let schema = schemas.find(is_there).unwrap_or(PUBLIC);
        Ok(qualified(schema, name))
    }

    /// A name that no type has.
    fn free_type_name(&self, written: &str, place: Place) -> Result<String> {
        let name = self.new_name(written, place)?;
        match self.type_named(&name) {
            None => Ok(name),
            Some(_) => {
                let message = format!("type \"{}\" already exists", local(&name));
                Err(error(b"42710", place, message))
            }
        }
    }

    /// The domain that a type is, if it is one with something to take over.
    pub(crate) fn domain(&self, written: &ast::DataType, place: Place) -> Option<Domain> {
        let ast::DataType::Custom(name, _) = written else { return None };
        match named_type(name, self.type_names(), place).as_deref() {
            Some(NamedType::Domain(domain)) => Some(domain.clone()),
            _ => None,
        }
    }

    /// The composite type of this name.
    pub(crate) fn composite(&self, name: &str) -> Option<CompositeType> {
        match self.type_named(name).map(|named| &**named) {
            Some(NamedType::Composite(of)) => Some(*of),
            _ => None,
        }
    }
}

/// What has columns.
pub(crate) enum Holder<'c> {
    /// a composite type, by its name
    Type(&'c str),
    /// a table, by its name
    Table(&'c str),
}

impl<'c> Holder<'c> {
    pub(crate) fn name(&self) -> &'c str {
        let (Self::Type(name) | Self::Table(name)) = *self;
        name
    }
}

/// The first column that has values of a type, or values with such in them: of composite types, and
/// of tables that are asked.
pub(crate) fn column_of_type<'c>(
    catalog: &'c Catalog,
    of: DataType,
    is_asked: impl Fn(&Table) -> bool,
) -> Option<(Holder<'c>, &'c str)> {
    let mut types = catalog.types();
    let of_type = types.find_map(|(_, name, named)| match **named {
        NamedType::Composite(row) => {
            let (field, _) = row.fields().iter().find(|(_, field)| asks(*field, of))?;
            Some((Holder::Type(name), &**field))
        }
        NamedType::Enum(_) | NamedType::Domain(_) => None,
    });
    of_type.or_else(|| {
        catalog.tables().iter().filter(|table| is_asked(table)).find_map(|table| {
            let column = table.columns.iter().find(|column| asks(column.data_type, of))?;
            Some((Holder::Table(&table.name), column.name.as_str()))
        })
    })
}

/// Whether a type is another one, or has it within it.
pub(crate) fn asks(of: DataType, wanted: DataType) -> bool {
    match of {
        of if of == wanted => true,
        DataType::Array(element) => asks(*element, wanted),
        DataType::Composite(of) => of.types().any(|of| asks(of, wanted)),
        _ => false,
    }
}

fn enum_of(name: &str, labels: &[ast::Ident], place: Place) -> Result<EnumType> {
    let mut seen = HashSet::new();
    for ast::Ident { value: label, .. } in labels {
        if label.is_empty() || label.len() > LABEL_BYTES_MAX {
            return Err(error(b"42602", place, format!("invalid enum label \"{label}\"")).detail(
                format!("Labels must be {LABEL_BYTES_MAX} bytes or less, and not empty."),
            ));
        }
        if !seen.insert(label.as_str()) {
            let message = format!("enum label \"{label}\" used more than once");
            return Err(error(b"42710", place, message));
        }
    }
    if labels.len() > LABELS_MAX {
        let message = format!("an enum can have at most {LABELS_MAX} labels");
        return Err(error(b"54000", place, message));
    }
    let labels: Vec<Box<str>> = labels.iter().map(|label| label.value.as_str().into()).collect();
    Ok(EnumType::of(name, &labels))
}

/// What a constraint of a domain is called: as was given, or by counting up.
///
/// Errors: 42710 where another one is called so.
pub(crate) fn constraint_name(
    (domain, checks): (&str, &[(String, String)]),
    given: Option<String>,
    place: Place,
) -> Result<String> {
    let is_taken = |name: &str| checks.iter().any(|(known, _)| *known == *name);
    let domain = local(domain);
    match given {
        Some(name) if is_taken(&name) => {
            let message = format!("constraint \"{name}\" for domain \"{domain}\" already exists");
            Err(error(b"42710", place, message))
        }
        Some(name) => Ok(name),
        None => {
            let counted = (1..).map(|n| format!("{domain}_check{n}"));
            let mut all = [format!("{domain}_check")].into_iter().chain(counted);
            Ok(all.find(|name| !is_taken(name)).unwrap_or_default())
        }
    }
}

/// An expression, with a column in place of `VALUE`.
pub(crate) fn with_value(text: &str, column: &str) -> Result<ast::Expr> {
    let place = Place { line: 1, column: 1 };
    let mut tokens = tokenize(text, place)?;
    for token in &mut tokens {
        let is_quoted = matches!(&token.token, Token::Word(word) if word.quote_style.is_some());
        if is_word(&token.token, "value") && !is_quoted {
            token.token = Token::make_word(column, Some('"'));
        }
    }
    parse_expression(&tokens, place)
}

/// 42704
pub(crate) fn no_type(kind: impl Display, name: &str, place: Place) -> SqlError {
    error(b"42704", place, format!("{kind} \"{name}\" does not exist"))
}

fn needed(kind: &str, name: &str, column: &str, place: Place) -> SqlError {
    let message = format!("cannot drop {kind} {name} because other objects depend on it");
    error(b"2BP01", place, message)
        .detail(format!("{column} depends on type {name}"))
        .hint("drop the column first")
}
