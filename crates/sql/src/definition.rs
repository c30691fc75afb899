//! CREATE TABLE and CREATE INDEX.
//!
//! Role         turns definitions into [`CatalogChange`]s: constraint names are made as PostgreSQL
//!              makes them, CHECK and DEFAULT are compiled here once

use std::collections::HashSet;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{
    Column, DeclaredRouting, Draws, Hidden, IndexKind, Numbering, PUBLIC, Sequence, local,
    qualified, split,
};
use hotrow_transaction::program::{Expr, ExprKind, Place, ResultColumn, SlotId};
use sqlparser::ast;

use crate::changes::{CatalogChange, SequenceDefinition, TableDefinition, is_there, left_out};
use crate::error::{Advice, Result, error, ident_place, place_in, syntax, taken, unsupported};
use crate::generated::refuse_generated_of_generated;
use crate::hidden::{identity_column, identity_key, identity_name};
use crate::like::Copied;
use crate::like_syntax::is_like;
use crate::relation::one_access::{Rows, Wanted};
use crate::scope::Compiler;
use crate::sequence::{defaults_twice, sequence_of, serial};
use crate::token::folded;
use crate::types::kept_type;
use crate::written::{ident_name, object_name};

/// Columns of one table.
const COLUMNS_MAX: usize = 1600;
/// Bytes of the fixed-width columns of one row.
const FIXED_BYTES_MAX: usize = 1 << 18;

/// A table while its definition is read.
pub(crate) struct Draft {
    pub(crate) table: TableDefinition,
    /// sequences that go with it, made before it; columns have their ids already
    pub(crate) sequences: Vec<SequenceDefinition>,
    pub(crate) primary_kind: IndexKind,
    /// what LIKE has asked for
    pub(crate) copied: Vec<Copied>,
    /// what a client is told that is not as written
    pub(crate) told: Vec<String>,
    pub(crate) place: Place,
}

impl Draft {
    /// That of a table without a name, to try what can be said of a column.
    pub(crate) fn of_one_column(name: &str, data_type: DataType, place: Place) -> Self {
        let columns = vec![Column::new(name, data_type)];
        let table = TableDefinition { columns, ..TableDefinition::default() };
        Self::of(table, IndexKind::BTree, place)
    }

    /// That of a table of which nothing else is known yet.
    pub(crate) fn of(table: TableDefinition, primary_kind: IndexKind, place: Place) -> Self {
        let (sequences, copied, told) = (Vec::new(), Vec::new(), Vec::new());
        Self { table, sequences, primary_kind, copied, told, place }
    }
}

