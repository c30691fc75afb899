//! Views that are written through: what INSERT, UPDATE and DELETE of a view change.
//!
//! Role         a view of rows of one table is that table under other names. A statement that
//!              changes it is compiled for the table, whose columns have the view's names, with the
//!              view's conditions beside its own
//! Invariants   I1 names of columns that a view does not have begin with a zero byte, which no text
//!              of a statement has
//!              I2 a view's conditions see the view's own FROM, and nothing of the statement
//! Source       PostgreSQL 15, CREATE VIEW, "Updatable Views". We differ: a column that the view
//!              computes cannot be named in a statement that changes it

use std::rc::Rc;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Object, PolicyCommand, Privileges, SearchPath, Table, TriggerEvent, View, ViewCheck, ViewKind,
};
use hotrow_transaction::needs::By;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Expr, ExprKind, Function, Place};
use hotrow_transaction::walk::substitute;
use sqlparser::ast::{self, GroupByExpr, SelectItem, SetExpr, TableFactor};

use crate::error::{Advice, Result, error, unsupported};
use crate::functions::{is_aggregate, is_set_returning};
use crate::path::conjuncts;
use crate::relation::RelationNames;
use crate::scope::Compiler;
use crate::secured::SecurityCondition;
use crate::state::{ReadOf, Row, Star};

use crate::token::folded;
use crate::typing::constant;
use crate::written::{alias_of, bare, dotted, function_name, object_name};

/// Views stand on each other at most this deep.
const VIEWS_MAX: usize = 64;

/// What a statement changes: a table, by its own name or through a view.
#[derive(Clone)]
pub(crate) struct Target<'c> {
    pub(crate) table: &'c Table,
    /// the name of its rows in the statement
    pub(crate) alias: String,
    /// the view that the statement names
    pub(crate) through: Option<Rc<Through>>,
    /// what the statement does
    pub(crate) change: TriggerEvent,
}

/// A view of rows of a table.
pub(crate) struct Through {
    /// its name
    pub(crate) view: String,
    /// its number
    id: u32,
    schema: String,
    columns: Vec<ViewColumn>,
    /// the view that it stands on
    beneath: Option<Box<Through>>,
    /// its conditions, and those of the views that it stands on
    narrowings: Vec<Narrowing>,
}

/// A column of a view.
#[derive(Clone)]
struct ViewColumn {
    name: String,
    /// the column of the table that it is; none: it is computed
    of: Option<ColumnId>,
}

/// The condition of a view, and where it is read.
#[derive(Clone)]
struct Narrowing {
    view: String,
    /// the view's number: its condition is its owner's
    id: u32,
    written: ast::Expr,
    path: SearchPath,
    /// the name of the rows that it is on, and of their columns, if these are not the table's own
    alias: String,
    columns: Option<Vec<ViewColumn>>,
    /// new rows have to satisfy it: WITH CHECK OPTION
    is_checked: bool,
    /// it is a partition's bound
    is_bound: bool,
}

impl Target<'_> {
    /// Its column with a name.
    pub(crate) fn column(&self, name: &str) -> Option<ColumnId> {
        match &self.through {
            None => self.table.column(name),
            Some(through) => {
                through.columns.iter().find(|column| column.name == name).and_then(|of| of.of)
            }
        }
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        self.through.as_ref().map_or(&self.table.name, |through| &through.view)
    }

    /// The schema of what the statement names.
    pub(crate) fn schema(&self) -> &str {
        self.through.as_ref().map_or(&self.table.schema, |through| &through.schema)
    }

    /// What has rights on the way to the rows: the view that the statement names, those that it
    /// stands on, and the table; each with those of some columns of the table that it has.
    pub(crate) fn layers(&self, columns: &[ColumnId]) -> Vec<(Object, Vec<ColumnId>)> {
        let mut layers = Vec::new();
        let mut next = self.through.as_deref();
        while let Some(view) = next {
            let own = columns.iter().filter_map(|column| view.number_of(*column));
            layers.push((Object::View(view.id), own.collect()));
            next = view.beneath.as_deref();
        }
        layers.push((Object::Table(self.table.id), columns.to_vec()));
        layers
    }

    /// Its columns in their order, up to the first one that nothing can be assigned to.
    pub(crate) fn columns(&self) -> Vec<ColumnId> {
        match &self.through {
            None => (0..self.table.shown().len()).map(|at| ColumnId(at as u16)).collect(),
            Some(through) => through.columns.iter().map_while(|column| column.of).collect(),
        }
    }

    /// The name of the column with a number, if the view computes it.
    pub(crate) fn computed_at(&self, number: usize) -> Option<&str> {
        let column = self.through.as_ref()?.columns.get(number)?;
        column.of.is_none().then_some(column.name.as_str())
    }

    /// Whether a name is that of a column that the view computes.
    pub(crate) fn computes(&self, name: &str) -> bool {
        let mut columns = self.through.iter().flat_map(|through| &through.columns);
        columns.any(|column| column.name == name && column.of.is_none())
    }
}

