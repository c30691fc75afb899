//! FROM: relations, and how they are joined.

use std::sync::Arc;

use hotrow_base::types::DataType;
use hotrow_query::{HostFunction, JoinKind, Plan};
use hotrow_transaction::catalog::local;
use hotrow_transaction::program::{CompareOp, Expr, ExprKind, Place, SlotId};
use sqlparser::ast::{self, JoinConstraint, JoinOperator, TableFactor};

use crate::call_syntax::written_arguments;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::functions::{self, Evaluation};
use crate::named_arguments::in_order;
use crate::parser_order::COLUMNS_OF_QUERY;
use crate::relation::level::{
    Bound, Late, Level, Relation, RelationColumn, RelationKind, extended,
};
use crate::relation::records::RecordCall;
use crate::scope::Compiler;
use crate::state::Star;
use crate::token::{parse_statement, tokenize};
use crate::typing::{cast, comparable, compared_type, scalar};
use crate::written::{alias_of, called_name, dotted, has_hints, object_name};

use super::{lists, system};

/// The columns of both sides of a join that USING compares: relations and columns of them.
type Sides = [(usize, usize); 2];

/// The relation of what USING of a FULL JOIN names, and its values with their slots.
type Merged = (usize, Vec<(Expr, SlotId)>);

/// Relations of a level, and how they are joined.
pub(super) enum Tree {
    /// one of them
    Leaf(usize),
    /// in any order; the rows for which `on` and then `late` is true
    Inner { items: Vec<Tree>, on: Vec<Expr>, late: Late },
    /// in this one; pairs are those for which `on` and then `late` is true
    Outer { kind: JoinKind, left: Box<Tree>, right: Box<Tree>, on: Vec<Expr>, late: Late },
    /// the rows of a FULL JOIN with what USING makes of both sides' columns: a relation's
    Merged { joined: Box<Tree>, relation: usize, values: Vec<(Expr, SlotId)> },
}

impl Tree {
    /// One row without columns.
    fn nothing() -> Self {
        Self::Inner { items: Vec::new(), on: Vec::new(), late: Late::default() }
    }

    /// Joins, in any order, what this one joins in any order and what the other one does.
    pub(super) fn joined(mut self, other: Self) -> Self {
        let Self::Inner { items, on, late } = &mut self else {
            return Self::nothing().joined(self).joined(other);
        };
        match other {
            Self::Inner { items: others, on: also, late: later } => {
                items.extend(others);
                on.extend(also);
                late.conditions.extend(later.conditions);
                late.steps.extend(later.steps);
            }
            other => items.push(other),
        }
        self
    }

    /// Numbers of its relations.
    pub(super) fn leaves(&self) -> Vec<usize> {
        match self {
            Self::Leaf(at) => vec![*at],
            Self::Inner { items, .. } => items.iter().flat_map(Self::leaves).collect(),
            Self::Outer { left, right, .. } => [left.leaves(), right.leaves()].concat(),
            Self::Merged { joined, relation, .. } => [joined.leaves(), vec![*relation]].concat(),
        }
    }
}

