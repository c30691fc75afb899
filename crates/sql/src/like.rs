//! LIKE in CREATE TABLE: columns, and what hangs on them, taken over from another table.
//!
//! Role         takes the other table's columns over where LIKE stands among the columns, as
//!              `like_syntax` has it; its indexes once all columns are known
//! Source       PostgreSQL 15, "CREATE TABLE", `transformTableLikeClause`

use std::sync::Arc;

use hotrow_base::ids::ColumnId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{
    Check, Column, Draws, Generated, Hidden, IndexDefinition, Numbering, OfDomain, Table, View,
};
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

use crate::changes::TableDefinition;
use crate::columns_of_domain::name_in_table;
use crate::constraint::{primary_key, refuse_taken};
use crate::definition::{Draft, joined_name};
use crate::error::{Advice, Result, error, ident_place, syntax, unsupported};
use crate::index::told_apart;
use crate::relation::attribute_name;
use crate::scope::Compiler;
use crate::written::object_name;

/// What LIKE can be told to take over beside names, types and NOT NULL.
const PARTS: [&str; 9] = [
    "comments",
    "compression",
    "constraints",
    "defaults",
    "generated",
    "identity",
    "indexes",
    "statistics",
    "storage",
];

/// What one LIKE takes over.
#[derive(Default)]
struct Parts([bool; PARTS.len()]);

impl Parts {
    fn has(&self, part: &str) -> bool {
        PARTS.iter().zip(self.0).any(|(known, is_taken)| *known == part && is_taken)
    }
}

/// An index or constraint of a table that LIKE names, to be made once all columns are known.
pub(crate) struct Copied {
    /// what it is, but for its name and columns
    definition: IndexDefinition,
    /// its key, and whether greater values come first
    key: Vec<(KeyPart, bool)>,
    is_primary: bool,
}

enum KeyPart {
    Shown(ColumnId),
    /// a column that users do not see, how its part of the index is called, and its value
    Computed((Hidden, String), Generated, Box<Column>),
}

/// The options of a LIKE.
fn parts_of(written: &[String], place: Place) -> Result<Parts> {
    let words: Vec<String> = written.iter().map(|word| word.trim_matches('"').into()).collect();
    let words: &[String] = if words == ["nothing"] { &[] } else { &words };
    let mut parts = Parts::default();
    for option in words.chunks(2) {
        let is_taken = option[0].eq_ignore_ascii_case("including");
        let part = option.get(1).map_or(")", String::as_str);
        let found = PARTS.iter().position(|known| known.eq_ignore_ascii_case(part));
        match found {
            _ if !is_taken && !option[0].eq_ignore_ascii_case("excluding") => {
                return Err(syntax(place, format!("syntax error at or near \"{}\"", option[0])));
            }
            Some(at) => parts.0[at] = is_taken,
            None if part.eq_ignore_ascii_case("all") => parts.0 = [is_taken; PARTS.len()],
            None => {
                return Err(syntax(place, format!("syntax error at or near \"{part}\"")));
            }
        }
    }
    Ok(parts)
}

