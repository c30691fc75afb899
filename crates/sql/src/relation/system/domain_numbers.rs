//! The domains that there are, and their numbers in the system catalog.

use hotrow_transaction::catalog::{Column, Domain, NamedType, local, schema_of};

use super::SystemContext;
use super::cells::name_from;
use super::numbers::DOMAINS;

/// A domain, its schema and its name.
pub(super) type Named<'c> = (&'c str, &'c str, &'c Domain);

/// All of them.
pub(super) fn domains<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = Named<'c>> + use<'c> {
    context.catalog.types().filter_map(|(schema, name, named)| match &**named {
        NamedType::Domain(domain) => Some((schema, name, domain)),
        NamedType::Enum(_) | NamedType::Composite(_) => None,
    })
}

/// The number of a domain as a type; behind it is that of arrays of it.
pub(super) fn number(domain: &Domain) -> i64 {
    DOMAINS.of(domain.number as usize * 2)
}

/// The type that a column of a domain is of; none: it is of none.
pub(super) fn number_of_column(context: &SystemContext<'_>, column: &Column) -> Option<i64> {
    let of = column.domain.as_deref()?;
    let schema = schema_of(&of.name);
    let (.., domain) =
        domains(context).find(|(known, name, _)| *known == schema && *name == local(&of.name))?;
    Some(number(domain) + i64::from(domain.of != column.data_type))
}

/// The name of a domain, or of arrays of it, with this number.
pub(super) fn type_text(context: &SystemContext<'_>, wanted: i64) -> Option<String> {
    domains(context).find_map(|(schema, name, domain)| {
        let name = || name_from(context.path, schema, name);
        match wanted - number(domain) {
            0 => Some(name()),
            1 => Some(name() + "[]"),
            _ => None,
        }
    })
}
