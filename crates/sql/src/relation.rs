//! Queries of any shape: joins, groups, subqueries, set operations, the system catalog.
//!
//! Role         compiles what is more than one access to one table to a [`Query`], a tree of
//!              operators; every expression in it is typed and compiled by the rest of this crate,
//!              so that a sum in a report is the same sum as in a procedure
//! States       `from` brings relations into a level; conditions, select list, groups and order are
//!              compiled against the levels; then `assemble` makes operators of all of it, so that
//!              each access reads just the columns that somebody asked for
//! Invariants   I1 a column of a relation has one slot in the whole query, given when it is first
//!              read ([`Relation::columns`])
//!              I2 what is compiled while a level is the innermost one registers its steps there
//!              ([`Level::steps`]); who compiles an expression takes them and puts them below it

pub(crate) mod array;
mod assemble;
mod calls;
mod change;
mod element;
mod expansion;
mod expression;
mod from;
mod group;
mod grouping;
mod guarded;
mod is_array;
mod join_order;
pub(crate) mod level;
mod lists;
mod locks;
mod merge;
pub(crate) mod one_access;
mod order;
mod ordered_set;
mod own;
mod put_off;
mod records;
mod recursion;
mod select;
mod select_list;
mod semi_join;
mod set;
mod shared;
mod shown_rows;
mod subquery;
mod system;
mod upsert;
mod window;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::{Plan, Query};
use hotrow_transaction::needs::Needs;
use hotrow_transaction::program::{ArrayFunction, Expr, Place};
use sqlparser::ast;

use crate::error::{Advice, Result, error, refuse_operators};
use crate::relation::level::{Bound, Level, Relation, RelationColumn, RelationKind};
use crate::relation::one_access::{Rows, Wanted};
use crate::scope::Compiler;
use crate::state::Row;
use crate::typing::{array_call, constant, spread};

pub use change::Change;
pub(crate) use change::{FoundRow, RowBeside, written_values};
pub(crate) use level::RelationNames;
pub(crate) use level::extended;
pub(crate) use select_list::column_name;
pub use system::{
    Fields, SystemContext, has_right, is_function, sequence_named, system_function, system_rows,
    table_number,
};
pub(crate) use system::{attribute_name, check_anywhere, key_name};

/// Relations, subqueries, set operations, window functions and functions beside programs of one
/// query.
const PARTS_MAX: usize = 250;

