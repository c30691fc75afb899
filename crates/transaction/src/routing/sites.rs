//! What access sites say about partitions before any call: which expressions their routing fields
//! equal, and whether those agree.
//!
//! Role         shared by inference, which compares lengths of routing prefixes, and EXPLAIN
//! Invariants   I1 two terms are said to be equal only when they are so in every call; `fixed`
//!              slots have one value in a call from their definition on, and NULL before, with
//!              which a key matches no row

use hotrow_base::ids::{IndexId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use super::SecondaryEntries;
use super::infer;
use super::program::{Source, is_key_as_it_is};
use crate::access::Intent;
use crate::binding::Binding;
use crate::catalog::Catalog;
use crate::expression_text::expression_text;
use crate::granule::{self, Granules, LockMode, Space};
use crate::locks;
use crate::program::{
    Elements, Expr, ExprKind, FIRST_PARAMETER, Procedure, SlotId, Statement, StatementKind,
};
use crate::walk::{self, Site};

/// An expression that a routing field equals.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// as people write it
    pub(super) text: String,
    /// equal for equal expressions
    identity: String,
    /// it has one value in a call
    fixed: bool,
    /// parameters alone decide it
    known: bool,
    /// what it is, with its type, if it is as simple as that
    source: Option<(Source, DataType)>,
}

/// What a site tells of the place of one thing it holds.
#[derive(Clone, Debug)]
pub(super) enum Told {
    /// the leading primary-key columns, as many as are told
    Columns(Vec<Term>),
    /// entries of a secondary index, with as many leading primary-key columns as its granules tell
    Entries(IndexId, Vec<Term>),
    /// rows that tell their own keys once they are found, with what the path binds of them
    Rows(Vec<Term>),
    /// the table as a whole
    Whole,
}

/// What a site needs of its table.
#[derive(Clone, Debug)]
pub(super) struct SiteFacts {
    pub(super) table: TableId,
    pub(super) told: Vec<Told>,
}

/// A procedure's sites, in site order.
pub(super) fn facts(
    catalog: &Catalog,
    granules: &Granules,
    procedure: &Procedure,
) -> Vec<SiteFacts> {
    let reader = Reader {
        catalog,
        granules,
        procedure,
        binding: Binding::of(procedure),
        definitions: Definitions::of(procedure),
    };
    walk::sites(&procedure.body).iter().map(|(site, _)| reader.site(site)).collect()
}

/// Whether the first `parts` primary-key columns of two tables have the same bytes for the same
/// values.
pub(super) fn same_bytes(catalog: &Catalog, a: TableId, b: TableId, parts: usize) -> bool {
    let types = |table: TableId| {
        let table = catalog.table(table);
        let primary = table.primary.map(|primary| catalog.index(primary));
        let columns = primary.map_or(&[][..], |index| &index.columns[..parts]);
        columns.iter().map(|column| encoding(table.columns[column.index()].data_type))
    };
    types(a).eq(types(b))
}

/// Types of one encoding made one.
const fn encoding(data_type: DataType) -> DataType {
    match data_type {
        DataType::Varchar(_) | DataType::Name | DataType::RefCursor => DataType::Text,
        DataType::WideNumeric { .. } => DataType::AnyNumeric,
        other => other,
    }
}

struct Reader<'a> {
    catalog: &'a Catalog,
    granules: &'a Granules,
    procedure: &'a Procedure,
    binding: Binding,
    definitions: Definitions<'a>,
}

impl Reader<'_> {
    fn site(&self, site: &Site<'_>) -> SiteFacts {
        let table = match site {
            Site::Access(access) => access.table,
            Site::Insert(insert) => insert.table,
        };
        if infer::is_replicated(self.catalog, table) {
            let reads = |access| locks::intent(access) == Intent::Read;
            let told = match site {
                Site::Access(access) if reads(access) => Vec::new(),
                _ => vec![Told::Whole], // it is written everywhere
            };
            return SiteFacts { table, told };
        }
        let mut told = Vec::new();
        let Some(primary) = self.catalog.table(table).primary else {
            if let Site::Access(_) = site
                && self.granules.table(table).is_written()
            {
                told.push(Told::Whole);
            }
            return SiteFacts { table, told };
        };
        let key = &self.catalog.index(primary).columns;
        let site_locks = locks::site_locks(self.catalog, self.granules, site);
        for lock in &site_locks.given {
            match lock.space {
                Space::Table(_) if lock.mode >= LockMode::Shared => told.push(Told::Whole),
                Space::Table(_) => {}
                Space::Index(index) => {
                    let columns = &self.catalog.index(index).columns;
                    let part = |column| columns.iter().position(|other| other == column);
                    let known = key.iter().map_while(|column| lock.parts.get(part(column)?));
                    let terms = known.map(|expr| self.term(expr)).collect();
                    told.push(match index == primary {
                        true => Told::Columns(terms),
                        false => Told::Entries(index, terms),
                    });
                }
            }
        }
        if let (Some(_), Site::Access(access)) = (site_locks.rows, site) {
            let bound = key.iter();
            let bound = bound.map_while(|&c| granule::bound_column(self.catalog, access, c));
            told.push(Told::Rows(bound.map(|expr| self.term(expr)).collect()));
        }
        SiteFacts { table, told }
    }

    fn term(&self, expr: &Expr) -> Term {
        let expr = self.definitions.original(expr);
        Term {
            text: expression_text(self.procedure, expr),
            identity: format!("{:?}", expr.kind),
            fixed: self.definitions.is_fixed(expr),
            known: self.binding.is_static(expr),
            source: self.definitions.source(expr),
        }
    }
}

