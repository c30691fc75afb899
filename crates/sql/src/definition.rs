//! CREATE TABLE and CREATE INDEX.
//!
//! Role         turns definitions into [`CatalogChange`]s: constraint names are made as PostgreSQL
//!              makes them, CHECK and DEFAULT are compiled here once

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Check, Column, IndexDefinition, IndexKind};
use hotrow_transaction::program::{Expr, NOW, Place, SlotId};
use sqlparser::ast::{self, ColumnOption, TableConstraint};

use crate::apply::CatalogChange;
use crate::error::{Advice, Result, error, ident_place, place_in, syntax, unsupported};
use crate::query::object_name;
use crate::scope::{Compiler, Row, RowColumn};
use crate::token::folded;
use crate::types::data_type;
use crate::typing::{Coercion, common_type, map_slots, visit_slots};

/// Columns of one table.
const COLUMNS_MAX: usize = 1600;
/// Bytes of the fixed-width columns of one row.
const FIXED_BYTES_MAX: usize = 1 << 18;

/// What CREATE TABLE says.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// its name
    pub name: String,
    /// its columns
    pub columns: Vec<Column>,
    /// PRIMARY KEY
    pub primary: Option<IndexDefinition>,
    /// UNIQUE constraints
    pub unique: Vec<IndexDefinition>,
    /// CHECK constraints
    pub checks: Vec<Check>,
    /// REFERENCES
    pub foreign_keys: Vec<ForeignKeyDefinition>,
}

/// A foreign key before its table has an id.
#[derive(Clone, Debug)]
pub struct ForeignKeyDefinition {
    /// constraint name
    pub name: String,
    /// referencing columns
    pub child_columns: Vec<ColumnId>,
    /// referenced table; none for the table itself
    pub parent: Option<TableId>,
    /// referenced columns, one per referencing column
    pub parent_columns: Vec<ColumnId>,
}

/// A table while its definition is read.
struct Draft {
    table: TableDefinition,
    primary_kind: IndexKind,
    place: Place,
}