impl Through {
    /// The number of the column that a column of the table is.
    fn number_of(&self, column: ColumnId) -> Option<ColumnId> {
        let at = self.columns.iter().position(|own| own.of == Some(column));
        at.map(|at| ColumnId(at as u16))
    }
}

impl<'c> Compiler<'c> {
    /// The table or view with a name, to be changed so.
    pub(crate) fn target(
        &self,
        name: &str,
        alias: Option<&ast::TableAlias>,
        change: TriggerEvent,
        place: Place,
    ) -> Result<Target<'c>> {
        let (table, through, own) = match self.view_named(name) {
            None => {
                let table = self.table(name, place)?;
                (table, None, &table.name)
            }
            Some(view) if !matches!(view.kind, ViewKind::Plain | ViewKind::Partition) => {
                let message = format!("cannot change materialized view \"{}\"", view.name);
                return Err(error(b"42809", place, message));
            }
            Some(view) => {
                self.refuse_hidden(name, place)?;
                let (table, through) = self.through(view, (change, place), 0)?;
                (table, Some(Rc::new(through)), &view.name)
            }
        };
        let (alias, columns) = alias_of(alias, own);
        if !columns.is_empty() {
            return Err(unsupported(place, "column aliases in FROM", "use AS in SELECT"));
        }
        Ok(Target { table, alias, through, change })
    }

    /// What is changed through a view.
    fn through(
        &self,
        view: &View,
        (change, place): (TriggerEvent, Place),
        depth: usize,
    ) -> Result<(&'c Table, Through)> {
        let refused = |why: &str| not_changed(&view.name, change, why, place);
        if depth >= VIEWS_MAX {
            return Err(crate::error::too_complex(place, "views stand on each other too deep"));
        }
        let query = self.view_query(view, place)?;
        let select = rows_of_one_table(&query).map_err(refused)?;
        let TableFactor::Table { name, alias, .. } = &select.from[0].relation else {
            return Err(refused("Views that do not select from a single table or view"));
        };
        let name = object_name(name, place)?;
        let below = match self.catalog.view_seen(&view.path, &name) {
            Some(below) => Some(self.through(below, (change, place), depth + 1)?),
            None => None,
        };
        let (table, mut of_table) = match below {
            Some((table, below)) => (table, Some(below)),
            None => {
                let table = self.catalog.table_seen(&view.path, &name);
                let found = table.filter(|table| table.sequence.is_none());
                let why = "Views that do not select from a single table or view";
                (found.ok_or_else(|| refused(why))?, None)
            }
        };
        let beneath = of_table.as_ref().map(|below| below.columns.clone());
        let (alias, named) = alias_of(alias.as_ref(), hotrow_transaction::catalog::local(&name));
        if !named.is_empty() {
            return Err(refused("Views with names for the columns of FROM"));
        }
        let given = columns_of(select, (table, beneath.as_deref()), &alias);
        let names = view.columns.iter().map(|(name, _)| name.clone());
        let columns: Vec<_> = names.zip(given).map(|(name, of)| ViewColumn { name, of }).collect();
        if change != TriggerEvent::Delete && columns.iter().all(|column| column.of.is_none()) {
            return Err(refused("Views that have no updatable columns"));
        }
        let below = of_table.as_mut();
        let mut narrowings =
            below.map_or_else(Vec::new, |below| std::mem::take(&mut below.narrowings));
        if view.check == ViewCheck::Cascaded {
            narrowings.iter_mut().for_each(|narrowing| narrowing.is_checked = true);
        }
        narrowings.extend(select.selection.as_ref().map(|written| Narrowing {
            view: view.name.clone(),
            id: view.id,
            written: written.clone(),
            path: view.path.clone(),
            alias,
            columns: beneath,
            is_checked: view.check != ViewCheck::None,
            is_bound: view.kind == ViewKind::Partition,
        }));
        let (id, schema, beneath) = (view.id, view.schema.clone(), of_table.map(Box::new));
        let view = view.name.clone();
        Ok((table, Through { view, id, schema, columns, beneath, narrowings }))
    }

    /// Whether rows can be inserted into a view, and changed through it.
    pub(crate) fn is_updatable(&self, view: &View) -> bool {
        self.through(view, (TriggerEvent::Update, Place::default()), 0).is_ok()
    }

    /// Fails where WITH CHECK OPTION stands behind a view that is not written through.
    pub(crate) fn refuse_check(&self, view: &View, place: Place) -> Result<()> {
        let Err(why) = self.through(view, (TriggerEvent::Update, place), 0) else { return Ok(()) };
        let message = "WITH CHECK OPTION is supported only on automatically updatable views";
        let refused = error(b"0A000", place, message);
        Err(match why.detail {
            Some(detail) => refused.hint(detail),
            None => refused,
        })
    }

    /// The rows of what a statement changes.
    pub(crate) fn target_row(&self, target: &Target<'_>) -> Row {
        let mut row = self.row_of(target.table.id, &target.alias);
        if let Some(through) = &target.through {
            rename(&mut row, &through.columns);
            let (known, computed): (Vec<_>, Vec<_>) =
                through.columns.iter().partition(|column| column.of.is_some());
            row.star = Some(Star {
                shown: known.iter().filter_map(|column| Some(column.of?.index())).collect(),
                computed: computed.into_iter().map(|column| column.name.clone()).collect(),
            });
            let numbers = (0..row.columns.len()).map(|at| through.number_of(ColumnId(at as u16)));
            let (object, columns) = (Object::View(through.id), Some(numbers.collect()));
            row.read_of = Some(ReadOf { object, columns, is_through: true });
        }
        row
    }

    /// The conditions of the view that a statement names, on rows of its table.
    pub(crate) fn narrowing_conditions(
        &mut self,
        target: &Target<'_>,
        row: &mut Row,
    ) -> Result<Vec<Expr>> {
        let mut conditions = self.target_security(target, row)?;
        for narrowing in target.through.iter().flat_map(|through| &through.narrowings) {
            conditions.extend(conjuncts(self.narrowing_condition(narrowing, row)?));
        }
        Ok(conditions)
    }

    /// Whose right it takes to read and change the rows of a target's table.
    pub(crate) fn by_of(&self, target: &Target<'_>) -> By {
        let mut by = self.by.clone();
        let mut next = target.through.as_deref();
        while let Some(view) = next {
            by = By::View(view.id);
            next = view.beneath.as_deref();
        }
        by
    }

    /// Whether a statement reads rows of its target, too.
    pub(crate) fn reads_target(&self, target: &Target<'_>) -> bool {
        let objects = target.layers(&[]).into_iter().map(|(object, _)| object);
        objects.into_iter().any(|object| self.needs.has_any_by(&object, Privileges::SELECT))
    }

    /// What policies ask of the rows that a statement finds to change, and to read.
    pub(crate) fn shown_to_change(&self, target: &Target<'_>) -> Result<Option<SecurityCondition>> {
        let command = match target.change {
            TriggerEvent::Delete => PolicyCommand::Delete,
            _ => PolicyCommand::Update,
        };
        let commands = [command, PolicyCommand::Select];
        let commands = &commands[..1 + usize::from(self.reads_target(target))];
        self.rows_shown(target.table, commands)
    }

    /// The same, compiled for a program's access.
    fn target_security(&mut self, target: &Target<'_>, row: &mut Row) -> Result<Vec<Expr>> {
        let Some(condition) = self.shown_to_change(target)? else { return Ok(Vec::new()) };
        let condition = self.security_on(target, row, &condition)?;
        Ok(conjuncts(Some(condition)))
    }

    /// A condition of policies on a row of a program's access.
    pub(crate) fn security_on(
        &mut self,
        target: &Target<'_>,
        row: &mut Row,
        condition: &SecurityCondition,
    ) -> Result<Expr> {
        let (table, by) = (target.table, self.by_of(target));
        let mut own = Row { read_of: None, ..self.row_of(table.id, &table.name) };
        own.bound = std::mem::take(&mut row.bound);
        let compiled = self.apart_from_statement(&condition.path, |this| {
            this.as_by(by, |this| {
                this.with_row(own, |this| {
                    this.as_program_security(condition, |this, written| {
                        this.condition(written, "POLICY")
                    })
                })
            })
        });
        let (compiled, own) = compiled?;
        row.bound = own.bound;
        Ok(compiled)
    }

    /// Has the row that ON CONFLICT DO UPDATE changes be refused where it is not shown to whoever
    /// changes it.
    pub(crate) fn check_conflict_row(
        &mut self,
        target: &Target<'_>,
        row: &mut Row,
        set: &mut [(ColumnId, Expr)],
    ) -> Result<()> {
        let commands = [PolicyCommand::Update, PolicyCommand::Select];
        let Some(condition) = self.rows_shown(target.table, &commands)? else { return Ok(()) };
        let condition = self.security_on(target, row, &condition)?;
        self.needs_query.take().map_or(Ok(()), Err)?;
        let message = format!(
            "new row violates row-level security policy (USING expression) for table \"{}\"",
            target.table.name
        );
        fail_unless(set, condition, (b"42501", message));
        Ok(())
    }

    /// The rows that a condition is on, under the names that it knows. That the view's owner may
    /// read them is asked where the statement reads the view.
    fn narrowed_row(&self, table: TableId, narrowing: &Narrowing) -> Row {
        let mut row = Row { read_of: None, ..self.row_of(table, &narrowing.alias) };
        if let Some(columns) = &narrowing.columns {
            rename(&mut row, columns);
        }
        row
    }

    fn narrowing_condition(
        &mut self,
        narrowing: &Narrowing,
        row: &mut Row,
    ) -> Result<Option<Expr>> {
        let mut own = self.narrowed_row(row.table, narrowing);
        own.bound = std::mem::take(&mut row.bound);
        let compiled = self.apart_from_statement(&narrowing.path, |this| {
            this.as_view(narrowing.id, |this| {
                this.with_row(own, |this| this.condition_of(Some(&narrowing.written)))
            })
        });
        let (condition, own) = compiled?;
        row.bound = own.bound;
        Ok(condition)
    }

    /// The names under which the view's conditions find the columns of the innermost level's first
    /// relation, and the conditions with the numbers of their views.
    pub(crate) fn narrowings(
        &self,
        target: &Target<'_>,
    ) -> Vec<(RelationNames, SearchPath, (u32, ast::Expr))> {
        let all = target.through.iter().flat_map(|through| &through.narrowings);
        let names = |of: &Narrowing| RelationNames::of(&self.narrowed_row(target.table.id, of));
        all.map(|of| (names(of), of.path.clone(), (of.id, of.written.clone()))).collect()
    }

    /// As [`Compiler::check_option`], of a row that is inserted.
    pub(crate) fn check_inserted(
        &mut self,
        target: &Target<'_>,
        values: &mut [Expr],
    ) -> Result<()> {
        if target.through.is_none() {
            return Ok(());
        }
        let mut set: Vec<_> = (0..).map(ColumnId).zip(values.iter().cloned()).collect();
        let mut row = self.row_of(target.table.id, &target.alias);
        self.check_option(target, &mut row, &mut set)?;
        for (value, (_, new)) in values.iter_mut().zip(set) {
            *value = new;
        }
        Ok(())
    }

    /// Has a row that is written through a view be refused where it would not be one of the view's
    /// rows (WITH CHECK OPTION). `set`: its new values, of which at least one is there.
    pub(crate) fn check_option(
        &mut self,
        target: &Target<'_>,
        row: &mut Row,
        set: &mut [(ColumnId, Expr)],
    ) -> Result<()> {
        let Some(through) = target.through.clone() else { return Ok(()) };
        for narrowing in through.narrowings.iter().filter(|narrowing| narrowing.is_checked) {
            let Some(condition) = self.narrowing_condition(narrowing, row)? else { continue };
            self.needs_query.take().map_or(Ok(()), Err)?;
            let of = &narrowing.view;
            let (code, message) = match narrowing.is_bound {
                true => (
                    b"23514",
                    format!("new row for relation \"{of}\" violates partition constraint"),
                ),
                false => (b"44000", format!("new row violates check option for view \"{of}\"")),
            };
            require(row, set, condition, (code, message));
        }
        Ok(())
    }
}