/// Where slots get their values.
struct Definitions<'a> {
    parameters: std::ops::Range<usize>,
    /// per slot: how often it is defined; twice for a definition in a loop
    count: Vec<u32>,
    /// per slot: in how many places it is defined
    places: Vec<usize>,
    /// per slot: what it is assigned there
    assigned: Vec<Vec<&'a Expr>>,
    /// per slot: the array whose elements it is, one in each turn of a loop
    element_of: Vec<Option<SlotId>>,
}

impl<'a> Definitions<'a> {
    fn of(procedure: &'a Procedure) -> Self {
        let first = FIRST_PARAMETER as usize;
        let mut definitions = Self {
            parameters: first..first + procedure.parameters as usize,
            count: vec![0; procedure.slots.len()],
            places: vec![0; procedure.slots.len()],
            assigned: vec![Vec::new(); procedure.slots.len()],
            element_of: vec![None; procedure.slots.len()],
        };
        definitions.block(&procedure.body, 1);
        definitions
    }

    fn block(&mut self, block: &'a [Statement], runs: u32) {
        for statement in block {
            let is_loop = matches!(
                statement.kind,
                StatementKind::ForRange { .. }
                    | StatementKind::ForEach { .. }
                    | StatementKind::ForQuery { .. }
                    | StatementKind::ForOperators(_)
                    | StatementKind::Loop { .. }
            );
            let inside = if is_loop { 2 } else { runs };
            walk::defines(statement, &mut |slot| {
                self.count[slot.index()] += inside;
                self.places[slot.index()] += 1;
            });
            if let StatementKind::ForEach { slot, elements: Elements::Array(array), .. } =
                &statement.kind
            {
                self.element_of[slot.index()] = Some(*array);
            }
            if let Some(Site::Access(access)) = walk::own_site(statement) {
                access.path.lists().iter().for_each(|list| self.count[list.slot.index()] += 2);
            }
            if let StatementKind::Assign { slot, value } = &statement.kind {
                self.assigned[slot.index()].push(value);
            }
            for nested in walk::blocks(statement) {
                self.block(nested, inside);
            }
        }
    }

    fn is_fixed_slot(&self, slot: SlotId) -> bool {
        self.count[slot.index()] <= u32::from(!self.parameters.contains(&slot.index()))
    }

    fn is_fixed(&self, expr: &Expr) -> bool {
        !walk::reads_any(expr, |slot| !self.is_fixed_slot(slot))
    }

    /// What an expression is, if it is a parameter, one of a parameter's elements, or a constant;
    /// in every place and turn where it is used.
    fn source(&self, expr: &Expr) -> Option<(Source, DataType)> {
        let SqlType::Scalar(data_type) = expr.sql_type else { return None };
        let parameter = |slot: SlotId| {
            let number = slot.index().checked_sub(self.parameters.start)?;
            let is_kept = self.parameters.contains(&slot.index()) && self.is_fixed_slot(slot);
            is_kept.then_some(number as u16)
        };
        let source = match &expr.kind {
            ExprKind::Slot(slot) => {
                let places = self.places[slot.index()];
                let array = self.element_of[slot.index()].filter(|_| places == 1);
                match (parameter(*slot), array) {
                    (Some(number), _) => Source::Parameter(number),
                    (None, Some(array)) => Source::Elements(parameter(array)?),
                    (None, None) => self.assigned_elements(*slot, &parameter)?,
                }
            }
            ExprKind::Element(array, _) => Source::Elements(parameter(*array)?),
            ExprKind::Constant(value) => {
                let mut bytes = Vec::new();
                let datum = value.to_datum(data_type, &mut bytes).ok()?;
                Source::Constant(datum, bytes.into())
            }
            ExprKind::Cast(inner) => {
                let (source, of) = self.source(inner)?;
                return is_key_as_it_is(of, data_type).then_some((source, data_type));
            }
            _ => return None,
        };
        Some((source, data_type))
    }

