//! What CREATE FUNCTION warns of: accesses that hold a whole table or a whole index.
//!
//! Role         looks at the locks of each access, as EXPLAIN PROCEDURE does, and says what to
//!              write instead. Such a procedure is right; calls of it wait for all others of the
//!              table
//! Invariants   I1 what is warned of depends on the procedures registered at that moment: a table
//!              that none of them writes needs no lock, however it is read

use hotrow_base::ids::ColumnId;

use crate::catalog::{Catalog, Table};
use crate::granule::{self, Granules, LockMode, Space};
use crate::locks;
use crate::outcome::{Notice, SqlError};
use crate::program::{
    Access, CompareOp, Effect, Expr, ExprKind, Function, Path, Procedure, SlotId, Statement,
};
use crate::walk::{self, Site};

/// The warnings, in the order of the statements; one for each statement and table or index.
pub fn warnings(catalog: &Catalog, granules: &Granules, procedure: &Procedure) -> Vec<Notice> {
    let mut found: Vec<Notice> = Vec::new();
    for (site, statement) in walk::sites(&procedure.body) {
        let locks = locks::site_locks(catalog, granules, &site);
        let warned = locks.given.iter().filter_map(|lock| match lock.space {
            Space::Table(table) if lock.mode >= LockMode::Shared => {
                let what = format!("table \"{}\"", catalog.table(table).name);
                let hint = table_hint(catalog, &site);
                Some(warning(procedure, (&site, statement), (what, lock.mode), hint))
            }
            Space::Index(index) if lock.parts.is_empty() => {
                let index = catalog.index(index);
                let table = catalog.table(index.table);
                let first = &table.columns[index.columns.first()?.index()].name;
                let what = format!("index \"{}\"", index.name);
                let hint = format!(
                    "Let parameters alone decide \"{first}\", its first column, in every statement \
                     that reads or changes it by this index."
                );
                Some(warning(procedure, (&site, statement), (what, lock.mode), hint))
            }
            _ => None,
        });
        for warning in warned {
            let is_same = |known: &Notice| {
                known.said.message == warning.said.message && known.said.place == warning.said.place
            };
            if !found.iter().any(is_same) {
                found.push(warning);
            }
        }
    }
    found
}

fn warning(
    procedure: &Procedure,
    (site, statement): (&Site<'_>, &Statement),
    (what, mode): (String, LockMode),
    hint: String,
) -> Notice {
    let verb = match site {
        Site::Insert(_) => "INSERT",
        Site::Access(access) => match access.effect {
            Effect::Read(_) => "SELECT",
            Effect::Update { .. } => "UPDATE",
            Effect::Delete { .. } => "DELETE",
        },
    };
    let others = if mode == LockMode::Shared { "change" } else { "read or change" };
    let line = statement.place.line;
    let message = format!("each call of \"{}\" holds {what} as a whole", procedure.shown_name());
    let mut said = SqlError::new(b"01000", message);
    said.detail = Some(format!(
        "Because of the {verb} in line {line}, no other call can {others} any of its rows before \
         such a call has ended."
    ));
    said.hint = Some(hint);
    said.place = statement.place;
    Notice::warning(said)
}

/// What to write instead of an access to a whole table.
fn table_hint(catalog: &Catalog, site: &Site<'_>) -> String {
    let Site::Access(access) = site else {
        return "Give the table a primary key.".to_owned();
    };
    let table = catalog.table(access.table);
    let equal = equal_columns(access);
    if !equal.is_empty() {
        return format!(
            "CREATE INDEX ON {} ({}); rows are then found, and held, by it.",
            table.name,
            names(table, &equal)
        );
    }
    let is_range = matches!(access.path.each(), Path::Range { lower, upper, .. }
        if lower.is_some() || upper.is_some());
    if is_range && let Some(index) = granule::path_index(access) {
        let columns = &catalog.index(index).columns;
        return format!(
            "A range of \"{}\" holds no less than the table: compare the first column of an index \
             with = in front of it.",
            names(table, &columns[..1])
        );
    }
    "Compare the columns of a key or of an index with =, or keep what is asked of all rows (a \
     count, a sum) in a row of its own."
        .to_owned()
}

fn names(table: &Table, columns: &[ColumnId]) -> String {
    let name = |column: &ColumnId| table.columns[column.index()].name.as_str();
    columns.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The columns that an access's condition compares with `=` or a list, by values that its rows do
/// not decide.
fn equal_columns(access: &Access) -> Vec<ColumnId> {
    let mut columns = Vec::new();
    let mut rest: Vec<&Expr> = access.filter.iter().collect();
    while let Some(condition) = rest.pop() {
        if let ExprKind::And(left, right) = &condition.kind {
            rest.extend([&**right, &**left]);
        } else if let Some(column) = equal_column(access, condition)
            && !columns.contains(&column)
        {
            columns.push(column);
        }
    }
    columns
}

fn equal_column(access: &Access, condition: &Expr) -> Option<ColumnId> {
    match &condition.kind {
        ExprKind::Or(left, right) => {
            let (left, right) = (equal_column(access, left)?, equal_column(access, right)?);
            (left == right).then_some(left)
        }
        ExprKind::Call(Function::ElementOf, operands) => column_of(access, operands.first()?),
        ExprKind::Compare(CompareOp::Equal, left, right) => {
            let is_bound = |slot: SlotId| access.bind.iter().any(|(_, bound)| *bound == slot);
            let is_fixed = |expr: &Expr| !walk::reads_any(expr, is_bound);
            match (column_of(access, left), column_of(access, right)) {
                (Some(column), _) if is_fixed(right) => Some(column),
                (_, Some(column)) if is_fixed(left) => Some(column),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The column that an expression is, perhaps in another type.
fn column_of(access: &Access, expr: &Expr) -> Option<ColumnId> {
    match &expr.kind {
        ExprKind::Cast(inner) => column_of(access, inner),
        ExprKind::Slot(slot) => {
            let bound = access.bind.iter().find(|(_, bound)| bound == slot);
            bound.map(|(column, _)| *column)
        }
        _ => None,
    }
}