impl Compiler<'_> {
    /// Whether there is a relation with this name; fails with 42P07 where there may be none.
    pub(crate) fn is_there(&self, name: &str, may_be: bool, place: Place) -> Result<bool> {
        let found = self.table_named(name).is_some();
        let found = found || self.index_named(name).is_some();
        let found = found || self.view_named(name).is_some();
        if found && !may_be { Err(taken(local(name), place)) } else { Ok(found) }
    }

    /// CREATE TABLE.
    pub(crate) fn create_table(
        &mut self,
        written: &ast::CreateTable,
    ) -> Result<Vec<CatalogChange>> {
        let place = place_in(&written.name, self.place);
        let named = object_name(&written.name, place)?;
        let name = match written.temporary {
            true => self.temporary_name(&named, place)?,
            false => self.new_name(&named, place)?,
        };
        let (schema, name) = match split(&name) {
            (Some(schema), name) => (schema.to_owned(), name.to_owned()),
            (None, name) => (PUBLIC.to_owned(), name.to_owned()),
        };
        let is_there_already = match written.temporary {
            // Others are kept, and make room.
            true if !self.path.has_temporary(&name) => false,
            _ => self.is_there(&qualified(&schema, &name), written.if_not_exists, place)?,
        };
        if is_there_already {
            return Ok(vec![CatalogChange::Nothing(is_there(&name))]);
        }
        refuse_table_clauses(written, place)?;
        if written.partition_of.is_some() {
            return self.create_partition(written, (schema, name), place);
        }
        let table = TableDefinition {
            name,
            schema,
            columns: Vec::new(),
            primary: None,
            unique: Vec::new(),
            checks: Vec::new(),
            generated: Vec::new(),
            hidden: Vec::new(),
            foreign_keys: Vec::new(),
            routing: None,
            is_kept: false,
            partition_key: None,
        };
        let options = storage_options(&written.table_options, place)?;
        let mut draft = Draft::of(table, options.primary_kind, place);
        match &written.query {
            Some(query) => self.columns_of_query(&mut draft, &written.columns, query)?,
            None => {
                for column in &written.columns {
                    match is_like(column) {
                        true => self.columns_like(&mut draft, column)?,
                        false => self.columns(&mut draft, std::slice::from_ref(column))?,
                    }
                }
                if draft.table.columns.is_empty() || draft.table.columns.len() > COLUMNS_MAX {
                    self.columns(&mut draft, &[])?; // which says what is wrong
                }
                for column in written.columns.iter().filter(|column| !is_like(column)) {
                    self.column_constraints(&mut draft, column)?;
                }
            }
        }
        for constraint in &written.constraints {
            self.table_constraint(&mut draft, constraint)?;
        }
        refuse_generated_of_generated(&draft.table, place)?;
        if let Some(by) = &written.partition_by {
            let rows = (draft.table.shown(), draft.table.generated.as_slice());
            draft.table.partition_key =
                Some(self.partition_key(&draft.table.name, rows, by, place)?);
        }
        self.copy_indexes(&mut draft)?;
        if draft.table.primary.is_none() && !draft.table.unique.is_empty() {
            let name = self.free_name(&draft, identity_name(&draft.table.name));
            let id = ColumnId(draft.table.columns.len() as u16);
            draft.table.columns.push(identity_column());
            draft.table.hidden.push(Hidden::Identity);
            draft.table.primary = Some(identity_key(name, id));
        }
        if let Some(names) = &options.routing {
            draft.table.routing = Some(declared_routing(&draft.table, names, place)?);
        }
        let sequences = draft.sequences.into_iter().map(CatalogChange::CreateSequence);
        let is_new = written.temporary && !self.catalog.has_schema(&draft.table.schema);
        let schema = is_new.then(|| CatalogChange::CreateSchema(draft.table.schema.clone()));
        let told = draft.told.into_iter().map(|text| CatalogChange::Nothing(left_out(text)));
        let table = CatalogChange::CreateTable(draft.table);
        Ok(schema.into_iter().chain(sequences).chain([table]).chain(told).collect())
    }

    /// CREATE TABLE ... AS: the columns of a query, perhaps with other names.
    pub(crate) fn columns_of_query(
        &mut self,
        draft: &mut Draft,
        named: &[ast::ColumnDef],
        query: &ast::Query,
    ) -> Result<()> {
        let mark = self.mark();
        self.ad_hoc = true;
        // A number that is computed shows its own digits, however many the program gives it.
        let kept = |sql_type, is_column: bool| match sql_type {
            SqlType::Scalar(of) if !is_column && of.is_numeric() => {
                SqlType::Scalar(DataType::AnyNumeric)
            }
            of => of,
        };
        let columns: Vec<(String, SqlType)> = match self.rows_of(query, Wanted::All)? {
            Rows::Access(selected) => {
                let of = |(name, value): &(String, Expr)| {
                    let is_column = matches!(value.kind, ExprKind::Slot(_));
                    (name.clone(), kept(value.sql_type, is_column))
                };
                selected.columns.iter().map(of).collect()
            }
            Rows::Operators(of) => {
                let named = of.columns.iter().zip(&of.outputs);
                let column = |(column, slot): (&ResultColumn, &SlotId)| {
                    let sql_type = of.slots[slot.index()].sql_type;
                    (column.name.clone(), kept(sql_type, column.origin.is_some()))
                };
                named.map(column).collect()
            }
        };
        self.back_to(&mark);
        if named.len() > columns.len() {
            return Err(syntax(draft.place, "too many column names were specified"));
        }
        for (at, (name, sql_type)) in columns.into_iter().enumerate() {
            let name = named.get(at).map_or(name, |column| ident_name(&column.name));
            let SqlType::Scalar(data_type) = sql_type else {
                let hint = "write a row for each element, with unnest";
                return Err(unsupported(draft.place, "an array as a column", hint));
            };
            if draft.table.columns.iter().any(|column| column.name == name) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(error(b"42701", draft.place, message));
            }
            draft.table.columns.push(Column::new(name, data_type));
        }
        if draft.table.columns.is_empty() {
            return Err(syntax(draft.place, "a table needs at least one column"));
        }
        Ok(())
    }

    /// Gives a column of a draft numbers of its own.
    pub(crate) fn number(
        &self,
        draft: &mut Draft,
        column: ColumnId,
        (as_written, options): (Numbering, &[ast::SequenceOptions]),
        place: Place,
    ) -> Result<()> {
        let described = &draft.table.columns[column.index()];
        if described.draws.is_some() || described.default.is_some() {
            return Err(defaults_twice(&draft.table.name, &described.name, place));
        }
        if described.data_type.is_integer() && described.data_type != DataType::Oid {
            let sequence = sequence_of(described.data_type, options, place)?;
            self.number_with(draft, column, (as_written, sequence));
            return Ok(());
        }
        Err(error(b"22023", place, "identity column type must be smallint, integer, or bigint"))
    }

    /// The same, by a sequence of this kind.
    pub(crate) fn number_with(
        &self,
        draft: &mut Draft,
        column: ColumnId,
        (as_written, sequence): (Numbering, Sequence),
    ) {
        let wanted = joined_name(&draft.table, &[column], "seq");
        let name = self.free_name(draft, wanted);
        let id = self.catalog.tables().len() + draft.sequences.len();
        let draws = Draws { sequence: TableId(id as u16), as_written };
        let name = qualified(&draft.table.schema, &name);
        draft.sequences.push(SequenceDefinition { name, sequence });
        let described = &mut draft.table.columns[column.index()];
        (described.draws, described.nullable) = (Some(draws), false);
    }

    pub(crate) fn columns(&mut self, draft: &mut Draft, written: &[ast::ColumnDef]) -> Result<()> {
        if draft.table.columns.len() + written.len() > COLUMNS_MAX {
            return Err(error(
                b"54011",
                draft.place,
                format!("tables can have at most {COLUMNS_MAX} columns"),
            ));
        }
        if written.is_empty() {
            return Err(syntax(draft.place, "a table needs at least one column"));
        }
        let width = |data_type: DataType| match data_type {
            DataType::Char(n) => n as usize + 8,
            _ => 16,
        };
        let mut bytes: usize = draft.table.columns.iter().map(|c| width(c.data_type)).sum();
        for column in written {
            let place = ident_place(&column.name, draft.place);
            let name = folded(&column.name.value, column.name.quote_style.is_some());
            if draft.table.columns.iter().any(|c| c.name == name) {
                return Err(error(
                    b"42701",
                    place,
                    format!("column \"{name}\" specified more than once"),
                ));
            }
            let numbered = serial(&column.data_type);
            let domain = self.domain(&column.data_type, place);
            let data_type = match (numbered, &domain) {
                (Some(numbered), _) => numbered,
                (None, Some(domain)) => domain.of,
                (None, None) => kept_type(&column.data_type, self.type_names(), place)?.packed(),
            };
            bytes += width(data_type);
            if bytes > FIXED_BYTES_MAX {
                return Err(error(b"54000", place, "the row is too long")
                    .hint("write text or varchar(n) in place of char(n)"));
            }
            let domain = self.of_domain((&column.data_type, &column.options), place)?;
            draft.table.columns.push(Column { domain, ..Column::new(name, data_type) });
            if numbered.is_some() {
                let id = ColumnId((draft.table.columns.len() - 1) as u16);
                self.number(draft, id, (Numbering::Serial, &[]), place)?;
            }
        }
        Ok(())
    }

    /// A name that no relation or constraint of the draft has, by counting up.
    pub(crate) fn free_name(&self, draft: &Draft, wanted: String) -> String {
        let table = &draft.table;
        // Once: a table may have thousands of constraints whose names are made here.
        let sequences = draft.sequences.iter().map(|sequence| &sequence.name);
        let sequences = sequences.map(|name| local(name));
        let own: HashSet<&str> = table.constraint_names().chain(sequences).collect();
        let taken = |name: &str| {
            // The catalog last: a table may have thousands of constraints.
            own.contains(name) || table.name == name || {
                let written = qualified(&table.schema, name);
                self.table_named(&written).is_some() || self.index_named(&written).is_some()
            }
        };
        if !taken(&wanted) {
            return wanted;
        }
        (1..).map(|n| format!("{wanted}{n}")).find(|name| !taken(name)).unwrap_or(wanted)
    }
}

