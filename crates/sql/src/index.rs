//! CREATE INDEX, and the columns of keys.

use hotrow_base::ids::ColumnId;
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{
    Column, Deferral, IndexDefinition, IndexKind, Table, local, qualified, split,
};
use hotrow_transaction::program::{CompareOp, ExprKind, Place};
use sqlparser::ast;

use crate::changes::{CatalogChange, TableDefinition, is_there, left_out};
use crate::definition::column_of;
use crate::error::{Advice, Result, error, ident_place, place_in, syntax, unsupported};
use crate::hidden::{Needed, identity_name};
use crate::path::{Bound, bound, conjuncts};
use crate::scope::Compiler;
use crate::token::folded;
use crate::written::{bare, ident_name, object_name};

impl Compiler<'_> {
    /// CREATE INDEX.
    pub(crate) fn create_index(
        &mut self,
        written: &ast::CreateIndex,
    ) -> Result<Vec<CatalogChange>> {
        let place = place_in(&written.table_name, self.place);
        let table_name = object_name(&written.table_name, place)?;
        if let Some((view, partition)) = self.partition_named(&table_name) {
            return self.index_of_partition(written, (view, partition), place);
        }
        let table = self.table_to_index(&table_name, place)?;
        self.index_on(written, table, place)
    }

    /// CREATE INDEX on a table.
    pub(crate) fn index_on(
        &mut self,
        written: &ast::CreateIndex,
        table: &Table,
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        let kind = match &written.using {
            None | Some(ast::IndexType::BTree) => IndexKind::BTree,
            Some(ast::IndexType::Hash) => IndexKind::Hash,
            Some(
                method @ (ast::IndexType::GIN
                | ast::IndexType::GiST
                | ast::IndexType::BRIN
                | ast::IndexType::SPGiST),
            ) => return self.left_out_index((written, method), table, place),
            Some(other) => {
                return Err(unsupported(
                    place,
                    format!("index method {other}"),
                    "write USING btree or USING hash",
                ));
            }
        };
        let fixed = match &written.predicate {
            Some(predicate) if !written.unique => self.fixed_columns(table, predicate)?,
            _ => Vec::new(),
        };
        for column in &written.include {
            self.table_column(table, &ident_name(column), ident_place(column, place))?;
        }
        if !written.with.is_empty() {
            return Err(unsupported(place, "WITH on an index", "leave it out"));
        }
        if written.nulls_distinct == Some(false) {
            return Err(unsupported(place, "NULLS NOT DISTINCT", "declare the columns NOT NULL"));
        }
        let mut needed = Needed::new(table);
        let (mut own, mut names) = (Vec::new(), Vec::new());
        for column in &written.columns {
            let at = place_in(&column.column.expr, place);
            refuse_class(column, at)?;
            let (id, name) = match column_name(&column.column.expr) {
                Some(name) => (self.table_column(table, &name, at)?, name),
                None => self.indexed_value(&mut needed, &column.column.expr)?,
            };
            own.push(id);
            names.push(name);
        }
        // Rows of its WHERE lie together where that says which value a column has.
        let is_new = |column: &ColumnId| kind == IndexKind::BTree && !own.contains(column);
        let fixed: Vec<_> = fixed.into_iter().filter(is_new).collect();
        let mut columns = [&fixed[..], &own].concat();
        check_key(&needed.columns, &columns, place)?;
        if let Some(predicate) = &written.predicate
            && written.unique
        {
            columns.push(self.indexed_condition(&mut needed, predicate)?);
        }
        let name = match &written.name {
            Some(name) => {
                let at = place_in(name, place);
                let name = object_name(name, at)?;
                if split(&name).0.is_some_and(|schema| schema != &*table.schema) {
                    let hint = "an index stands in the schema of its table: leave it out";
                    return Err(unsupported(at, "another schema for an index", hint));
                }
                local(&name).to_owned()
            }
            None => {
                told_apart(&mut names);
                let wanted = format!("{}_{}_idx", table.user_name(), names.join("_"));
                self.free_index_name(&table.schema, wanted)
            }
        };
        if self.is_there(&qualified(&table.schema, &name), written.if_not_exists, place)? {
            return Ok(vec![CatalogChange::Nothing(is_there(&name))]);
        }
        let mut changes = Vec::new();
        let mut tell = |text| changes.push(CatalogChange::Nothing(left_out(text)));
        let (is_kept, descending) = descending(&needed.columns, &own, &written.columns, kind);
        if written.predicate.is_some() && !written.unique {
            let mut text = format!("index \"{name}\" has all rows, not only those of its WHERE");
            if !fixed.is_empty() {
                let names = fixed.iter().map(|column| &*table.columns[column.index()].name);
                let names = names.collect::<Vec<_>>().join(", ");
                text += &format!(", and its keys begin with {names}, so that those lie together");
            }
            tell(text);
        }
        if !written.include.is_empty() {
            tell(format!("index \"{name}\" leads to whole rows: INCLUDE has no effect"));
        }
        if !is_kept {
            tell(format!("index \"{name}\" is ascending, and read in both directions"));
        }
        let unique = written.unique;
        let definition = IndexDefinition {
            name,
            columns,
            descending,
            unique,
            kind,
            is_constraint: false,
            deferral: Deferral::Never,
        };
        let primary = self.free_index_name(&table.schema, identity_name(&table.name));
        changes.extend(needed.into_change(primary));
        changes.push(CatalogChange::CreateIndex { table: table.qualified_name(), definition });
        Ok(changes)
    }

    /// An index of a method that is not there: what it would find is found by scans.
    fn left_out_index(
        &mut self,
        (written, method): (&ast::CreateIndex, &ast::IndexType),
        table: &Table,
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        let method = method.to_string().to_lowercase();
        if written.unique {
            let message = format!("access method \"{method}\" does not support unique indexes");
            return Err(error(b"0A000", place, message));
        }
        for column in &written.columns {
            let at = place_in(&column.column.expr, place);
            if let Some(name) = column_name(&column.column.expr) {
                self.table_column(table, &name, at)?;
            }
        }
        let text = format!(
            "there are no indexes of method {method}: none is made, and what it would find is \
             found by scans"
        );
        Ok(vec![CatalogChange::Nothing(left_out(text))])
    }

    /// The columns to which a condition over a table's rows gives one value each. Fails where it is
    /// no condition.
    fn fixed_columns(&mut self, table: &Table, written: &ast::Expr) -> Result<Vec<ColumnId>> {
        let row = self.row_of(table.id, &table.name);
        let (condition, row) = self.with_row(row, |this| this.condition(written, "WHERE"))?;
        self.needs_query.take().map_or(Ok(()), Err)?;
        let conjuncts = conjuncts(Some(condition));
        let bounds = conjuncts.iter().filter_map(|conjunct| bound(self.catalog, &row, 0, conjunct));
        let is_fixed = |bound: &Bound| {
            let is_shown = table.hidden(bound.column).is_none();
            let is_constant = matches!(bound.value.kind, ExprKind::Constant(_));
            bound.op == CompareOp::Equal && is_constant && is_shown
        };
        let mut columns = Vec::new();
        for column in bounds.filter(is_fixed).map(|bound| bound.column) {
            if !columns.contains(&column) {
                columns.push(column); // `a = 1 AND a = 1` says it twice
            }
        }
        Ok(columns)
    }

    pub(crate) fn free_index_name(&self, schema: &str, wanted: String) -> String {
        let taken = |name: &str| self.index_named(&qualified(schema, name)).is_some();
        if !taken(&wanted) {
            return wanted;
        }
        (1..).map(|n| format!("{wanted}{n}")).find(|name| !taken(name)).unwrap_or(wanted)
    }
}

