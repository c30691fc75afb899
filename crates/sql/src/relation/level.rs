//! What is in scope of one SELECT while it is compiled, and what was asked for in it.

use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::SqlType;
use hotrow_query::{
    Frame, FrameBound, GroupAggregate, HostFunction, Plan, SortKey, Step, WindowFunction,
};
use hotrow_transaction::catalog::View;
use hotrow_transaction::program::{Expr, OrderKey, SlotId};
use sqlparser::ast;

use crate::path::Chosen;
use crate::state::{ReadOf, Row, RowColumn, Star};

/// What is in scope of one SELECT.
#[derive(Default)]
pub(crate) struct Level {
    pub(crate) relations: Vec<Relation>,
    /// what `*` stands for: relations and columns of them
    pub(crate) shown: Vec<(usize, usize)>,
    /// what expressions that are being compiled need computed first (I2)
    pub(crate) steps: Vec<Step>,
    /// parts of expressions around what is compiled, which may be left out ([`super::guarded`])
    pub(crate) parts_around: usize,
    /// its rows are grouped by something
    pub(crate) has_group_by: bool,
    /// names that WITH gives to queries
    pub(crate) common: Vec<Common>,
    /// steps that are computed once, before any row is read
    pub(crate) given: Vec<Step>,
    /// none: aggregates may not stand where an expression is compiled now
    pub(crate) aggregates: Option<AskedAggregates>,
    /// none: window functions may not
    pub(crate) windows: Option<Vec<AskedWindow>>,
    /// WINDOW: definitions that OVER names
    pub(crate) named_windows: Vec<(String, ast::WindowSpec)>,
    /// functions in a select list that give rows, as written, and their columns
    pub(crate) expansions: Vec<(String, Vec<SlotId>)>,
    /// and what they are
    pub(crate) expanding: Vec<Expansion>,
    /// FOR UPDATE and its kin
    pub(crate) locks: Vec<Clause>,
    /// how its one table is best read
    pub(crate) wish: Option<ReadWish>,
    /// it is read in the order that was wished for
    pub(crate) is_read_in_order: bool,
    /// it is read so many rows at a time as this slot has
    pub(crate) read_by_parts: Option<SlotId>,
}

/// How the rows of a table are best read, where nothing stands between them and the query's end but
/// ORDER BY and LIMIT.
#[derive(Default)]
pub(crate) struct ReadWish {
    /// in this order
    pub(crate) order: Vec<OrderKey>,
    /// no more than so many, if they come in it
    pub(crate) limit: Option<Expr>,
    /// the limit is this slot, whose value is raised while too few of its rows are taken
    pub(crate) by_parts: Option<SlotId>,
    /// by operators, not by a program of its own
    pub(crate) is_of_operators: bool,
}

/// A path for such a read, and what comes of the wish.
pub(crate) struct WishedRead {
    pub(crate) chosen: Chosen,
    /// the path visits rows in the order
    pub(crate) is_ordered: bool,
    pub(crate) limit: Option<Expr>,
}

impl Level {
    /// That of the rows of one table in a schema.
    pub(crate) fn over(row: Row, schema: Option<Arc<str>>) -> Self {
        let relation = Relation::over(row, schema);
        let shown = relation.starred().into_iter().map(|column| (0, column)).collect();
        Self { relations: vec![relation], shown, ..Self::default() }
    }

    /// Whether something that was compiled in it needs operators: a subquery, a function that
    /// programs do not have.
    pub(crate) fn needs_operators(&self) -> bool {
        !self.steps.is_empty() || !self.given.is_empty() || !self.expanding.is_empty()
    }
}

/// A query in WITH.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) query: Rc<ast::Query>,
    /// where it is declared: the level, and the number in it; it sees what is before that
    pub(crate) depth: usize,
    pub(crate) number: usize,
    /// its number among those that run once; none: it is compiled where it is named
    pub(crate) shared: Option<usize>,
    /// WITH RECURSIVE
    pub(crate) recursive: bool,
    /// what its name means while it is compiled itself
    pub(crate) within: Option<Within>,
}

