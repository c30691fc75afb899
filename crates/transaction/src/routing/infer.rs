//! The inference of routing fields.
//!
//! Role         chooses, for every written table, how many leading columns of its primary key
//!              route it
//! Source       none of the papers infers them: DORA's and H-Store's designers name the fields.
//!              We climb: from all tables at depth 1, 2, ... (a common depth is what makes tables
//!              meet: warehouse's whole key is a prefix of district's), one table at a time, to
//!              more procedures in one partition, then to longer prefixes, which spread better.

use hotrow_base::ids::TableId;

use super::sites::{self, Reach, SiteFacts, same_bytes};
use super::{Hashing, Mapping, RoutingRule, SecondaryEntries};
use crate::catalog::{Catalog, DeclaredRouting, Table};
use crate::granule::Granules;
use crate::program::Procedure;

/// Rules for all tables, hashed.
pub(super) fn rules<'a>(
    catalog: &Catalog,
    granules: &Granules,
    procedures: impl IntoIterator<Item = &'a Procedure>,
) -> Vec<RoutingRule> {
    let facts: Vec<_> =
        procedures.into_iter().map(|p| sites::facts(catalog, granules, p)).collect();
    let mut longest = vec![None; catalog.tables().len()];
    for table in catalog.tables().iter() {
        longest[table.id.index()] = longest_of(catalog, granules, table);
    }
    let mut search = Search::new(catalog, &facts, &longest);
    let depths = longest.iter().flatten().copied().max().unwrap_or(0);
    for depth in 1..=depths.max(1) {
        search.climb_from(depth);
    }
    let best = search.best.parts;
    let rule = |(at, parts): (usize, Option<usize>)| {
        let table = TableId(at as u16);
        match parts {
            Some(parts) => {
                let hashing = hashing(catalog, catalog.table(table), parts);
                RoutingRule::Fields { parts: parts as u8, hashing, mapping: Mapping::Hash }
            }
            None if is_replicated(catalog, table) => RoutingRule::Replicated,
            None if granules.table(table).is_written() => RoutingRule::Unkeyed,
            None => RoutingRule::Replicated,
        }
    };
    best.into_iter().enumerate().map(rule).collect()
}

/// Whether a table is declared to be replicated.
pub(super) fn is_replicated(catalog: &Catalog, table: TableId) -> bool {
    let declared = catalog.tables().at(table.index()).and_then(|table| table.routing);
    declared == Some(DeclaredRouting::Replicated)
}

/// How so many routing fields of a table are hashed.
fn hashing(catalog: &Catalog, table: &Table, parts: usize) -> Hashing {
    let primary = table.primary.map(|primary| catalog.index(primary));
    match primary.map(|index| &index.columns[..parts]) {
        Some(&[column]) if table.columns[column.index()].data_type.is_integer() => Hashing::Even,
        _ => Hashing::Mixed,
    }
}

/// The most leading primary-key columns that all granules of a table tell; none: it needs no
/// routing. A secondary index that tells none of them does not count: its entries are routed by
/// their rows, or lie everywhere.
fn longest_of(catalog: &Catalog, granules: &Granules, table: &Table) -> Option<usize> {
    let is_routed = granules.table(table.id).is_written() && !is_replicated(catalog, table.id);
    let primary = table.primary.filter(|_| is_routed)?;
    let key = &catalog.index(primary).columns;
    let told = |id| {
        let columns = &catalog.index(id).columns[..granules.parts(id)];
        key.iter().take_while(|column| columns.contains(column)).count()
    };
    let secondary = table.secondary.iter().map(|&id| told(id)).filter(|&told| told > 0);
    Some(secondary.fold(told(primary), usize::min))
}

/// Entries that lie everywhere do so under every choice: they tell nothing about choices.
const SHARED: SecondaryEntries = SecondaryEntries::Shared;

/// How good a choice is: procedures in one partition, then total length.
type Score = (u32, usize);

#[derive(Clone, Debug)]
struct Choice {
    parts: Vec<Option<usize>>,
    score: Score,
}

struct Search<'a> {
    catalog: &'a Catalog,
    facts: &'a [Vec<SiteFacts>],
    longest: &'a [Option<usize>],
    /// per table: the procedures that touch it
    touching: Vec<Vec<usize>>,
    best: Choice,
}

impl<'a> Search<'a> {
    fn new(
        catalog: &'a Catalog,
        facts: &'a [Vec<SiteFacts>],
        longest: &'a [Option<usize>],
    ) -> Self {
        let mut touching = vec![Vec::new(); longest.len()];
        for (number, sites) in facts.iter().enumerate() {
            for site in sites {
                let list: &mut Vec<usize> = &mut touching[site.table.index()];
                if list.last() != Some(&number) {
                    list.push(number);
                }
            }
        }
        let best = Choice { parts: Vec::new(), score: (0, 0) };
        Self { catalog, facts, longest, touching, best }
    }

    fn declared(&self, table: usize) -> Option<usize> {
        match self.catalog.tables().at(table)?.routing? {
            DeclaredRouting::Fields(parts) => Some(parts.into()),
            DeclaredRouting::Replicated => None,
        }
    }

    /// Climbs from all tables at a depth; keeps what is better than the best so far.
    fn climb_from(&mut self, depth: usize) {
        let start = self.longest.iter().enumerate().map(|(table, longest)| {
            longest.map(|longest| self.declared(table).unwrap_or(longest.min(depth)))
        });
        let mut parts: Vec<_> = start.collect();
        let all: Vec<usize> = (0..self.facts.len()).collect();
        let one = self.procedures_in_one(&all, &parts);
        let mut score = (one, parts.iter().flatten().sum());
        while let Some(better) = self.step(&mut parts, score) {
            score = better;
        }
        if self.best.parts.is_empty() || score > self.best.score {
            self.best = Choice { parts, score };
        }
    }

    /// The first change of one table that improves the score; none at the top.
    fn step(&self, parts: &mut [Option<usize>], score: Score) -> Option<Score> {
        for table in 0..parts.len() {
            let (Some(longest), Some(now)) = (self.longest[table], parts[table]) else { continue };
            if self.declared(table).is_some() {
                continue;
            }
            let touching = &self.touching[table];
            let before = self.procedures_in_one(touching, parts);
            for other in (1..=longest).filter(|&other| other != now) {
                parts[table] = Some(other);
                let one = score.0 - before + self.procedures_in_one(touching, parts);
                let better = (one, score.1 - now + other);
                if better > score {
                    return Some(better);
                }
            }
            parts[table] = Some(now);
        }
        None
    }

    /// How far these procedures stay in one partition: 4 for always, 2 when parameters say so,
    /// 1 when rows decide.
    fn procedures_in_one(&self, procedures: &[usize], parts: &[Option<usize>]) -> u32 {
        let of = |table: TableId| parts[table.index()];
        let alike = |a: TableId, b: TableId| {
            of(a) == of(b) && same_bytes(self.catalog, a, b, of(a).unwrap_or(0))
        };
        let score = |&number: &usize| match sites::reach(
            self.catalog,
            &self.facts[number],
            SHARED,
            of,
            alike,
        ) {
            Reach::One => 4,
            Reach::OneWhen(_) => 2,
            Reach::Unknown(_) => 1,
            Reach::Several(..) | Reach::All(_) => 0,
        };
        procedures.iter().map(score).sum()
    }
}