impl Compiler<'_> {
    /// Compiles a query to operators.
    pub(crate) fn relational(&mut self, query: &ast::Query) -> Result<Query> {
        let bound = self.query_plan(query)?;
        self.query_of(bound)
    }

    /// Compiles a query to one access, where that gives the rows that are wanted of it, or to
    /// operators.
    pub(crate) fn rows_of(&mut self, query: &ast::Query, wanted: Wanted) -> Result<Rows<Query>> {
        Ok(match self.bound_rows(query, Some(wanted))? {
            Rows::Access(selected) => Rows::Access(selected),
            Rows::Operators(bound) => Rows::Operators(self.query_of(bound)?),
        })
    }

    fn query_of(&mut self, mut bound: Bound) -> Result<Query> {
        self.write_vectors(&mut bound)?;
        let columns = bound.outputs.iter().map(|(name, slot)| {
            let data_type = self.slot_type(*slot).packed();
            let origin = self.origin_of(&self.slot_expr(*slot));
            hotrow_transaction::program::ResultColumn { name: name.clone(), data_type, origin }
        });
        Ok(Query {
            needs: Needs::default(),
            columns: columns.collect(),
            outputs: bound.outputs.iter().map(|(_, slot)| *slot).collect(),
            plan: bound.plan,
            fetches: std::mem::take(&mut self.fetches),
            slots: self.slots.clone(),
            parameters: self.parameters.clone(),
        })
    }

    /// Has vectors of the system catalog written as PostgreSQL writes them, where they are results.
    fn write_vectors(&mut self, bound: &mut Bound) -> Result<()> {
        for at in 0..bound.outputs.len() {
            let slot = bound.outputs[at].1;
            let name = &self.slots[slot.index()].name;
            let column = name.rsplit('.').next().unwrap_or_default();
            let is_system = name.starts_with('$') && system::is_vector(column);
            if !is_system || !matches!(self.slot_type(slot), SqlType::Array(_)) {
                continue;
            }
            let written = self.temporary("vector", DataType::Text)?;
            let blank = constant(Value::Text(" ".to_owned()), DataType::Text);
            let of = vec![spread(self.slot_expr(slot)), blank];
            let text = array_call(ArrayFunction::Join, of, SqlType::Scalar(DataType::Text));
            let scalars = self.scalars(&[text])?;
            let input = Box::new(std::mem::replace(&mut bound.plan, Plan::One));
            bound.plan = Plan::Compute { input, scalars, outputs: vec![written] };
            bound.outputs[at].1 = written;
        }
        Ok(())
    }

    /// Counts a part of the query, each an operator or a few upon the others: their number bounds
    /// the depth of every recursion over the plan.
    fn part(&mut self) -> Result<()> {
        self.parts += 1;
        if self.parts <= PARTS_MAX {
            return Ok(());
        }
        let message = format!("the query has more than {PARTS_MAX} relations and subqueries");
        Err(crate::error::too_complex(self.place, message)
            .hint("write parts of it as statements of their own"))
    }

    pub(crate) fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("a query is being compiled")
    }

    /// Whether what is compiled stands in no row of a table: an expression of a statement, or a
    /// SELECT without FROM that is a statement. It is computed once.
    pub(crate) fn stands_alone(&self) -> bool {
        let is_outermost = self.levels.len() <= 1 && self.levels_around == 0;
        is_outermost && self.levels.iter().all(|level| level.relations.is_empty())
    }

    /// Compiles something over the rows of a table: what it gives, and the columns that it reads.
    pub(crate) fn with_row<T>(
        &mut self,
        row: Row,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Row)> {
        let table = row.table;
        let schema = self.catalog.tables().at(row.table.index()).map(|table| &table.schema);
        self.levels.push(Level::over(row, schema.cloned()));
        let compiled = compile(self);
        let level = self.levels.pop().expect("it was pushed above");
        if level.needs_operators() {
            self.needs_query = Some(refuse_operators(self.place));
        }
        let row = level.relations.first().expect("it is over one").row(table);
        Ok((compiled?, row))
    }

    /// The row of the table that something is compiled over, as far as it has been read.
    pub(crate) fn innermost_row(&mut self, table: TableId) -> Row {
        self.level().relations.first().expect("it is over one").row(table)
    }

    /// Compiles something with such rows in scope beside that of the innermost level.
    pub(crate) fn with_rows_beside<T>(
        &mut self,
        rows: &[RowBeside],
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = (self.level().relations.len(), self.level().shown.len());
        for RowBeside { name, columns, read_of } in rows {
            let row = Bound { plan: Plan::One, outputs: columns.clone() };
            let row = self.planned(name.clone(), &[], row, self.place)?;
            self.show(Relation { read_of: read_of.clone(), ..row });
        }
        let compiled = compile(self);
        self.level().relations.truncate(before.0);
        self.level().shown.truncate(before.1);
        compiled
    }

    /// Brings a relation into the innermost level, behind those that are there; its number.
    fn show(&mut self, relation: Relation) -> usize {
        let (level, columns) = (self.level(), relation.starred());
        let at = level.relations.len();
        level.relations.push(relation);
        level.shown.extend(columns.into_iter().map(|column| (at, column)));
        at
    }

    /// The column with this name, of the innermost level that has one.
    pub(crate) fn relation_column(&mut self, name: &str, place: Place) -> Result<Option<Expr>> {
        for depth in (0..self.levels.len()).rev() {
            let mut found = None;
            for (at, relation) in self.levels[depth].relations.iter().enumerate() {
                let Some(column) = relation.column(name) else { continue };
                if relation.columns[column].hidden {
                    continue;
                }
                let others = relation.shown().iter().skip(column + 1);
                let mut others = others.filter(|other| other.name == name && !other.hidden);
                if found.is_some() || others.next().is_some() {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(error(b"42702", place, message));
                }
                found = Some((at, column));
            }
            if let Some((at, column)) = found {
                self.need_column(depth, at, column)?;
                return self.slot_of_column(depth, at, column).map(Some);
            }
        }
        self.value_of_function(name)
    }

    /// What a function in FROM gives, by its name or alias, if that is a value: `SELECT e FROM
    /// jsonb_array_elements('[1]') e`.
    fn value_of_function(&mut self, name: &str) -> Result<Option<Expr>> {
        for depth in (0..self.levels.len()).rev() {
            let relations = &self.levels[depth].relations;
            let Some(at) = relations.iter().position(|known| known.name == name) else { continue };
            if !relations[at].is_value {
                return Ok(None);
            }
            self.need_column(depth, at, 0)?;
            return self.slot_of_column(depth, at, 0).map(Some);
        }
        Ok(None)
    }

    /// The name of the innermost relation that has a column of this name.
    pub(crate) fn relation_with(&self, column: &str) -> &str {
        let mut relations = self.levels.iter().rev().flat_map(|level| &level.relations);
        let found = relations.find(|relation| relation.column(column).is_some());
        found.map_or("the table's alias", |relation| relation.name.as_str())
    }

    /// Whether a name is that of a column that a view computes, whose table is changed.
    pub(crate) fn is_of_changed_view(&self, name: &str) -> bool {
        let relations = self.levels.iter().flat_map(|level| &level.relations);
        let mut stars = relations.filter_map(|relation| relation.star.as_ref());
        stars.any(|star| star.computed.iter().any(|computed| computed == name))
    }

    /// What `relation.column` is, if there is such a relation.
    pub(crate) fn qualified_relation_column(
        &mut self,
        parts: &[String],
        place: Place,
    ) -> Result<Option<Expr>> {
        let (schema, relation, name) = match parts {
            [relation, name] => (None, relation, name),
            [schema, relation, name] => (Some(schema), relation, name),
            _ => return Ok(None),
        };
        for depth in (0..self.levels.len()).rev() {
            let at = self.levels[depth].relations.iter().position(|known| {
                known.name == *relation
                    && schema.is_none_or(|schema| known.schema.as_deref() == Some(schema.as_str()))
            });
            if let Some(at) = at {
                let Some(column) = self.levels[depth].relations[at].column(name) else {
                    if schema.is_none() && self.takes_row(name) {
                        return self.field_by_function(relation, name).map(Some);
                    }
                    let message = format!("column {relation}.{name} does not exist");
                    return Err(error(b"42703", place, message));
                };
                let columns = self.levels[depth].relations[at].shown();
                if columns.iter().skip(column + 1).any(|other| other.name == *name) {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(error(b"42702", place, message));
                }
                self.need_column(depth, at, column)?;
                return self.slot_of_column(depth, at, column).map(Some);
            }
        }
        Ok(None)
    }

    pub(crate) fn slot_of_column(
        &mut self,
        depth: usize,
        relation: usize,
        column: usize,
    ) -> Result<Expr> {
        let known = &self.levels[depth].relations[relation];
        let RelationColumn { name, sql_type, slot, .. } = &known.columns[column];
        if let Some(slot) = *slot {
            return Ok(spread(self.slot_expr(slot)));
        }
        let (name, sql_type) = (format!("${}.{name}", known.name), *sql_type);
        let table = match known.kind {
            RelationKind::Table(table) => Some(table),
            RelationKind::System(_) | RelationKind::Planned(_) => None,
        };
        let slot = self.slot(&name, sql_type)?;
        let origin = table.map(|table| (slot, (table, ColumnId(column as u16))));
        self.origins.extend(origin);
        self.levels[depth].relations[relation].columns[column].slot = Some(slot);
        Ok(spread(self.slot_expr(slot)))
    }
}