impl Compiler<'_> {
    /// CREATE TABLE.
    pub(crate) fn create_table(&mut self, written: &ast::CreateTable) -> Result<CatalogChange> {
        let place = place_in(&written.name, self.place);
        let name = object_name(&written.name, place)?;
        if self.catalog.table_named(&name).is_some() || self.catalog.index_named(&name).is_some() {
            if written.if_not_exists {
                return Ok(CatalogChange::Nothing);
            }
            return Err(error(b"42P07", place, format!("relation \"{name}\" already exists")));
        }
        refuse_table_clauses(written, place)?;
        let table = TableDefinition {
            name,
            columns: Vec::new(),
            primary: None,
            unique: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        };
        let primary_kind = storage_options(&written.table_options, place)?;
        let mut draft = Draft { table, primary_kind, place };
        self.columns(&mut draft, &written.columns)?;
        for column in &written.columns {
            self.column_constraints(&mut draft, column)?;
        }
        for constraint in &written.constraints {
            self.table_constraint(&mut draft, constraint)?;
        }
        Ok(CatalogChange::CreateTable(draft.table))
    }

    fn columns(&mut self, draft: &mut Draft, written: &[ast::ColumnDef]) -> Result<()> {
        if written.len() > COLUMNS_MAX {
            return Err(error(
                b"54011",
                draft.place,
                format!("tables can have at most {COLUMNS_MAX} columns"),
            ));
        }
        if written.is_empty() {
            return Err(syntax(draft.place, "a table needs at least one column"));
        }
        let mut bytes = 0;
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
            let data_type = data_type(&column.data_type, place)?;
            bytes += match data_type {
                DataType::Char(n) => n as usize + 8,
                _ => 16,
            };
            if bytes > FIXED_BYTES_MAX {
                return Err(error(b"54000", place, "the row is too long")
                    .hint("write text or varchar(n) in place of char(n)"));
            }
            draft.table.columns.push(Column { name, data_type, nullable: true, default: None });
        }
        Ok(())
    }

    fn column_constraints(&mut self, draft: &mut Draft, written: &ast::ColumnDef) -> Result<()> {
        let place = ident_place(&written.name, draft.place);
        let name = folded(&written.name.value, written.name.quote_style.is_some());
        let id = column_of(&draft.table, &name, place)?;
        for option in &written.options {
            let given = option.name.as_ref().map(|n| folded(&n.value, n.quote_style.is_some()));
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => draft.table.columns[id.index()].nullable = false,
                ColumnOption::Default(expr) => {
                    draft.table.columns[id.index()].default =
                        Some(self.default_value(expr, &draft.table.columns[id.index()])?);
                }
                ColumnOption::PrimaryKey(_) => primary_key(draft, given, vec![id], place)?,
                ColumnOption::Unique(_) => self.unique(draft, given, vec![id]),
                ColumnOption::Check(check) => {
                    self.check(draft, given, &check.expr, place)?;
                }
                ColumnOption::ForeignKey(key) => {
                    self.foreign_key(draft, given, key, vec![id], place)?
                }
                ColumnOption::Collation(_) => {
                    return Err(unsupported(
                        place,
                        "COLLATE",
                        "text compares by bytes: leave it out",
                    ));
                }
                ColumnOption::Generated { .. } | ColumnOption::Identity(_) => {
                    return Err(unsupported(
                        place,
                        "a generated column",
                        "compute the value in the procedure that inserts the row",
                    ));
                }
                other => {
                    return Err(unsupported(
                        place,
                        format!("column option {other}"),
                        "leave it out",
                    ));
                }
            }
        }
        Ok(())
    }

    fn default_value(&mut self, written: &ast::Expr, column: &Column) -> Result<Expr> {
        let place = place_in(written, self.place);
        let value = self.value_for(written, column.data_type, Coercion::Assignment, || {
            format!("column \"{}\"", column.name)
        })?;
        let mut reads_only_now = true;
        visit_slots(&value, &mut |slot| reads_only_now &= slot == NOW);
        if reads_only_now {
            Ok(value)
        } else {
            Err(unsupported(place, "this DEFAULT", "write a constant or now()"))
        }
    }

    fn table_constraint(&mut self, draft: &mut Draft, written: &TableConstraint) -> Result<()> {
        let place = place_in(written, draft.place);
        let named = |name: &Option<ast::Ident>| {
            name.as_ref().map(|n| folded(&n.value, n.quote_style.is_some()))
        };
        match written {
            TableConstraint::PrimaryKey(key) => {
                let columns = key_columns(&draft.table, &key.columns, place)?;
                primary_key(draft, named(&key.name), columns, place)
            }
            TableConstraint::Unique(unique) => {
                let columns = key_columns(&draft.table, &unique.columns, place)?;
                if matches!(unique.nulls_distinct, ast::NullsDistinctOption::NotDistinct) {
                    return Err(unsupported(place, "NULLS NOT DISTINCT", "declare NOT NULL"));
                }
                self.unique(draft, named(&unique.name), columns);
                Ok(())
            }
            TableConstraint::Check(check) => {
                self.check(draft, named(&check.name), &check.expr, place)
            }
            TableConstraint::ForeignKey(key) => {
                let columns = key
                    .columns
                    .iter()
                    .map(|c| {
                        let name = folded(&c.value, c.quote_style.is_some());
                        column_of(&draft.table, &name, ident_place(c, place))
                    })
                    .collect::<Result<Vec<_>>>()?;
                self.foreign_key(draft, named(&key.name), key, columns, place)
            }
            _ => Err(unsupported(
                place,
                "this constraint",
                "write PRIMARY KEY, UNIQUE, CHECK or FOREIGN KEY",
            )),
        }
    }

    fn unique(&mut self, draft: &mut Draft, name: Option<String>, columns: Vec<ColumnId>) {
        let name = name.unwrap_or_else(|| {
            let wanted = joined_name(&draft.table, &columns, "key");
            self.free_name(draft, wanted)
        });
        let kind = IndexKind::BTree;
        draft.table.unique.push(IndexDefinition { name, columns, unique: true, kind });
    }

    /// A name that no relation or constraint of the draft has, by counting up.
    fn free_name(&self, draft: &Draft, wanted: String) -> String {
        let table = &draft.table;
        let taken = |name: &str| {
            self.catalog.table_named(name).is_some()
                || self.catalog.index_named(name).is_some()
                || table.name == name
                || table.primary.iter().chain(&table.unique).any(|i| i.name == name)
                || table.checks.iter().any(|c| c.name == name)
                || table.foreign_keys.iter().any(|k| k.name == name)
        };
        if !taken(&wanted) {
            return wanted;
        }
        (1..).map(|n| format!("{wanted}{n}")).find(|name| !taken(name)).unwrap_or(wanted)
    }

    fn check(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        written: &ast::Expr,
        place: Place,
    ) -> Result<()> {
        let columns = draft.table.columns.iter();
        self.row = Some(Row {
            table: TableId(0),
            name: draft.table.name.clone(),
            columns: columns
                .map(|c| RowColumn {
                    name: c.name.clone(),
                    data_type: c.data_type,
                    nullable: c.nullable,
                })
                .collect(),
            bound: Vec::new(),
        });
        let mut condition = self.condition(written, "CHECK")?;
        let bound = self.row.take().expect("set above").bound;
        let mut foreign = false;
        visit_slots(&condition, &mut |slot| foreign |= !bound.iter().any(|(_, s)| *s == slot));
        if foreign {
            return Err(unsupported(
                place,
                "a CHECK that reads anything but its row",
                "compare columns and constants only",
            ));
        }
        let position = |slot: SlotId| {
            bound.iter().position(|(_, s)| *s == slot).map_or(slot, |i| SlotId(i as u16))
        };
        map_slots(&mut condition, &position);
        let columns: Vec<ColumnId> = bound.iter().map(|(column, _)| *column).collect();
        let name = name.unwrap_or_else(|| {
            let wanted = match columns.as_slice() {
                [column] => joined_name(&draft.table, &[*column], "check"),
                _ => format!("{}_check", draft.table.name),
            };
            self.free_name(draft, wanted)
        });
        draft.table.checks.push(Check { name, columns, condition });
        Ok(())
    }

    fn foreign_key(
        &mut self,
        draft: &mut Draft,
        name: Option<String>,
        written: &ast::ForeignKeyConstraint,
        columns: Vec<ColumnId>,
        place: Place,
    ) -> Result<()> {
        refuse_actions(written, place)?;
        let at = place_in(&written.foreign_table, place);
        let parent_name = object_name(&written.foreign_table, at)?;
        let own = parent_name == draft.table.name;
        let parent = if own { None } else { Some(self.table(&parent_name, at)?) };
        let parent_columns_of = |names: &[ast::Ident]| -> Result<Vec<ColumnId>> {
            names
                .iter()
                .map(|ident| {
                    let name = folded(&ident.value, ident.quote_style.is_some());
                    match parent {
                        Some(table) => self.table_column(table, &name, ident_place(ident, at)),
                        None => column_of(&draft.table, &name, ident_place(ident, at)),
                    }
                })
                .collect()
        };
        let keys: Vec<Vec<ColumnId>> = match parent {
            Some(table) => {
                let unique = table.indexes().map(|id| self.catalog.index(id)).filter(|i| i.unique);
                unique.map(|i| i.columns.clone()).collect()
            }
            None => {
                let own = draft.table.primary.iter().chain(&draft.table.unique);
                own.map(|i| i.columns.clone()).collect()
            }
        };
        let has_primary = match parent {
            Some(table) => table.primary.is_some(),
            None => draft.table.primary.is_some(),
        };
        let parent_columns = if written.referred_columns.is_empty() {
            if !has_primary {
                return Err(error(
                    b"42704",
                    at,
                    format!("there is no primary key for referenced table \"{parent_name}\""),
                ));
            }
            keys.first().cloned().unwrap_or_default()
        } else {
            parent_columns_of(&written.referred_columns)?
        };
        if parent_columns.len() != columns.len() {
            return Err(error(
                b"42830",
                at,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        let matches = |key: &Vec<ColumnId>| {
            key.len() == parent_columns.len() && key.iter().all(|c| parent_columns.contains(c))
        };
        if !keys.iter().any(matches) {
            return Err(error(
                b"42830",
                at,
                format!(
                    "there is no unique constraint matching given keys for referenced table \
                     \"{parent_name}\""
                ),
            )
            .hint("declare the referenced columns PRIMARY KEY or UNIQUE"));
        }
        let name = name.unwrap_or_else(|| {
            let wanted = joined_name(&draft.table, &columns, "fkey");
            self.free_name(draft, wanted)
        });
        for (child, referenced) in columns.iter().zip(&parent_columns) {
            let child = &draft.table.columns[child.index()];
            let referenced = match parent {
                Some(table) => &table.columns[referenced.index()],
                None => &draft.table.columns[referenced.index()],
            };
            if common_type(child.data_type, referenced.data_type).is_none() {
                return Err(error(
                    b"42804",
                    at,
                    format!("foreign key constraint \"{name}\" cannot be implemented"),
                )
                .detail(format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    child.name, referenced.name, child.data_type, referenced.data_type
                )));
            }
        }
        draft.table.foreign_keys.push(ForeignKeyDefinition {
            name,
            child_columns: columns,
            parent: parent.map(|table| table.id),
            parent_columns,
        });
        Ok(())
    }

    /// CREATE INDEX.
    pub(crate) fn create_index(&mut self, written: &ast::CreateIndex) -> Result<CatalogChange> {
        let place = place_in(&written.table_name, self.place);
        let table_name = object_name(&written.table_name, place)?;
        let table = self.table(&table_name, place)?;
        let kind = match &written.using {
            None | Some(ast::IndexType::BTree) => IndexKind::BTree,
            Some(ast::IndexType::Hash) => IndexKind::Hash,
            Some(other) => {
                return Err(unsupported(
                    place,
                    format!("index method {other}"),
                    "write USING btree or USING hash",
                ));
            }
        };
        if written.predicate.is_some() {
            return Err(unsupported(place, "a partial index", "leave WHERE out"));
        }
        if !written.include.is_empty() || !written.with.is_empty() {
            return Err(unsupported(place, "INCLUDE or WITH on an index", "leave it out"));
        }
        if written.nulls_distinct == Some(false) {
            return Err(unsupported(place, "NULLS NOT DISTINCT", "declare the columns NOT NULL"));
        }
        let columns = written
            .columns
            .iter()
            .map(|column| {
                let name = index_column(column, place)?;
                self.table_column(table, &name, place_in(&column.column.expr, place))
            })
            .collect::<Result<Vec<_>>>()?;
        check_key(&table.columns, &columns, place)?;
        let name = match &written.name {
            Some(name) => object_name(name, place_in(name, place))?,
            None => {
                let names: Vec<_> =
                    columns.iter().map(|c| table.columns[c.index()].name.as_str()).collect();
                let wanted = format!("{table_name}_{}_idx", names.join("_"));
                self.free_index_name(wanted)
            }
        };
        if self.catalog.index_named(&name).is_some() || self.catalog.table_named(&name).is_some() {
            if written.if_not_exists {
                return Ok(CatalogChange::Nothing);
            }
            return Err(error(b"42P07", place, format!("relation \"{name}\" already exists")));
        }
        let definition = IndexDefinition { name, columns, unique: written.unique, kind };
        Ok(CatalogChange::CreateIndex { table: table_name, definition })
    }

    fn free_index_name(&self, wanted: String) -> String {
        let taken = |name: &str| self.catalog.index_named(name).is_some();
        if !taken(&wanted) {
            return wanted;
        }
        (1..).map(|n| format!("{wanted}{n}")).find(|name| !taken(name)).unwrap_or(wanted)
    }
}

fn column_of(table: &TableDefinition, name: &str, place: Place) -> Result<ColumnId> {
    let position = table.columns.iter().position(|c| c.name == name);
    position.map(|i| ColumnId(i as u16)).ok_or_else(|| {
        error(b"42703", place, format!("column \"{name}\" named in key does not exist"))
    })
}

/// `table_a_b_suffix`
fn joined_name(table: &TableDefinition, columns: &[ColumnId], suffix: &str) -> String {
    let names: Vec<_> = columns.iter().map(|c| table.columns[c.index()].name.as_str()).collect();
    format!("{}_{}_{suffix}", table.name, names.join("_"))
}

fn primary_key(
    draft: &mut Draft,
    name: Option<String>,
    columns: Vec<ColumnId>,
    place: Place,
) -> Result<()> {
    if draft.table.primary.is_some() {
        return Err(error(
            b"42P16",
            place,
            format!("multiple primary keys for table \"{}\" are not allowed", draft.table.name),
        ));
    }
    for column in &columns {
        draft.table.columns[column.index()].nullable = false;
    }
    check_key(&draft.table.columns, &columns, place)?;
    let name = name.unwrap_or_else(|| format!("{}_pkey", draft.table.name));
    let kind = draft.primary_kind;
    draft.table.primary = Some(IndexDefinition { name, columns, unique: true, kind });
    Ok(())
}

/// Refuses keys without columns, with a column twice, or longer than a key may be.
fn check_key(all: &[Column], columns: &[ColumnId], place: Place) -> Result<()> {
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

fn key_columns(
    table: &TableDefinition,
    written: &[ast::IndexColumn],
    place: Place,
) -> Result<Vec<ColumnId>> {
    let columns = written
        .iter()
        .map(|c| column_of(table, &index_column(c, place)?, place_in(&c.column.expr, place)))
        .collect::<Result<Vec<_>>>()?;
    check_key(&table.columns, &columns, place)?;
    Ok(columns)
}

fn index_column(written: &ast::IndexColumn, place: Place) -> Result<String> {
    let place = place_in(&written.column.expr, place);
    let options = &written.column.options;
    if matches!(options.sort, Some(ast::OrderBySort::Desc)) || options.nulls_first == Some(true) {
        return Err(unsupported(
            place,
            "DESC or NULLS FIRST in an index",
            "leave it out: indexes are read in both directions",
        ));
    }
    if written.operator_class.is_some() {
        return Err(unsupported(place, "an operator class", "leave it out"));
    }
    match &written.column.expr {
        ast::Expr::Identifier(ident) => Ok(folded(&ident.value, ident.quote_style.is_some())),
        _ => Err(unsupported(place, "an index on an expression", "store the value in a column")),
    }
}

fn refuse_actions(key: &ast::ForeignKeyConstraint, place: Place) -> Result<()> {
    use ast::ReferentialAction as A;
    for action in key.on_delete.iter().chain(&key.on_update) {
        if !matches!(action, A::NoAction | A::Restrict) {
            return Err(unsupported(
                place,
                format!("ON DELETE or ON UPDATE {action}"),
                "write NO ACTION, and change the children in the procedure that deletes the parent",
            ));
        }
    }
    if matches!(
        key.match_kind,
        Some(ast::ConstraintReferenceMatchKind::Full | ast::ConstraintReferenceMatchKind::Partial)
    ) {
        return Err(unsupported(place, "MATCH FULL or PARTIAL", "declare the columns NOT NULL"));
    }
    let deferred = key.characteristics.as_ref().is_some_and(|c| c.deferrable == Some(true));
    if deferred {
        return Err(unsupported(place, "DEFERRABLE", "insert parents before children"));
    }
    Ok(())
}

fn refuse_table_clauses(written: &ast::CreateTable, place: Place) -> Result<()> {
    let refused = [
        (written.temporary, "a temporary table", "use variables, or rows with the caller's key"),
        (written.query.is_some(), "CREATE TABLE AS", "create it, then INSERT in a FOR loop"),
        (written.like.is_some(), "LIKE in CREATE TABLE", "write the columns out"),
        (written.inherits.is_some(), "INHERITS", "write the columns out"),
        (written.partition_by.is_some(), "PARTITION BY", "engines partition by keys themselves"),
        (written.partition_of.is_some(), "PARTITION OF", "engines partition by keys themselves"),
        (written.or_replace, "OR REPLACE for a table", "DROP TABLE IF EXISTS first"),
    ];
    match refused.iter().find(|(given, ..)| *given) {
        Some((_, what, hint)) => Err(unsupported(place, what, *hint)),
        None => Ok(()),
    }
}

/// WITH (primary_index = hash | btree).
fn storage_options(options: &ast::CreateTableOptions, place: Place) -> Result<IndexKind> {
    let mut kind = IndexKind::BTree;
    let list = match options {
        ast::CreateTableOptions::None => return Ok(kind),
        ast::CreateTableOptions::With(list)
        | ast::CreateTableOptions::Options(list)
        | ast::CreateTableOptions::Plain(list)
        | ast::CreateTableOptions::TableProperties(list) => list,
    };
    for option in list {
        let text = option.to_string().to_lowercase();
        let (key, value) = text.split_once('=').unwrap_or((text.as_str(), ""));
        kind = match (key.trim(), value.trim().trim_matches(['\'', '"'])) {
            ("primary_index", "hash") => IndexKind::Hash,
            ("primary_index", "btree") => IndexKind::BTree,
            _ => {
                return Err(error(
                    b"22023",
                    place,
                    format!("unrecognized storage option \"{text}\""),
                )
                .hint("write WITH (primary_index = hash) or WITH (primary_index = btree)"));
            }
        };
    }
    Ok(kind)
}