pub(crate) fn column_of(table: &TableDefinition, name: &str, place: Place) -> Result<ColumnId> {
    let position = table.shown().iter().position(|c| c.name == name);
    position.map(|i| ColumnId(i as u16)).ok_or_else(|| {
        error(b"42703", place, format!("column \"{name}\" named in key does not exist"))
    })
}

/// `table_a_b_suffix`
pub(crate) fn joined_name(table: &TableDefinition, columns: &[ColumnId], suffix: &str) -> String {
    let names: Vec<_> = columns.iter().map(|c| table.columns[c.index()].name.as_str()).collect();
    format!("{}_{}_{suffix}", table.name, names.join("_"))
}

fn refuse_table_clauses(written: &ast::CreateTable, place: Place) -> Result<()> {
    let is_partitioned = written.partition_by.is_some() || written.partition_of.is_some();
    let refused = [
        (written.like.is_some(), "LIKE in CREATE TABLE", "write the columns out"),
        (
            written.inherits.is_some(),
            "INHERITS",
            "write LIKE parent for its columns and UNION ALL in a view for both, or PARTITION BY",
        ),
        (is_partitioned && written.temporary, "a partitioned temporary table", "leave TEMP out"),
        (written.or_replace, "OR REPLACE for a table", "DROP TABLE IF EXISTS first"),
    ];
    match refused.iter().find(|(given, ..)| *given) {
        Some((_, what, hint)) => Err(unsupported(place, what, *hint)),
        None => Ok(()),
    }
}

