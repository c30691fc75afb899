//! What EXPLAIN PROCEDURE says about partitions.

use std::fmt::Write;

use hotrow_base::ids::TableId;

use super::infer;
use super::sites::{self, Reach, SiteFacts, Term, Told};
use super::{Routing, RoutingProgram, RoutingRule, SecondaryEntries};
use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::program::Procedure;
use crate::walk;

/// One line per access site, in site order: where its rows lie.
pub fn explain_site(
    catalog: &Catalog,
    granules: &Granules,
    routing: &Routing,
    procedure: &Procedure,
) -> Vec<String> {
    let facts = sites::facts(catalog, granules, procedure);
    facts.iter().map(|site| Text { catalog, routing }.site(site)).collect()
}

/// Whether a procedure's calls stay in one partition.
pub fn explain_procedure(
    catalog: &Catalog,
    granules: &Granules,
    routing: &Routing,
    procedure: &Procedure,
) -> String {
    if walk::has_dynamic(&procedure.body) {
        return "A call touches the partitions that its texts name.".to_owned();
    }
    let facts = sites::facts(catalog, granules, procedure);
    let text = Text { catalog, routing };
    let alike = |a, b| routing.alike(catalog, a, b);
    let parts = |table| text.parts(table);
    let told = || match RoutingProgram::new(catalog, granules, routing, procedure) {
        Some(_) => " Its parameters tell which.",
        None => "",
    };
    match sites::reach(catalog, &facts, routing.secondary, parts, alike) {
        Reach::One => format!("A call touches one partition.{}", told()),
        Reach::OneWhen(equal) => {
            let equal: Vec<_> = equal.iter().map(|(a, b)| condition(a, b)).collect();
            format!("A call touches one partition when {}.{}", equal.join(" and "), told())
        }
        Reach::Unknown(why) => {
            format!("How many partitions a call touches is not known before it is planned: {why}.")
        }
        Reach::Several(a, b) => format!(
            "A call touches several partitions: {} is routed by {}, {} by {}.",
            catalog.table(a).name,
            text.fields(a),
            catalog.table(b).name,
            text.fields(b)
        ),
        Reach::All(table) => {
            format!("A call touches all partitions, those of {}.", catalog.table(table).name)
        }
    }
}

fn condition(a: &str, b: &str) -> String {
    if a == b { format!("{a} is the same every time") } else { format!("{a} = {b}") }
}

struct Text<'a> {
    catalog: &'a Catalog,
    routing: &'a Routing,
}

impl Text<'_> {
    /// How many routing fields a table has; none where it is not routed.
    fn parts(&self, table: TableId) -> Option<usize> {
        match self.routing.rule(table) {
            RoutingRule::Fields { parts, .. } => Some(*parts as usize),
            RoutingRule::Replicated | RoutingRule::Unkeyed => None,
        }
    }

    /// Names of the routing fields.
    fn columns(&self, table: TableId) -> Vec<&str> {
        let described = self.catalog.table(table);
        let parts = self.parts(table).unwrap_or(0);
        let primary = described.primary.map(|primary| self.catalog.index(primary));
        let columns = primary.map_or(&[][..], |index| &index.columns[..parts]);
        columns.iter().map(|column| described.columns[column.index()].name.as_str()).collect()
    }

    fn fields(&self, table: TableId) -> String {
        format!("({})", self.columns(table).join(", "))
    }

    fn site(&self, site: &SiteFacts) -> String {
        let parts = match self.routing.rule(site.table) {
            RoutingRule::Replicated if !infer::is_replicated(self.catalog, site.table) => {
                return "any partition (read only)".to_owned();
            }
            RoutingRule::Replicated if site.told.is_empty() => {
                return "any partition (replicated)".to_owned();
            }
            RoutingRule::Replicated => {
                return "all partitions, because the table is replicated".to_owned();
            }
            RoutingRule::Unkeyed if site.told.is_empty() => {
                return "any partition (a row without a key stays where it is inserted)".to_owned();
            }
            RoutingRule::Unkeyed => return "all partitions, because rows have no key".to_owned(),
            RoutingRule::Fields { .. } if site.told.is_empty() => {
                return "any partition (columns that nobody writes)".to_owned();
            }
            RoutingRule::Fields { parts: 0, .. } => return "the table's one partition".to_owned(),
            RoutingRule::Fields { parts, .. } => *parts as usize,
        };
        let mut lines: Vec<String> = Vec::new();
        for told in &site.told {
            let line = self.told(site.table, told, parts);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("; ")
    }

    fn told(&self, table: TableId, told: &Told, parts: usize) -> String {
        match told {
            Told::Whole => "all partitions, because no key column is bound by equality".to_owned(),
            Told::Columns(terms) | Told::Entries(_, terms) | Told::Rows(terms)
                if terms.len() >= parts =>
            {
                self.routed(table, &terms[..parts])
            }
            Told::Rows(_) => "each row found is routed by its own key".to_owned(),
            Told::Columns(_) => format!(
                "all partitions, because granules do not tell {}",
                self.columns(table).join(", ")
            ),
            Told::Entries(index, _) => {
                let name = &self.catalog.index(*index).name;
                match self.routing.secondary {
                    SecondaryEntries::Shared => {
                        format!("any partition for {name}, which is shared")
                    }
                    SecondaryEntries::WithRows => format!(
                        "all partitions, because {name} does not tell {}",
                        self.columns(table).join(", ")
                    ),
                }
            }
        }
    }

    fn routed(&self, table: TableId, terms: &[Term]) -> String {
        let mut text = "routed by ".to_owned();
        for (at, (column, term)) in self.columns(table).iter().zip(terms).enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let _ = write!(text, "{comma}{column} = {}", term.text);
        }
        text
    }
}