impl Compiler<'_> {
    /// Takes over what one LIKE says, where its column stands.
    pub(crate) fn columns_like(
        &mut self,
        draft: &mut Draft,
        written: &ast::ColumnDef,
    ) -> Result<()> {
        let place = ident_place(&written.name, draft.place);
        let ast::DataType::Custom(name, options) = &written.data_type else {
            return Err(syntax(place, "LIKE needs the name of a table"));
        };
        let parts = parts_of(options, place)?;
        let name = object_name(name, place)?;
        self.refuse_hidden(&name, place)?;
        if let Some((_, partition)) = self.partition_named(&name) {
            let table = self.catalog.table(partition.table);
            return self.like_table(draft, table, &parts, place);
        }
        if let Some(view) = self.view_named(&name) {
            let view = std::sync::Arc::clone(view);
            return like_view(draft, &view, place);
        }
        if self.table_named(&name).is_some_and(|table| table.sequence.is_some()) {
            let message = format!("relation \"{name}\" is invalid in LIKE clause");
            let detail = "This operation is not supported for sequences.";
            return Err(error(b"42809", place, message).detail(detail));
        }
        let table = self.table(&name, place)?;
        self.like_table(draft, table, &parts, place)
    }

    fn like_table(
        &self,
        draft: &mut Draft,
        table: &Table,
        parts: &Parts,
        place: Place,
    ) -> Result<()> {
        let first = draft.table.columns.len() as u16;
        let moved = |column: &ColumnId| ColumnId(column.0 + first);
        for column in table.shown() {
            add_column(draft, &column.name, column.data_type, place)?;
            let last = draft.table.columns.len() - 1;
            draft.table.columns[last].nullable = column.nullable;
            if let Some(of) = &column.domain {
                like_of_domain(draft, (table, last), (of, &column.default), moved);
            }
            if parts.has("defaults") {
                draft.table.columns[last].default.clone_from(&column.default);
            }
            let Some(draws) = column.draws else { continue };
            match draws.as_written {
                Numbering::Serial | Numbering::Default if parts.has("defaults") => {
                    let draws = Draws { as_written: Numbering::Default, ..draws };
                    draft.table.columns[last].draws = Some(draws);
                }
                Numbering::Always | Numbering::ByDefault if parts.has("identity") => {
                    if let Some(sequence) = self.catalog.table(draws.sequence).sequence {
                        let of = (draws.as_written, sequence);
                        self.number_with(draft, ColumnId(last as u16), of);
                    }
                }
                _ => {}
            }
        }
        if parts.has("generated") {
            let shown = table.generated.iter().filter(|of| table.hidden(of.column).is_none());
            draft.table.generated.extend(shown.map(|of| Generated {
                column: moved(&of.column),
                columns: of.columns.iter().map(moved).collect(),
                value: of.value.clone(),
            }));
        }
        if parts.has("constraints") {
            let of_domains = table.columns.iter().filter_map(|column| column.domain.as_deref());
            let of_domains = of_domains.flat_map(|of| &of.checks).map(|(_, name)| name);
            let of_domains: Vec<_> = of_domains.collect();
            for check in table.checks.iter().filter(|check| !of_domains.contains(&&check.name)) {
                refuse_taken(draft, Some(&check.name), place)?;
                let columns = check.columns.iter().map(moved).collect();
                let (name, condition) = (check.name.clone(), check.condition.clone());
                draft.table.checks.push(Check { name, columns, condition });
            }
        }
        if parts.has("indexes") {
            for index in table.declared_indexes().map(|id| self.catalog.index(id)) {
                let part = |column: &ColumnId| {
                    let computed = table.hidden(*column).zip(table.generated(*column));
                    let part = match computed {
                        None => KeyPart::Shown(moved(column)),
                        Some((hidden, of)) => {
                            let columns = of.columns.iter().map(moved).collect();
                            let of = Generated { columns, ..of.clone() };
                            let described = table.columns[column.index()].clone();
                            let name = attribute_name(table, *column).to_owned();
                            KeyPart::Computed((hidden, name), of, Box::new(described))
                        }
                    };
                    (part, index.descending.contains(column))
                };
                draft.copied.push(Copied {
                    key: index.columns.iter().map(part).collect(),
                    is_primary: table.declared_primary() == Some(index.id),
                    definition: IndexDefinition {
                        name: String::new(),
                        columns: Vec::new(),
                        descending: Vec::new(),
                        unique: index.unique,
                        kind: index.kind,
                        is_constraint: index.is_constraint,
                        deferral: index.deferral,
                    },
                });
            }
        }
        Ok(())
    }

    /// Makes the indexes that LIKE has asked for, now that all columns are known.
    pub(crate) fn copy_indexes(&self, draft: &mut Draft) -> Result<()> {
        for Copied { mut definition, key, is_primary } in std::mem::take(&mut draft.copied) {
            let mut names = Vec::new();
            for (part, is_descending) in key {
                let column = match part {
                    KeyPart::Shown(column) => {
                        names.push(draft.table.columns[column.index()].name.clone());
                        column
                    }
                    KeyPart::Computed((hidden, name), of, described) => {
                        names.extend(Some(name).filter(|_| hidden != Hidden::Condition));
                        hidden_column(&mut draft.table, (hidden, of), *described)
                    }
                };
                definition.columns.push(column);
                definition.descending.extend(Some(column).filter(|_| is_descending));
            }
            if is_primary {
                primary_key(draft, None, definition.columns, draft.place)?;
                continue;
            }
            let wanted = match definition.is_constraint {
                true => joined_name(&draft.table, &definition.columns, "key"),
                false => {
                    told_apart(&mut names);
                    format!("{}_{}_idx", draft.table.name, names.join("_"))
                }
            };
            definition.name = self.free_name(draft, wanted);
            draft.table.unique.push(definition);
        }
        Ok(())
    }
}

/// The column of a table that has this value for an index, which is added where there is none.
fn hidden_column(
    table: &mut TableDefinition,
    (hidden, value): (Hidden, Generated),
    described: Column,
) -> ColumnId {
    let first = table.shown().len();
    let known = table.generated.iter().find(|known| {
        let behind = known.column.index().checked_sub(first);
        let is_hidden = behind.and_then(|at| table.hidden.get(at)) == Some(&hidden);
        is_hidden && known.columns == value.columns && known.value == value.value
    });
    if let Some(known) = known {
        return known.column;
    }
    let column = ColumnId(table.columns.len() as u16);
    table.columns.push(described);
    table.hidden.push(hidden);
    table.generated.push(Generated { column, ..value });
    column
}

/// LIKE of a view: its columns.
/// Has the last column of a draft be of a domain as the one that it is copied from.
fn like_of_domain(
    draft: &mut Draft,
    (table, last): (&Table, usize),
    (of, default): (&OfDomain, &Option<Expr>),
    moved: impl Fn(&ColumnId) -> ColumnId,
) {
    let mut next = of.clone();
    for (own, name) in &mut next.checks {
        let Some(check) = table.checks.iter().find(|check| check.name == *name) else { continue };
        let column = &draft.table.columns[last].name;
        *name = name_in_table(&draft.table.name, column, own);
        let columns = check.columns.iter().map(&moved).collect();
        let (name, condition) = (name.clone(), check.condition.clone());
        draft.table.checks.push(Check { name, columns, condition });
    }
    let column = &mut draft.table.columns[last];
    if of.gives_default {
        column.default.clone_from(default);
    }
    column.domain = Some(Arc::new(next));
}

fn like_view(draft: &mut Draft, view: &View, place: Place) -> Result<()> {
    for (name, sql_type) in &view.columns {
        let SqlType::Scalar(data_type) = sql_type else {
            return Err(unsupported(place, "an array of a view as a column", "write it out"));
        };
        add_column(draft, name, *data_type, place)?;
    }
    Ok(())
}

fn add_column(draft: &mut Draft, name: &str, data_type: DataType, place: Place) -> Result<()> {
    if draft.table.columns.iter().any(|column| column.name == name) {
        let message = format!("column \"{name}\" specified more than once");
        return Err(error(b"42701", place, message));
    }
    draft.table.columns.push(Column::new(name, data_type));
    Ok(())
}