/// What WITH says.
struct StorageOptions {
    primary_kind: IndexKind,
    /// names of the routing fields, or `replicated`
    routing: Option<Vec<String>>,
}

/// WITH (primary_index = hash | btree, routing = 'column, column' | 'replicated').
fn storage_options(options: &ast::CreateTableOptions, place: Place) -> Result<StorageOptions> {
    let mut read = StorageOptions { primary_kind: IndexKind::BTree, routing: None };
    let list = match options {
        ast::CreateTableOptions::None => return Ok(read),
        ast::CreateTableOptions::With(list)
        | ast::CreateTableOptions::Options(list)
        | ast::CreateTableOptions::Plain(list)
        | ast::CreateTableOptions::TableProperties(list) => list,
    };
    for option in list {
        let text = option.to_string();
        let (key, value) = text.split_once('=').unwrap_or((text.as_str(), ""));
        let value = value.trim().trim_matches(['\'', '"']);
        match (key.trim().to_lowercase().as_str(), value.to_lowercase().as_str()) {
            ("primary_index", "hash") => read.primary_kind = IndexKind::Hash,
            ("primary_index", "btree") => read.primary_kind = IndexKind::BTree,
            // How PostgreSQL's pages are filled and cleaned: there are none here.
            (name, value) if is_of_pages(name, value) => {}
            ("routing", _) => {
                read.routing = Some(value.split(',').map(|name| name.trim().to_owned()).collect());
            }
            _ => {
                return Err(error(
                    b"22023",
                    place,
                    format!("unrecognized storage option \"{text}\""),
                )
                .hint(
                    "write WITH (primary_index = hash), WITH (primary_index = btree), WITH \
                     (routing = 'first_key_column') or WITH (routing = 'replicated')",
                ));
            }
        };
    }
    Ok(read)
}

/// Fails for what SET (...) of a table cannot change.
pub(crate) fn refuse_other_options(options: &ast::CreateTableOptions, place: Place) -> Result<()> {
    let read = storage_options(options, place)?;
    match read.routing.is_none() && read.primary_kind == IndexKind::BTree {
        true => Ok(()),
        false => Err(unsupported(place, "another kind of index or routing", "create the table so")),
    }
}

/// Whether a storage parameter is PostgreSQL's, with nothing to do here.
fn is_of_pages(name: &str, value: &str) -> bool {
    match name {
        "fillfactor" => value.parse().is_ok_and(|percent: u8| (10..=100).contains(&percent)),
        "parallel_workers" | "toast_tuple_target" => value.parse::<u32>().is_ok(),
        name => name.starts_with("autovacuum_") || name.starts_with("toast."),
    }
}

/// What was declared: leading columns of the primary key by name, or, where no column is called so,
/// that the table is replicated.
fn declared_routing(
    table: &TableDefinition,
    names: &[String],
    place: Place,
) -> Result<DeclaredRouting> {
    if matches!(names, [name] if name == "replicated")
        && !table.columns.iter().any(|column| column.name == "replicated")
    {
        return Ok(DeclaredRouting::Replicated);
    }
    let Some(primary) = table.primary.as_ref().filter(|_| table.hidden.is_empty()) else {
        return Err(error(
            b"42P16",
            place,
            format!("table \"{}\" has no primary key to route its rows by", table.name),
        )
        .hint("declare a PRIMARY KEY, or leave routing out"));
    };
    let mut fields = Vec::with_capacity(names.len());
    for name in names {
        let found = table.columns.iter().position(|column| column.name == *name);
        let missing = || {
            error(b"42703", place, format!("routing field \"{name}\" is no column"))
                .hint("write columns' names as they are stored, separated by commas; or replicated")
        };
        fields.push(found.map(|at| ColumnId(at as u16)).ok_or_else(missing)?);
    }
    if primary.columns.starts_with(&fields) {
        return Ok(DeclaredRouting::Fields(fields.len() as u8));
    }
    let name = |column: &ColumnId| table.columns[column.index()].name.as_str();
    let key: Vec<&str> = primary.columns.iter().map(name).collect();
    Err(error(
        b"42P16",
        place,
        format!("routing fields ({}) do not begin the primary key", names.join(", ")),
    )
    .detail(format!("The primary key is ({}).", key.join(", ")))
    .hint("route by its first column or columns, so that every key tells the partition"))
}