    /// The parameter of which a variable is assigned elements, wherever it is assigned something;
    /// NULL does not count, since with it a key matches no row.
    fn assigned_elements(
        &self,
        slot: SlotId,
        parameter: &impl Fn(SlotId) -> Option<u16>,
    ) -> Option<Source> {
        let assigned = &self.assigned[slot.index()];
        if assigned.len() != self.places[slot.index()] {
            return None; // a statement sets it, too
        }
        let is_null = |expr: &&&Expr| matches!(expr.kind, ExprKind::Constant(Value::Null));
        let mut arrays =
            assigned.iter().filter(|expr| !is_null(expr)).map(|expr| match expr.kind {
                ExprKind::Element(array, _) => parameter(array),
                _ => None,
            });
        let array = arrays.next()??;
        arrays.all(|other| other == Some(array)).then_some(Source::Elements(array))
    }

    /// What a variable is a copy of, through any number of copies: a parameter or a constant.
    fn original<'e>(&self, expr: &'e Expr) -> &'e Expr
    where
        'a: 'e,
    {
        let mut original = expr;
        for _ in 0..self.count.len() {
            let ExprKind::Slot(slot) = original.kind else { break };
            let assigned = self.assigned[slot.index()].last();
            let copied = assigned.copied().filter(|_| self.count[slot.index()] == 1);
            let Some(value) = copied.filter(|value| {
                value.sql_type == original.sql_type
                    && matches!(value.kind, ExprKind::Slot(_) | ExprKind::Constant(_))
                    && self.is_fixed(value)
            }) else {
                break;
            };
            original = value;
        }
        original
    }
}

impl Term {
    /// What it is, as a key of a column of this type.
    pub(super) fn source_for(&self, column: DataType) -> Option<Source> {
        let (source, of) = self.source.as_ref()?;
        is_key_as_it_is(*of, column).then(|| source.clone())
    }

    fn equals(&self, other: &Self) -> bool {
        self.fixed && self.identity == other.identity
    }
}

/// How many partitions a procedure's calls touch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// one
    One,
    /// one when these are equal
    OneWhen(Vec<(String, String)>),
    /// rows decide
    Unknown(String),
    /// tables that are not routed alike: usually several
    Several(TableId, TableId),
    /// all of them
    All(TableId),
}

/// Combines what a procedure's sites tell, under a rule for each table. `parts`: how many routing
/// fields a table has; none: it needs no routing.
pub(super) fn reach(
    catalog: &Catalog,
    facts: &[SiteFacts],
    secondary: SecondaryEntries,
    parts: impl Fn(TableId) -> Option<usize>,
    alike: impl Fn(TableId, TableId) -> bool,
) -> Reach {
    let mut first: Option<(TableId, &[Term])> = None;
    let (mut several, mut unknown, mut equal) = (None, None, Vec::new());
    for site in facts {
        for told in &site.told {
            let Some(parts) = parts(site.table) else {
                match told {
                    Told::Whole => return Reach::All(site.table),
                    _ => continue,
                }
            };
            let terms: &[Term] = match told {
                Told::Whole if parts > 0 => return Reach::All(site.table),
                Told::Whole => &[],
                Told::Entries(_, terms)
                    if terms.len() < parts && secondary == SecondaryEntries::Shared =>
                {
                    continue;
                }
                Told::Columns(terms) | Told::Entries(_, terms) if terms.len() < parts => {
                    return Reach::All(site.table);
                }
                Told::Rows(terms) if terms.len() < parts => {
                    let name = &catalog.table(site.table).name;
                    unknown.get_or_insert_with(|| format!("rows of {name} tell their own keys"));
                    continue;
                }
                Told::Columns(terms) | Told::Entries(_, terms) | Told::Rows(terms) => {
                    &terms[..parts]
                }
            };
            let Some((table, firsts)) = first else {
                first = Some((site.table, terms));
                note_alone(terms, &mut unknown, &mut equal);
                continue;
            };
            if table != site.table && !alike(table, site.table) {
                several.get_or_insert((table, site.table));
                continue;
            }
            for (one, other) in firsts.iter().zip(terms) {
                note_pair(one, other, &mut unknown, &mut equal);
            }
        }
    }
    match (several, unknown) {
        (Some((a, b)), _) => Reach::Several(a, b),
        (None, Some(why)) => Reach::Unknown(why),
        (None, None) if equal.is_empty() => Reach::One,
        (None, None) => Reach::OneWhen(equal),
    }
}

/// A term by itself: it must not change on the way.
fn note_alone(terms: &[Term], unknown: &mut Option<String>, equal: &mut Vec<(String, String)>) {
    for term in terms.iter().filter(|term| !term.fixed) {
        note_pair(term, term, unknown, equal);
    }
}

fn note_pair(
    one: &Term,
    other: &Term,
    unknown: &mut Option<String>,
    equal: &mut Vec<(String, String)>,
) {
    if one.equals(other) {
        return;
    }
    if let Some(term) = [one, other].into_iter().find(|term| !term.known) {
        unknown.get_or_insert_with(|| format!("{} is read from a row", term.text));
        return;
    }
    let pair = (other.text.clone(), one.text.clone());
    if !equal.contains(&pair) {
        equal.push(pair);
    }
}
