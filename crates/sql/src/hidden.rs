//! Columns that users do not see: what indexes have in their keys that is no column of its own.
//!
//! Role         an expression that is indexed is a generated column with a name that nobody can
//!              write; so is the condition of a unique index of some of the rows: true where it
//!              holds, else NULL, which is equal to nothing. They are filled, checked and planned
//!              as other generated columns are, and go with the last index that has them. A table
//!              with indexes and no primary key gets one of its own: UUIDs that ascend with time.
//!              So does one whose rows a statement, a trigger or a policy must tell apart
//! Invariants   I1 they stand behind all other columns, so that the numbers of those are what
//!              users count
//!              I2 two indexes on one expression have one column
//! Source       PostgreSQL 15, 11.7 and 11.8

use hotrow_base::ids::{ColumnId, IndexId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{
    Catalog, Column, Generated, Hidden, IndexDefinition, IndexKind, Table,
};
use hotrow_transaction::program::{Expr, ExprKind, Function, Place};
use hotrow_transaction::random::Randomness;
use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::changes::{CatalogChange, Columns, Filled, left_out};
use crate::error::{Result, place_in, unsupported};
use crate::functions::{self, FunctionRow, Volatility};
use crate::generated::{Computed, computed, not_immutable};
use crate::keyless::IDENTITY;
use crate::path::truth;
use crate::relation::{column_name, key_name};
use crate::scope::Compiler;
use crate::state::Row;
use crate::token::{folded, tokenize};
use crate::typing::{call, scalar};

/// A table's columns, and those that an index needs beside them.
pub(crate) struct Needed<'t> {
    table: &'t Table,
    pub(crate) columns: Vec<Column>,
    new: Vec<(Hidden, Generated)>,
}

impl<'t> Needed<'t> {
    pub(crate) fn new(table: &'t Table) -> Self {
        Self { table, columns: table.columns.clone(), new: Vec::new() }
    }

    /// The column that has this value, or will have it.
    fn column(&mut self, hidden: Hidden, value: Generated) -> ColumnId {
        let is_it = |of: Hidden, known: &Generated| {
            of == hidden && known.columns == value.columns && known.value == value.value
        };
        let mut known = self.table.generated.iter();
        let known = known.find(|known| {
            self.table.hidden(known.column).is_some_and(|hidden| is_it(hidden, known))
        });
        let new = self.new.iter().find(|(of, known)| is_it(*of, known)).map(|(_, known)| known);
        if let Some(known) = known.or(new) {
            return known.column; // I2
        }
        let column = ColumnId(self.columns.len() as u16);
        let (name, data_type) = (key_name(self.table, &value), value.value.data_type());
        self.columns.push(Column::new(name, data_type));
        self.new.push((hidden, Generated { column, ..value }));
        column
    }

    /// The change that adds the columns that are not there yet; `name`: of the index of a primary
    /// key, where there is none.
    pub(crate) fn into_change(self, name: String) -> Option<CatalogChange> {
        let Self { table, mut columns, new } = self;
        if new.is_empty() && table.primary.is_some() {
            return None;
        }
        let mut filled = as_they_are(table);
        let (mut hidden, mut generated) = (table.hidden.clone(), table.generated.clone());
        for (of, value) in new {
            filled.push(Filled::Computed(value.clone()));
            hidden.push(of);
            generated.push(value);
        }
        let primary = table.primary.is_none().then(|| {
            columns.push(identity_column());
            filled.push(Filled::Identity);
            hidden.push(Hidden::Identity);
            identity_key(name, ColumnId((columns.len() - 1) as u16))
        });
        let table = table.id;
        Some(CatalogChange::Columns(Columns { table, columns, hidden, filled, primary, generated }))
    }
}

/// The column that tells rows apart where there is no other primary key.
pub(crate) fn identity_column() -> Column {
    let ordered = Function::Random(Randomness::OrderedUuid);
    let default = Some(call(ordered, Vec::new(), DataType::Uuid));
    Column { nullable: false, default, ..Column::new(IDENTITY, DataType::Uuid) }
}

/// How its index is called, where nothing else is called so.
pub(crate) fn identity_name(table: &str) -> String {
    format!("{table} rows")
}

pub(crate) fn identity_key(name: String, column: ColumnId) -> IndexDefinition {
    IndexDefinition::of_constraint(name, vec![column], IndexKind::BTree)
}

fn as_they_are(table: &Table) -> Vec<Filled> {
    (0..table.columns.len()).map(|at| Filled::Old(ColumnId(at as u16))).collect()
}