/// The columns of an index whose greater values come first, and whether that is the order in which
/// all of them are written.
fn descending(
    all: &[Column],
    columns: &[ColumnId],
    written: &[ast::IndexColumn],
    kind: IndexKind,
) -> (bool, Vec<ColumnId>) {
    let (mut is_kept, mut descending) = (true, Vec::new());
    for (column, written) in columns.iter().zip(written) {
        let described = &all[column.index()];
        let is_wanted = is_descending(written);
        let can = kind == IndexKind::BTree && described.can_descend();
        let nulls_first = written.column.options.nulls_first.unwrap_or(is_wanted);
        is_kept &= if is_wanted { can } else { !nulls_first || !described.nullable };
        if is_wanted && can {
            descending.push(*column);
        }
    }
    (is_kept, descending)
}

/// Refuses keys without columns, with a column twice, or longer than a key may be.
pub(crate) fn check_key(all: &[Column], columns: &[ColumnId], place: Place) -> Result<()> {
    if columns.is_empty() || columns.len() > 32 {
        return Err(error(b"54011", place, "a key has 1 to 32 columns"));
    }
    let mut bytes = 0;
    for (i, column) in columns.iter().enumerate() {
        let described = &all[column.index()];
        if columns[..i].contains(column) {
            return Err(error(
                b"42701",
                place,
                format!("column \"{}\" appears twice in the key", described.name),
            ));
        }
        if let DataType::Json | DataType::RefCursor = described.data_type {
            let message = format!(
                "data type {} has no default operator class for access method \"btree\"",
                described.data_type
            );
            return Err(error(b"42704", place, message)
                .hint("keep what is looked for in a column of its own"));
        }
        if matches!(
            described.data_type,
            DataType::Jsonb | DataType::Interval | DataType::Array(_) | DataType::Composite(_)
        ) {
            return Err(unsupported(
                place,
                format!("{} as a key", described.data_type),
                "keep what is looked for in a column of its own",
            ));
        }
        if let DataType::Char(n) = described.data_type {
            bytes += n as usize;
        }
    }
    if bytes > hotrow_base::key::KEY_BYTES_MAX {
        return Err(error(
            b"54000",
            place,
            format!("keys are at most {} bytes long", hotrow_base::key::KEY_BYTES_MAX),
        )
        .hint("index a shorter column"));
    }
    Ok(())
}