/// Has new values of a row fail where they do not make a condition on it true.
pub(crate) fn require(
    row: &Row,
    set: &mut [(ColumnId, Expr)],
    mut condition: Expr,
    (code, message): (&[u8; 5], String),
) {
    let new: Vec<_> = row
        .bound
        .iter()
        .filter_map(|(column, slot)| {
            let (_, value) = set.iter().find(|(of, _)| of == column)?;
            Some((*slot, value))
        })
        .collect();
    substitute(&mut condition, &new);
    fail_unless(set, condition, (code, message));
}

/// Has new values of a row fail where a condition is not true.
fn fail_unless(set: &mut [(ColumnId, Expr)], condition: Expr, (code, message): (&[u8; 5], String)) {
    let Some((_, value)) = set.first_mut() else { return };
    let text = |text: String| constant(Value::Text(text), DataType::Text);
    let code = String::from_utf8_lossy(code).into_owned();
    let (given, sql_type) = (value.clone(), value.sql_type);
    let kind = ExprKind::Call(Function::Require, vec![given, condition, text(code), text(message)]);
    *value = Expr { kind, sql_type };
}

fn rename(row: &mut Row, columns: &[ViewColumn]) {
    for (at, column) in row.columns.iter_mut().enumerate() {
        let named = columns.iter().find(|named| named.of == Some(ColumnId(at as u16)));
        column.name = match named {
            Some(named) => named.name.clone(),
            None => format!("\0{}", column.name), // I1
        };
    }
}