/// What FROM names.
pub(crate) struct Relation {
    pub(crate) name: String,
    /// for `schema.table.column`
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) columns: Vec<RelationColumn>,
    /// how many of them can be named; those behind are keys of a table's indexes
    pub(crate) shown: usize,
    /// those that `*` stands for, where these are not all that can be named
    pub(crate) star: Option<Star>,
    pub(crate) kind: RelationKind,
    /// whose right it takes to read their columns; none: nobody's
    pub(crate) read_of: Option<ReadOf>,
    /// which of a table's rows they are, where these are not all
    pub(crate) partition: Option<Arc<View>>,
    /// whether its name alone is that of a value: of a function that gives no rows of several
    pub(crate) is_value: bool,
    /// whether an outer join makes rows of it up
    pub(crate) is_optional: bool,
    /// true for the rows that no join makes up, where somebody asks
    pub(crate) presence: Option<SlotId>,
}

pub(crate) struct RelationColumn {
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    pub(crate) nullable: bool,
    pub(crate) slot: Option<SlotId>,
    /// joined by USING: named by the other side's
    pub(crate) hidden: bool,
}

pub(crate) enum RelationKind {
    Table(TableId),
    System(&'static str),
    /// a subquery or a function
    Planned(Option<Plan>),
}

impl Relation {
    /// That of the rows of one table in a schema.
    pub(crate) fn over(row: Row, schema: Option<Arc<str>>) -> Self {
        let Row { table, name, columns, shown, bound, star, read_of } = row;
        let columns = columns.into_iter().zip(0..).map(|(column, at)| RelationColumn {
            name: column.name,
            sql_type: SqlType::Scalar(column.data_type),
            nullable: column.nullable,
            slot: bound.iter().find(|(bound, _)| *bound == ColumnId(at)).map(|(_, slot)| *slot),
            hidden: false,
        });
        let (columns, kind) = (columns.collect(), RelationKind::Table(table));
        Self { schema, star, read_of, ..Self::new(name, columns, shown, kind) }
    }

    /// One with columns, of which so many are shown; all of these are what `*` stands for.
    pub(crate) fn new(
        name: String,
        columns: Vec<RelationColumn>,
        shown: usize,
        kind: RelationKind,
    ) -> Self {
        Self {
            name,
            schema: None,
            columns,
            shown,
            star: None,
            kind,
            read_of: None,
            partition: None,
            is_value: false,
            is_optional: false,
            presence: None,
        }
    }

    /// The columns that can be named.
    pub(crate) fn shown(&self) -> &[RelationColumn] {
        &self.columns[..self.shown]
    }

    /// The columns that `*` stands for.
    pub(crate) fn starred(&self) -> Vec<usize> {
        self.star.as_ref().map_or_else(|| (0..self.shown).collect(), |star| star.shown.clone())
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.shown().iter().position(|column| column.name == name)
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = SlotId> + '_ {
        self.columns.iter().filter_map(|column| column.slot).chain(self.presence)
    }

    /// As the row of a one-table access.
    pub(crate) fn row(&self, table: TableId) -> Row {
        let columns = self.columns.iter().map(|column| RowColumn {
            name: column.name.clone(),
            data_type: column.sql_type.packed(),
            nullable: column.nullable,
        });
        let bound = self.columns.iter().enumerate();
        let bound = bound.filter_map(|(i, column)| Some((ColumnId(i as u16), column.slot?)));
        let mut bound: Vec<_> = bound.collect();
        bound.sort_by_key(|(_, slot)| *slot); // as they were asked for
        let (name, columns) = (self.name.clone(), columns.collect());
        let (star, read_of) = (self.star.clone(), self.read_of.clone());
        Row { table, name, columns, shown: self.shown, star, read_of, bound }
    }
}

/// Names of a table's rows and columns, and whose right it takes to read them.
pub(crate) struct RelationNames {
    pub(crate) relation: String,
    pub(crate) columns: Vec<String>,
    pub(crate) read_of: Option<ReadOf>,
}

impl RelationNames {
    /// Those of a row.
    pub(crate) fn of(row: &Row) -> Self {
        let columns = row.columns.iter().map(|column| column.name.clone()).collect();
        Self { relation: row.name.clone(), columns, read_of: row.read_of.clone() }
    }

