//! Routing programs: the partition of a call, from its parameters alone.
//!
//! Role         asked before a call is planned, by whoever hands it to the owner of its partition:
//!              a call of one partition need not be planned at all. A few hashes for each call, and
//!              no interpreter: what routing fields equal is nearly always a parameter, a constant,
//!              or an element of an array parameter
//! Invariants   I1 a call that is said to lie in one partition touches no granule of another,
//!              whatever rows say. Where that cannot be told it is said to be unknown, and planning
//!              tells
//!              I2 of an array, all elements count, though the call may not come to all of them
//! Source       partitioned.txt 3.1 (clients route by themselves). There the partition map is given
//!              by the application; ours follows from the procedure

use hotrow_base::datum::Datum;
use hotrow_base::ids::PartitionId;
use hotrow_base::key::{KeyBuffer, KeyLayout};
use hotrow_base::types::DataType;

use super::sites::{self, Told};
use super::{Hashing, Mapping, Routing, RoutingRule};
use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::invocation::Arguments;
use crate::program::Procedure;
use crate::walk;

/// Where a call lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lies {
    /// it needs no partition: any will do
    Anywhere,
    /// in one
    In(PartitionId),
    /// in several, or parameters do not tell
    Unknown,
}

/// What a routing field equals, if parameters alone decide it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Source {
    /// a parameter that nobody assigns, by number
    Parameter(u16),
    /// one of the elements of such a parameter
    Elements(u16),
    /// a constant, with its bytes
    Constant(Datum, Box<[u8]>),
}

/// What some rows of a table have as routing fields.
#[derive(PartialEq, Debug)]
struct Fields {
    layout: KeyLayout,
    hashing: Hashing,
    mapping: Mapping,
    from: Box<[Source]>,
}

/// Which parameters decide, and how many partitions there are.
#[derive(Debug)]
pub struct RoutingProgram {
    fields: Vec<Fields>,
    partitions: u16,
}

impl RoutingProgram {
    /// That of a procedure; none where parameters do not tell for any call.
    pub fn new(
        catalog: &Catalog,
        granules: &Granules,
        routing: &Routing,
        procedure: &Procedure,
    ) -> Option<Self> {
        if walk::has_dynamic(&procedure.body) {
            return None;
        }
        let mut fields: Vec<Fields> = Vec::new();
        for site in sites::facts(catalog, granules, procedure) {
            let (parts, hashing, mapping) = match routing.rule(site.table) {
                RoutingRule::Fields { parts, hashing, mapping } => {
                    (usize::from(*parts), *hashing, mapping.clone())
                }
                // Held as a whole it would be held everywhere.
                RoutingRule::Replicated | RoutingRule::Unkeyed
                    if site.told.iter().any(|told| matches!(told, Told::Whole)) =>
                {
                    return None;
                }
                RoutingRule::Replicated | RoutingRule::Unkeyed => continue,
            };
            let primary = catalog.index(catalog.table(site.table).primary?);
            let layout = KeyLayout::new(&primary.key.parts()[..parts]).ok()?;
            for told in &site.told {
                let terms = match told {
                    Told::Columns(terms) | Told::Entries(_, terms) | Told::Rows(terms) => terms,
                    Told::Whole => return None,
                };
                let from = terms.get(..parts)?.iter().zip(layout.parts());
                let from = from.map(|(term, part)| term.source_for(part.data_type));
                let from = from.collect::<Option<Box<[_]>>>()?;
                let lists = from.iter().filter(|source| matches!(source, Source::Elements(_)));
                if lists.count() > 1 {
                    return None;
                }
                let (layout, mapping) = (layout.clone(), mapping.clone());
                let new = Fields { layout, hashing, mapping, from };
                if !fields.contains(&new) {
                    fields.push(new);
                }
            }
        }
        Some(Self { fields, partitions: routing.partition_count() })
    }

    /// Where a call with these arguments lies.
    pub fn place(&self, arguments: &Arguments) -> Lies {
        let mut place = Lies::Anywhere;
        for fields in &self.fields {
            let list = fields.from.iter().find_map(|source| match source {
                Source::Elements(at) => Some(arguments.datums.get(usize::from(*at)).copied()),
                _ => None,
            });
            let elements = match list {
                None => &[Datum::NULL][..],
                Some(Some(list)) if !list.is_null() => &arguments.elements[list.as_range().range()],
                Some(_) => continue, // it has none
            };
            for &element in elements {
                match (fields.partition(arguments, element, self.partitions), place) {
                    (Lies::Anywhere, _) => {}
                    (Lies::In(one), Lies::In(other)) if one != other => return Lies::Unknown,
                    (Lies::Unknown, _) => return Lies::Unknown,
                    (found, _) => place = found,
                }
            }
        }
        place
    }
}

impl Fields {
    /// The partition of rows with these fields; nowhere if one is NULL, since no row has such a
    /// key.
    fn partition(&self, arguments: &Arguments, element: Datum, partitions: u16) -> Lies {
        let mut key = KeyBuffer::new();
        for (at, source) in self.from.iter().enumerate() {
            let (datum, heap) = match source {
                Source::Parameter(parameter) => {
                    let Some(&datum) = arguments.datums.get(usize::from(*parameter)) else {
                        return Lies::Unknown;
                    };
                    (datum, &*arguments.heap)
                }
                Source::Elements(_) => (element, &*arguments.heap),
                Source::Constant(datum, bytes) => (*datum, &**bytes),
            };
            if datum.is_null() {
                return Lies::Anywhere;
            }
            if self.layout.encode_part(at, datum, heap, &mut key).is_err() {
                return Lies::Unknown;
            }
        }
        Lies::In(self.mapping.partition(self.hashing, &key, partitions))
    }
}

/// Whether a value of one type is a key of another as it is.
pub(super) fn is_key_as_it_is(of: DataType, column: DataType) -> bool {
    of == column || of.is_integer() && column.is_integer()
}