/// The SELECT that a view is, if it gives rows of one table as they are; else what stands in the
/// way.
fn rows_of_one_table(query: &ast::Query) -> std::result::Result<&ast::Select, &'static str> {
    let SetExpr::Select(select) = &*query.body else {
        return Err("Views containing UNION, INTERSECT, or EXCEPT");
    };
    let grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
    };
    let calls = |is_one: &dyn Fn(&ast::Function) -> bool| {
        select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(written) | SelectItem::ExprWithAlias { expr: written, .. } => {
                matches!(bare(written), ast::Expr::Function(function) if is_one(function))
            }
            _ => false,
        })
    };
    let one_table = match select.from.as_slice() {
        [table] => table.joins.is_empty(),
        _ => false,
    };
    Err(match () {
        () if select.distinct.is_some() => "Views containing DISTINCT",
        () if grouped => "Views containing GROUP BY",
        () if select.having.is_some() => "Views containing HAVING",
        () if query.with.is_some() => "Views containing WITH",
        () if query.limit_clause.is_some() || query.fetch.is_some() => {
            "Views containing LIMIT or OFFSET"
        }
        () if calls(&|of| {
            of.over.is_none() && (is_aggregate(&function_name(of)) || !of.within_group.is_empty())
        }) =>
        {
            "Views that return aggregate functions"
        }
        () if calls(&|of| of.over.is_some()) => "Views that return window functions",
        () if calls(&|of| is_set_returning(&function_name(of))) => {
            "Views that return set-returning functions"
        }
        () if !one_table => "Views that do not select from a single table or view",
        () => return Ok(select),
    })
}