impl Compiler<'_> {
    /// ALTER TABLE ... ADD IDENTITY OF ROWS.
    pub(crate) fn identity_of_rows(&mut self, table: &Table) -> Vec<CatalogChange> {
        let primary = self.free_index_name(&table.schema, identity_name(&table.name));
        match Needed::new(table).into_change(primary) {
            Some(change) => vec![change],
            None => {
                let text = format!("rows of table \"{}\" have an identity", table.name);
                vec![CatalogChange::Nothing(left_out(text))]
            }
        }
    }

    /// The column that an index has in its key for an expression, and how PostgreSQL calls it.
    pub(crate) fn indexed_value(
        &mut self,
        needed: &mut Needed<'_>,
        written: &ast::Expr,
    ) -> Result<(ColumnId, String)> {
        let place = place_in(written, self.place);
        let value =
            self.over_row((needed.table, Computed::Indexed), written, |this| this.expr(written))?;
        if matches!(value.value.sql_type, SqlType::Array(_)) {
            return Err(unsupported(place, "an array as a key", "index the elements one by one"));
        }
        let name = match column_name(written) {
            unnamed if unnamed == "?column?" => "expr".to_owned(),
            named => named,
        };
        Ok((needed.column(Hidden::Expression, value), name))
    }

    /// The column that is true in the rows that a unique index is for.
    pub(crate) fn indexed_condition(
        &mut self,
        needed: &mut Needed<'_>,
        written: &ast::Expr,
    ) -> Result<ColumnId> {
        let of = self.over_row((needed.table, Computed::Condition), written, |this| {
            this.condition(written, "WHERE")
        })?;
        let arms = vec![(of.value, truth(true))];
        let value = scalar(ExprKind::Case { arms, otherwise: None }, DataType::Boolean);
        Ok(needed.column(Hidden::Condition, Generated { value, ..of }))
    }

    fn over_row(
        &mut self,
        (table, what): (&Table, Computed),
        written: &ast::Expr,
        compile: impl FnOnce(&mut Self) -> Result<Expr>,
    ) -> Result<Generated> {
        let place = place_in(written, self.place);
        let row = Row { table: table.id, ..Row::of(&table.name, table.shown()) };
        let (value, row) = self.with_row(row, compile)?;
        if self.needs_query.is_some() && varies(written, place)? {
            return Err(not_immutable(what, place));
        }
        computed(self, value, &row, (what, place))
    }
}

/// Whether an expression calls a function that does not always give the same.
fn varies(written: &ast::Expr, place: Place) -> Result<bool> {
    let varies = |row: &FunctionRow| row.volatility != Volatility::Immutable;
    calls_any(&written.to_string(), place, &varies)
}

/// Whether a text of SQL calls a built-in function all of whose rows are such ones.
pub(crate) fn calls_any(
    text: &str,
    place: Place,
    is_such: &impl Fn(&FunctionRow) -> bool,
) -> Result<bool> {
    let tokens = tokenize(text, place)?;
    let calls = tokens.windows(2).filter(|two| two[1].token == Token::LParen);
    let mut names = calls.filter_map(|two| match &two[0].token {
        Token::Word(word) => Some(folded(&word.value, word.quote_style.is_some())),
        _ => None,
    });
    Ok(names.any(|name| {
        let rows = functions::named(&name);
        !rows.is_empty() && rows.iter().copied().all(is_such)
    }))
}

/// The change that takes columns of a table away which indexes alone have needed, once these
/// indexes are dropped.
pub(crate) fn without_unused(
    catalog: &Catalog,
    table: &Table,
    dropped: &[IndexId],
) -> Option<CatalogChange> {
    let gone = unused(catalog, table, dropped);
    if gone.is_empty() { None } else { Some(CatalogChange::Columns(without(table, &gone))) }
}

/// What goes with a column: the columns that indexes alone need, and these indexes.
pub(crate) fn gone_with(
    catalog: &Catalog,
    table: &Table,
    column: ColumnId,
) -> (Vec<ColumnId>, Vec<IndexId>) {
    let reads = |of: &&Generated| of.columns.contains(&column) && table.hidden(of.column).is_some();
    let computed = table.generated.iter().filter(reads).map(|of| of.column);
    let of: Vec<ColumnId> = [column].into_iter().chain(computed).collect();
    let has = |id: &IndexId| catalog.index(*id).columns.iter().any(|column| of.contains(column));
    let indexes: Vec<IndexId> = table.indexes().filter(has).collect();
    let mut gone = unused(catalog, table, &indexes);
    gone.extend(of);
    gone.sort_unstable();
    gone.dedup();
    (gone, indexes)
}

/// Columns that no index needs but those that are dropped.
fn unused(catalog: &Catalog, table: &Table, dropped: &[IndexId]) -> Vec<ColumnId> {
    let kept = table.indexes().filter(|id| !dropped.contains(id));
    let needed: Vec<ColumnId> = kept.flat_map(|id| catalog.index(id).columns.clone()).collect();
    let hidden = (table.shown().len()..table.columns.len()).map(|at| ColumnId(at as u16));
    hidden.filter(|column| !needed.contains(column)).collect()
}

/// A table's columns without some, from which none that stays is computed.
pub(crate) fn without(table: &Table, gone: &[ColumnId]) -> Columns {
    let stays = |at: &usize| !gone.contains(&ColumnId(*at as u16));
    let kept: Vec<usize> = (0..table.columns.len()).filter(stays).collect();
    let now_at = |column: &mut ColumnId| {
        column.0 -= gone.iter().filter(|gone| gone.0 < column.0).count() as u16;
    };
    let mut generated = table.generated.clone();
    generated.retain(|value| !gone.contains(&value.column));
    for value in &mut generated {
        value.columns.iter_mut().chain([&mut value.column]).for_each(now_at);
    }
    Columns {
        table: table.id,
        columns: kept.iter().map(|at| table.columns[*at].clone()).collect(),
        hidden: kept.iter().filter_map(|at| table.hidden(ColumnId(*at as u16))).collect(),
        filled: kept.iter().map(|at| Filled::Old(ColumnId(*at as u16))).collect(),
        primary: None,
        generated,
    }
}