impl Compiler<'_> {
    /// Brings what FROM names into the innermost level.
    pub(super) fn bind_from<'q>(
        &mut self,
        from: impl IntoIterator<Item = &'q ast::TableWithJoins>,
    ) -> Result<Tree> {
        let mut tree = Tree::nothing();
        for written in from {
            tree = tree.joined(self.bind_joined(written)?);
        }
        Ok(tree)
    }

    fn bind_joined(&mut self, written: &ast::TableWithJoins) -> Result<Tree> {
        let start = self.level().shown.len();
        let mut tree = self.bind_factor(&written.relation)?;
        for join in &written.joins {
            let place = place_in(join, self.place);
            let (kind, swapped, constraint) = match &join.join_operator {
                JoinOperator::Join(on) | JoinOperator::Inner(on) | JoinOperator::CrossJoin(on) => {
                    (JoinKind::Inner, false, on)
                }
                JoinOperator::Left(on) | JoinOperator::LeftOuter(on) => (JoinKind::Left, false, on),
                JoinOperator::Right(on) | JoinOperator::RightOuter(on) => {
                    (JoinKind::Left, true, on)
                }
                JoinOperator::FullOuter(on) => (JoinKind::Full, false, on),
                _ => {
                    let advice = "write JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN or CROSS JOIN";
                    return Err(unsupported(place, "this kind of join", advice));
                }
            };
            let is_cross = matches!(&join.join_operator, JoinOperator::CrossJoin(_));
            if *constraint == JoinConstraint::None && !is_cross {
                let message = "syntax error: a join needs ON or USING";
                return Err(syntax(place, message).hint("CROSS JOIN has neither"));
            }
            let right = self.bind_factor(&join.relation)?;
            if (kind == JoinKind::Full || swapped) && !self.needs(&right).is_empty() {
                let message = "invalid reference to FROM-clause entry of a LATERAL one: the \
                               joining JOIN type must be INNER or LEFT";
                return Err(error(b"42P10", place, message));
            }
            let named = self.join_names((&tree, &right), constraint, place)?;
            let (on, late) = match constraint {
                JoinConstraint::On(condition) => self.join_condition(condition)?,
                _ => (self.same_values(&named, place)?, Late::default()),
            };
            let missing = match (kind, swapped) {
                (JoinKind::Full, _) => [tree.leaves(), right.leaves()].concat(),
                (JoinKind::Left, true) => tree.leaves(),
                (JoinKind::Left, false) => right.leaves(),
                _ => Vec::new(),
            };
            missing.into_iter().try_for_each(|at| self.make_optional(at))?;
            let merged = self.merge(&named, (kind, swapped), start)?;
            tree = match kind {
                JoinKind::Inner => {
                    let condition = Tree::Inner { items: Vec::new(), on, late };
                    Tree::nothing().joined(tree).joined(right).joined(condition)
                }
                kind => {
                    let (left, right) = if swapped { (right, tree) } else { (tree, right) };
                    let (left, right) = (Box::new(left), Box::new(right));
                    let joined = Tree::Outer { kind, left, right, on, late };
                    match merged {
                        None => joined,
                        Some((relation, values)) => {
                            Tree::Merged { joined: Box::new(joined), relation, values }
                        }
                    }
                }
            };
        }
        Ok(tree)
    }

    /// ON.
    pub(super) fn join_condition(&mut self, condition: &ast::Expr) -> Result<(Vec<Expr>, Late)> {
        let (mut on, mut late) = (Vec::new(), Late::default());
        for part in lists::parts(condition) {
            let condition = self.condition(part, "JOIN/ON")?;
            self.hoist();
            let steps = std::mem::take(&mut self.level().steps);
            if steps.is_empty() {
                on.extend(crate::path::conjuncts(Some(condition)));
            } else {
                late.conditions.push(condition);
                late.steps.extend(steps);
            }
        }
        Ok((on, late))
    }

    /// USING and NATURAL: names, and the columns of both sides that have them.
    fn join_names(
        &mut self,
        (left, right): (&Tree, &Tree),
        constraint: &JoinConstraint,
        place: Place,
    ) -> Result<Vec<(String, Sides)>> {
        let names: Vec<String> = match constraint {
            JoinConstraint::None | JoinConstraint::On(_) => Vec::new(),
            JoinConstraint::Using(names) => {
                let names = names.iter().map(|name| crate::written::object_name(name, place));
                names.collect::<Result<_>>()?
            }
            JoinConstraint::Natural => {
                let theirs = |at: usize| self.levels.last().map(|level| &level.relations[at]);
                let of = |tree: &Tree| {
                    let leaves = tree.leaves().into_iter().filter_map(theirs);
                    let columns = leaves.flat_map(|relation| relation.shown());
                    let shown = columns.filter(|column| !column.hidden);
                    shown.map(|column| column.name.clone()).collect::<Vec<_>>()
                };
                let rights = of(right);
                of(left).into_iter().filter(|name| rights.contains(name)).collect()
            }
        };
        let sides = names.into_iter().map(|name| {
            let first = self.column_among(left, &name, place)?;
            let second = self.column_among(right, &name, place)?;
            Ok((name, [first, second]))
        });
        sides.collect()
    }

    /// That both sides' columns are equal.
    fn same_values(&mut self, named: &[(String, Sides)], place: Place) -> Result<Vec<Expr>> {
        let mut on = Vec::new();
        for (_, [first, second]) in named {
            let (first, second) = (self.slot_at(*first)?, self.slot_at(*second)?);
            let (one, two) = (first.sql_type.packed(), second.sql_type.packed());
            let Some(common) = compared_type(one, two) else {
                let message = format!("JOIN/USING types {one} and {two} cannot be matched");
                return Err(error(b"42804", place, message));
            };
            comparable(common, "=", place)?;
            let (first, second) = (Box::new(cast(first, common)), Box::new(cast(second, common)));
            let equal = ExprKind::Compare(CompareOp::Equal, first, second);
            on.push(scalar(equal, DataType::Boolean));
        }
        Ok(on)
    }

    /// Has each name of USING stand for one column: that of the side whose rows all stay, and of a
    /// FULL JOIN one of its own, which is given back with its value. `*` shows them first, before
    /// what it shows from `start` on.
    fn merge(
        &mut self,
        named: &[(String, Sides)],
        (kind, swapped): (JoinKind, bool),
        start: usize,
    ) -> Result<Option<Merged>> {
        let (mut own, mut values) = (Vec::new(), Vec::new());
        let relation = self.level().relations.len();
        for (at, (name, [first, second])) in named.iter().enumerate() {
            let (kept, mut gone) =
                if swapped { (*second, vec![*first]) } else { (*first, vec![*second]) };
            let mut kept = kept;
            if kind == JoinKind::Full {
                gone.push(kept);
                kept = (relation, at);
                let both = [self.slot_at(*first)?, self.slot_at(*second)?];
                let common = compared_type(both[0].data_type(), both[1].data_type());
                let common = common.unwrap_or(DataType::Text); // they have been compared
                let both = both.map(|side| cast(side, common));
                let slot = self.temporary(name, common)?;
                values.push((scalar(ExprKind::Coalesce(both.into()), common), slot));
                own.push((name.clone(), slot));
            }
            let level = self.level();
            for (relation, column) in &gone {
                level.relations[*relation].columns[*column].hidden = true;
            }
            level.shown.retain(|column| *column != kept && !gone.contains(column));
            level.shown.insert(start + at, kept);
        }
        if own.is_empty() {
            return Ok(None);
        }
        let own = Bound { plan: Plan::One, outputs: own };
        let mut own = self.planned(String::new(), &[], own, self.place)?;
        own.kind = RelationKind::Planned(None); // its values are the join's
        self.level().relations.push(own);
        Ok(Some((relation, values)))
    }

    fn slot_at(&mut self, (relation, column): (usize, usize)) -> Result<Expr> {
        let depth = self.levels.len() - 1;
        self.need_column(depth, relation, column)?;
        self.slot_of_column(depth, relation, column)
    }

    /// The column of this name in one of a tree's relations.
    fn column_among(&mut self, tree: &Tree, name: &str, place: Place) -> Result<(usize, usize)> {
        let relations = &self.level().relations;
        let leaves = tree.leaves().into_iter();
        let found = leaves.filter_map(|at| {
            let column = relations[at].column(name)?;
            (!relations[at].columns[column].hidden).then_some((at, column))
        });
        let found: Vec<_> = found.collect();
        match found.as_slice() {
            [one] => Ok(*one),
            [] => {
                let message = format!("column \"{name}\" specified in USING clause does not exist");
                Err(error(b"42703", place, message))
            }
            _ => {
                let message = format!("common column name \"{name}\" appears more than once");
                Err(error(b"42702", place, message))
            }
        }
    }

    fn bind_factor(&mut self, factor: &TableFactor) -> Result<Tree> {
        let place = place_in(factor, self.place);
        match factor {
            _ if has_hints(factor) => Err(syntax(place, "hints of a table are not PostgreSQL's")),
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                let is_target = self.binds_target;
                let relation = self.named_relation(name, alias.as_ref(), place)?;
                self.enter_shown(relation, is_target, place)
            }
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                self.bind_function(name, &args.args, alias.as_ref(), *with_ordinality, place)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                self.bind_function(name, args, alias.as_ref(), *with_ordinality, place)
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
                let arguments = array_exprs.iter().map(|array| {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(array.clone()))
                });
                let name = ast::ObjectName::from(vec![ast::Ident::new("unnest")]);
                let arguments: Vec<_> = arguments.collect();
                self.bind_function(&name, &arguments, alias.as_ref(), *with_ordinality, place)
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                self.bind_derived(subquery, (*lateral, alias.as_ref()), place)
            }
            // `(a JOIN b USING (k)) AS c` hides a and b, as a subquery does.
            TableFactor::NestedJoin { table_with_joins, alias: Some(alias) } => {
                let text = format!("SELECT * FROM {table_with_joins}");
                match parse_statement(&tokenize(&text, place)?, place)? {
                    ast::Statement::Query(query) => {
                        self.bind_derived(&query, (false, Some(alias)), place)
                    }
                    _ => Err(unsupported(place, "this join", "write it as a subquery")),
                }
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.bind_joined(table_with_joins)
            }
            _ => Err(unsupported(place, "this kind of FROM item", "name a table or a subquery")),
        }
    }

    fn bind_derived(
        &mut self,
        subquery: &ast::Query,
        (lateral, alias): (bool, Option<&ast::TableAlias>),
        place: Place,
    ) -> Result<Tree> {
        let hidden = (!lateral).then(|| std::mem::take(&mut self.level().relations));
        let bound = self.query_plan(subquery);
        if let Some(relations) = hidden {
            self.level().relations = relations;
        }
        let (name, columns) = alias_of(alias, "");
        let relation = self.planned(name, &columns, bound?, place)?;
        self.enter(relation, place)
    }

    pub(super) fn enter(&mut self, relation: Relation, place: Place) -> Result<Tree> {
        self.part()?;
        let relations = &mut self.level().relations;
        let is_known = relations.iter().any(|known| known.name == relation.name);
        if is_known && !relation.name.is_empty() {
            let message = format!("table name \"{}\" specified more than once", relation.name);
            return Err(error(b"42712", place, message).hint("give one of them an alias"));
        }
        Ok(Tree::Leaf(self.show(relation)))
    }

    /// A table, a query of WITH, or a relation of the system catalog.
    fn named_relation(
        &mut self,
        written: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        place: Place,
    ) -> Result<Relation> {
        let idents: Vec<_> = written.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
        let parts = dotted(&idents);
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            _ => {
                return Err(unsupported(place, "a name in three parts", "write schema.table"));
            }
        };
        let (shown, columns) = alias_of(alias, name);
        // Here, since what WITH gives the target's name is none.
        let is_target = std::mem::take(&mut self.binds_target);
        if schema.is_none()
            && let Some(common) = self.common_named(name)
        {
            let bound = match &common.within {
                Some(within) => self.own_rows(&common, within, place),
                None => self.common_plan(&common),
            };
            let columns = if columns.is_empty() { common.columns.clone() } else { columns };
            return self.planned(shown, &columns, bound?, place);
        }
        if schema.is_none()
            && let Some(bound) = self.kept_named(name, place)?
        {
            return self.planned(shown, &columns, bound, place);
        }
        let full_name = object_name(written, place)?;
        self.refuse_hidden(&full_name, place)?;
        if let Some(view) = self.view_named(&full_name) {
            self.need_view(view);
            return match &view.partition {
                Some(partition) => self.bind_partition((view, partition), (shown, columns), place),
                None => self.bind_view(view, (shown, columns), place),
            };
        }
        let (kind, schema, known) = match self.table_named(&full_name) {
            Some(table) if table.sequence.is_some() && !self.is_own => {
                self.need_table(table);
                let bound = self.sequence_row(table, place)?;
                return self.planned(shown, &columns, bound, place);
            }
            Some(_) => {
                let table = self.table(&full_name, place)?;
                self.refuse_changed(table.id, place)?;
                // A change by key reads its own table, too: WHERE tells which columns.
                if !is_target {
                    self.need_table(table);
                }
                let schema = Some(Arc::clone(&table.schema));
                let mut relation = Relation::over(self.row_of(table.id, &shown), schema);
                for (column, name) in relation.columns[..relation.shown].iter_mut().zip(columns) {
                    column.name = name;
                }
                return Ok(relation);
            }
            None => match system::relation(schema, name) {
                Some((schema, full_name, columns)) => {
                    self.need_system(full_name);
                    (RelationKind::System(full_name), schema.into(), columns)
                }
                None if matches!(schema, Some("pg_catalog" | "information_schema" | "hotrow")) => {
                    let message = format!("relation \"{}\" does not exist", parts.join("."));
                    return Err(error(b"42P01", place, message));
                }
                None => {
                    return Err(self.table(&full_name, place).err().unwrap_or_else(|| {
                        error(b"42P01", place, format!("relation \"{name}\" does not exist"))
                    }));
                }
            },
        };
        // `*` stands for what PostgreSQL's has.
        let star = known.iter().position(|(name, _)| *name == system::OF_RELATION);
        let star = star.map(|behind| Star { shown: (0..behind).collect(), computed: Vec::new() });
        let relation = Relation::new(shown, Vec::new(), known.len(), kind);
        let mut relation = Relation { star, schema: Some(schema), ..relation };
        for (at, (name, sql_type)) in known.iter().enumerate() {
            relation.columns.push(RelationColumn {
                name: columns.get(at).cloned().unwrap_or_else(|| (*name).to_owned()),
                sql_type: *sql_type,
                nullable: true,
                slot: None,
                hidden: false,
            });
        }
        Ok(relation)
    }

    /// The query that WITH gave a name to.
    fn common_named(&self, name: &str) -> Option<crate::relation::level::Common> {
        let levels = self.levels.iter().rev();
        let mut all = levels.flat_map(|level: &Level| level.common.iter().rev());
        all.find(|common| common.name == name).cloned()
    }

    /// Compiles a query of WITH anew where it is named; it sees what was before it.
    fn common_plan(&mut self, common: &crate::relation::level::Common) -> Result<Bound> {
        let later = self.levels.split_off(common.depth + 1);
        let rest = self.level().common.split_off(common.number);
        let bound = match common.recursive {
            true => self.recursive_plan(common),
            false => self.query_plan(&common.query),
        };
        self.level().common.extend(rest);
        self.levels.extend(later);
        self.shared(common, bound?)
    }

    pub(super) fn planned(
        &self,
        name: String,
        aliases: &[String],
        bound: Bound,
        place: Place,
    ) -> Result<Relation> {
        if aliases.len() > bound.outputs.len() {
            if name == COLUMNS_OF_QUERY {
                return Err(error(b"42601", place, "too many column names were specified"));
            }
            let (has, wants) = (bound.outputs.len(), aliases.len());
            let message = format!(
                "table \"{name}\" has {has} columns available but {wants} columns specified"
            );
            return Err(error(b"42P10", place, message));
        }
        let columns = bound.outputs.iter().enumerate().map(|(at, (known, slot))| RelationColumn {
            name: aliases.get(at).unwrap_or(known).clone(),
            sql_type: self.slot_type(*slot),
            nullable: true,
            slot: Some(*slot),
            hidden: false,
        });
        let (columns, shown) = (columns.collect(), bound.outputs.len());
        let kind = RelationKind::Planned(Some(bound.plan));
        Ok(Relation::new(name, columns, shown, kind))
    }

    /// A function that gives rows; it sees what stands before it.
    fn bind_function(
        &mut self,
        written: &ast::ObjectName,
        arguments: &[ast::FunctionArg],
        alias: Option<&ast::TableAlias>,
        ordinality: bool,
        place: Place,
    ) -> Result<Tree> {
        let name = called_name(written);
        let ordered = in_order(&name, arguments, place)?;
        let given = written_arguments(ordered.as_deref().unwrap_or(arguments), place)
            .ok_or_else(|| unsupported(place, "this argument", "write the value alone"))?;
        let values: Vec<&ast::Expr> = given.iter().map(|argument| &argument.value).collect();
        let row = functions::with_count(&name, values.len());
        if let Some(Evaluation::Rows(HostFunction::JsonRecords(function))) =
            row.map(|row| row.evaluation)
        {
            if given.iter().any(|argument| argument.name.is_some()) {
                // Their arguments have no names.
                return Err(functions::no_function(&name, &vec![None; given.len()], place));
            }
            let (name, arguments) = (name.as_str(), values.as_slice());
            let call = RecordCall { function, name, arguments, alias, ordinality };
            return self.bind_records(&call, place);
        }
        if name == "pg_options_to_table" {
            let (bound, (shown, columns)) = (self.no_options(place)?, alias_of(alias, &name));
            let relation = self.planned(shown, &columns, bound, place)?;
            return Ok(Tree::Leaf(self.show(relation)));
        }
        let before = self.level().steps.len();
        if let Some(called) = self.call_of(&name, &given, place)? {
            return self.bind_call(called, (local(&name), alias), (before, ordinality), place);
        }
        let lists: Vec<&[&ast::Expr]> = match name.as_str() {
            // Of several arrays: their elements side by side.
            "unnest" if !values.is_empty() => values.chunks(1).collect(),
            _ => vec![&values],
        };
        let mut all = Vec::new();
        for (at, list) in lists.iter().enumerate() {
            let is_numbered = ordinality && at + 1 == lists.len();
            let Some(expansion) = self.expansion(&name, list, is_numbered, place)? else {
                let message = format!("function {name} in FROM is not there");
                return Err(error(b"42883", place, message)
                    .hint("generate_series, unnest and generate_subscripts are; CALL procedures"));
            };
            all.push(expansion);
        }
        let step = self.expansion_step(&all)?;
        let mut names: Vec<_> = all.into_iter().flat_map(|one| one.names).collect();
        let outputs = step.outputs.clone();
        let mut steps = self.level().steps.split_off(before);
        steps.push(step);
        let plan = extended(Plan::One, steps);
        let (plan, outputs) = self.with_rows_apart(plan, &mut names, outputs)?;
        let (shown, columns) = alias_of(alias, &name);
        // As PostgreSQL names a function's only column, unless it has a name of its own.
        if alias.is_some() && names.len() == 1 + usize::from(ordinality) && names[0] == name {
            names[0].clone_from(&shown);
        }
        let is_value = names.len() == 1;
        let outputs = names.into_iter().zip(outputs).collect();
        let mut relation = self.planned(shown, &columns, Bound { plan, outputs }, place)?;
        relation.is_value = is_value;
        self.enter(relation, place)
    }
}