/// By column of a view: the column of the table that it is.
fn columns_of(
    select: &ast::Select,
    (table, beneath): (&Table, Option<&[ViewColumn]>),
    alias: &str,
) -> Vec<Option<ColumnId>> {
    let own = |name: &str| match beneath {
        None => table.column(name),
        Some(columns) => columns.iter().find(|column| column.name == name)?.of,
    };
    let mut given = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(written) | SelectItem::ExprWithAlias { expr: written, .. } => {
                given.push(match bare(written) {
                    ast::Expr::Identifier(name) => {
                        own(&folded(&name.value, name.quote_style.is_some()))
                    }
                    ast::Expr::CompoundIdentifier(parts) => match dotted(parts).as_slice() {
                        [.., of, name] if of == alias => own(name),
                        _ => None,
                    },
                    _ => None,
                });
            }
            _ => match beneath {
                None => given.extend((0..table.shown().len()).map(|at| Some(ColumnId(at as u16)))),
                Some(columns) => given.extend(columns.iter().map(|column| column.of)),
            },
        }
    }
    given
}

/// That a view is not written through, and why.
fn not_changed(view: &str, change: TriggerEvent, why: &str, place: Place) -> SqlError {
    let what = match change {
        TriggerEvent::Insert => "insert into",
        TriggerEvent::Update => "update",
        TriggerEvent::Delete => "delete from",
        TriggerEvent::Truncate => "truncate",
    };
    error(b"55000", place, format!("cannot {what} view \"{view}\""))
        .detail(format!("{why} are not automatically updatable."))
        .hint("change the tables that it reads")
}

/// That nothing can be assigned to a column of a view.
pub(crate) fn is_computed(view: &str, column: &str, change: TriggerEvent, at: Place) -> SqlError {
    let what = match change {
        TriggerEvent::Insert => "insert into",
        _ => "update",
    };
    let message = format!("cannot {what} column \"{column}\" of view \"{view}\"");
    error(b"0A000", at, message)
        .detail("View columns that are not columns of their base relation are not updatable.")
}