pub(crate) fn key_columns(
    table: &TableDefinition,
    written: &[ast::IndexColumn],
    place: Place,
) -> Result<Vec<ColumnId>> {
    let columns = written
        .iter()
        .map(|column| {
            let place = place_in(&column.column.expr, place);
            if is_backwards(column) {
                let hint = "leave it out: indexes are read in both directions";
                return Err(unsupported(place, "DESC or NULLS FIRST in a key", hint));
            }
            refuse_class(column, place)?;
            let Some(name) = column_name(&column.column.expr) else {
                return Err(syntax(place, "a constraint has columns for its key")
                    .hint("CREATE UNIQUE INDEX takes expressions"));
            };
            column_of(table, &name, place)
        })
        .collect::<Result<Vec<_>>>()?;
    check_key(&table.columns, &columns, place)?;
    Ok(columns)
}

/// Whether a column of an index is written to be sorted otherwise than ascending, NULLs last.
fn is_backwards(written: &ast::IndexColumn) -> bool {
    is_descending(written) || written.column.options.nulls_first == Some(true)
}

fn is_descending(written: &ast::IndexColumn) -> bool {
    matches!(written.column.options.sort, Some(ast::OrderBySort::Desc))
}

fn refuse_class(written: &ast::IndexColumn, place: Place) -> Result<()> {
    let Some(class) = &written.operator_class else { return Ok(()) };
    let name = object_name(class, place)?;
    match CLASSES.contains(&local(&name)) {
        true => Ok(()),
        false => Err(unsupported(place, format!("operator class {name}"), "leave it out")),
    }
}

/// Operator classes of the order that indexes have. In the collation C, those for patterns are of
/// the same one as those of texts.
const CLASSES: [&str; 25] = [
    "bool_ops",
    "bpchar_ops",
    "bpchar_pattern_ops",
    "bytea_ops",
    "char_ops",
    "date_ops",
    "enum_ops",
    "float4_ops",
    "float8_ops",
    "int2_ops",
    "int4_ops",
    "int8_ops",
    "name_ops",
    "numeric_ops",
    "oid_ops",
    "text_ops",
    "text_pattern_ops",
    "time_ops",
    "timestamp_ops",
    "timestamptz_ops",
    "timetz_ops",
    "uuid_ops",
    "varbit_ops",
    "varchar_ops",
    "varchar_pattern_ops",
];

/// The column that a part of a key is, if it is no more than that.
pub(crate) fn column_name(written: &ast::Expr) -> Option<String> {
    match bare(written) {
        ast::Expr::Identifier(ident) => Some(folded(&ident.value, ident.quote_style.is_some())),
        _ => None,
    }
}

/// Makes names different by counting up, as PostgreSQL does in the names of indexes.
pub(crate) fn told_apart(names: &mut [String]) {
    for at in 0..names.len() {
        let (before, rest) = names.split_at_mut(at);
        let is_taken = |name: &String| before.contains(name);
        if is_taken(&rest[0]) {
            let numbered = (1..).map(|number| format!("{}{number}", rest[0]));
            let free = numbered.clone().find(|name| !is_taken(name));
            rest[0] = free.unwrap_or_default();
        }
    }
}