    /// Exchanges them with those of a relation.
    pub(crate) fn swap(&mut self, with: &mut Relation) {
        std::mem::swap(&mut self.relation, &mut with.name);
        std::mem::swap(&mut self.read_of, &mut with.read_of);
        for (name, column) in self.columns.iter_mut().zip(&mut with.columns) {
            std::mem::swap(name, &mut column.name);
        }
    }
}

/// Rows and the names of their columns.
pub(crate) struct Bound {
    pub(crate) plan: Plan,
    pub(crate) outputs: Vec<(String, SlotId)>,
}

/// Aggregates that were asked for while a select list, HAVING and ORDER BY were compiled.
#[derive(Default)]
pub(crate) struct AskedAggregates {
    pub(crate) aggregates: Vec<GroupAggregate>,
    /// arguments, filters and orders that are no slots yet, and their slots
    pub(crate) computed: Vec<(Expr, SlotId)>,
    /// what those need first
    pub(crate) steps: Vec<Step>,
    /// GROUPING: of which keys, and its slot
    pub(crate) groupings: Vec<(Vec<Expr>, SlotId)>,
}

impl AskedAggregates {
    /// Whether there are groups for its sake.
    pub(crate) fn groups(&self) -> bool {
        !self.aggregates.is_empty() || !self.groupings.is_empty()
    }
}

/// A window function of a select list or of ORDER BY.
pub(crate) struct AskedWindow {
    pub(crate) partition: Vec<SlotId>,
    pub(crate) order: Vec<SortKey>,
    pub(crate) frame: Option<Frame>,
    pub(crate) function: WindowFunction,
    pub(crate) output: SlotId,
    /// what is to be computed first, and its slots
    pub(crate) computed: Vec<(Expr, SlotId)>,
}

impl AskedWindow {
    /// The slots it reads.
    pub(crate) fn reads(&self) -> Vec<SlotId> {
        let order = self.order.iter().map(|key| key.slot);
        let mut all: Vec<_> = self.partition.iter().copied().chain(order).collect();
        for bound in self.frame.iter().flat_map(|frame| [frame.start, frame.end]) {
            if let FrameBound::Before(by) | FrameBound::After(by) = bound {
                all.push(by);
            }
        }
        match &self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => {}
            WindowFunction::Lag { value, by, otherwise, .. } => {
                all.extend([*value, *by].into_iter().chain(*otherwise));
            }
            WindowFunction::First(value)
            | WindowFunction::Last(value)
            | WindowFunction::Buckets(value) => all.push(*value),
            WindowFunction::Nth { value, at } => all.extend([*value, *at]),
            WindowFunction::Running(aggregate) => {
                all.extend(aggregate.argument.iter().chain(&aggregate.filter));
            }
        }
        all
    }
}

/// What gives the rows of an [`Expansion`].
#[derive(Clone, Copy)]
pub(crate) enum ExpandedBy {
    /// a function that is built in
    Function(HostFunction),
    /// a routine, by its number among those of the query
    Call(usize),
}

/// A function that gives rows.
pub(crate) struct Expansion {
    pub(crate) by: ExpandedBy,
    pub(crate) arguments: Vec<Expr>,
    /// names of its columns
    pub(crate) names: Vec<String>,
    pub(crate) outputs: Vec<SlotId>,
    /// `outputs` ends with the numbers of rows
    pub(crate) is_numbered: bool,
}

/// One locking clause.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    /// the relations that it is for; none: all
    pub(crate) of: Option<String>,
    pub(crate) how: How,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// FOR SHARE: as any read
    Share,
    Wait,
    NoWait,
    SkipLocked,
}

/// Conditions on what steps give, and these steps.
#[derive(Default)]
pub(crate) struct Late {
    pub(crate) conditions: Vec<Expr>,
    pub(crate) steps: Vec<Step>,
}

/// What the name of a query means inside of it.
#[derive(Clone)]
pub(crate) enum Within {
    /// nothing: it may not stand there
    Refused(&'static str),
    /// the rows of the last round
    Rows { table: usize, columns: Vec<(String, SqlType)> },
}

/// Rows with what steps add to each of them.
pub(crate) fn extended(mut plan: Plan, steps: Vec<Step>) -> Plan {
    for step in steps {
        plan = Plan::Extend { input: Box::new(plan), step: Box::new(step) };
    }
    plan
}
