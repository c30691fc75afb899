//! EXPLAIN of a statement: its operators and accesses, as text or JSON.
//!
//! Role         for people; the text is for reading, not for parsing. Without ANALYZE nothing is
//!              run, and no sizes are told: plans do not depend on them. With it each operator says
//!              how often it was begun, how many rows it gave, and what it took with its inputs

use std::time::Duration;

use hotrow_base::stack::deeper;
use hotrow_query::{
    JoinKind, Measured, Plan, PlanNumbers, Profile, Query, SetOperation, SortKey, Step, StepKind,
};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::explain::accesses;
use hotrow_transaction::program::{Place, Procedure, SlotId};
use serde_json::{Value as Json, json};
use sqlparser::ast;

use crate::compiled::Compiled;
use crate::error::{Result, unsupported};
use crate::relation::Change;

/// What is wanted of EXPLAIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExplainForm {
    /// ANALYZE: the statement is run
    pub runs: bool,
    /// FORMAT JSON
    is_json: bool,
    /// TIMING of each operator
    tells_times: bool,
}

impl ExplainForm {
    /// Reads the options of EXPLAIN; 0A000 for those that nothing can be told of.
    pub(crate) fn of(
        runs: bool,
        options: Option<&[ast::UtilityOption]>,
        format: Option<&ast::AnalyzeFormatKind>,
        place: Place,
    ) -> Result<Self> {
        let mut form = Self { runs, is_json: false, tells_times: true };
        let refused = |what: String| {
            unsupported(place, what, "there are ANALYZE, TIMING, and FORMAT TEXT or JSON")
        };
        if let Some(format) = format {
            return Err(refused(format!("EXPLAIN {format}")));
        }
        for option in options.unwrap_or_default() {
            let argument = option.arg.as_ref().map(ToString::to_string).unwrap_or_default();
            let argument = argument.trim_matches('\'').to_lowercase();
            let is_on = !["false", "off", "0"].contains(&argument.as_str());
            match (option.name.value.to_lowercase().as_str(), argument.as_str()) {
                ("analyze", _) => form.runs = is_on,
                ("timing", _) => form.tells_times = is_on,
                ("format", "text") => form.is_json = false,
                ("format", "json") => form.is_json = true,
                // There are no costs and no buffers, and all else is told in any case.
                ("costs" | "verbose" | "summary" | "settings" | "buffers", _) => {}
                (_, _) if !is_on => {}
                _ => return Err(refused(format!("EXPLAIN ({option})"))),
            }
        }
        Ok(form)
    }
}

/// EXPLAIN ANALYZE: a statement to be run and told of.
#[derive(Clone, Debug)]
pub struct Analyzed {
    /// its text, as it is written anew
    pub text: String,
    /// what it was compiled to
    pub compiled: Compiled,
    /// what is wanted
    pub form: ExplainForm,
}

/// How a statement ran.
#[derive(Debug)]
pub struct AnalyzedRun {
    /// of its operators, if it has some
    pub profile: Profile,
    /// that it gave, or changed
    pub rows: u64,
    /// all in all
    pub took: Duration,
}

/// EXPLAIN's lines: one for each operator, its inputs below it, indented; or a document. None for
/// statements that have no plan.
pub fn explain(
    catalog: &Catalog,
    compiled: &Compiled,
    form: ExplainForm,
    run: Option<&AnalyzedRun>,
) -> Option<Vec<String>> {
    let profile = run.map(|run| &run.profile);
    let numbers = match compiled {
        Compiled::Query(query) => PlanNumbers::of(query),
        Compiled::Change(change) => PlanNumbers::of(&change.query),
        _ => PlanNumbers::default(),
    };
    let mut page = Page { catalog, profile, numbers, lines: Vec::new(), depth: 0 };
    match compiled {
        Compiled::Statement(procedure) => page.accesses(procedure),
        Compiled::Query(query) => page.plan(query, &query.plan),
        Compiled::Change(change) => page.change(change),
        Compiled::Call { name, .. } => {
            page.line(format!("planned call of {name}: EXPLAIN PROCEDURE {name} tells more"));
        }
        _ => return None,
    }
    if form.is_json {
        return Some(vec![document(&page.lines, form, run)]);
    }
    let mut lines: Vec<String> = page.lines.iter().map(|line| line.text(form)).collect();
    if let Some(AnalyzedRun { rows, took, .. }) = run {
        lines.push(format!("Rows: {rows}"));
        lines.push(format!("Execution Time: {:.3} ms", milliseconds(took.as_nanos() as u64)));
    }
    Some(lines)
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// A line of a plan.
struct Line {
    depth: usize,
    text: String,
    measured: Option<Measured>,
}

impl Line {
    fn text(&self, form: ExplainForm) -> String {
        let text = format!("{}{}", "  ".repeat(self.depth), self.text);
        let Some(Measured { times, rows, nanoseconds }) = self.measured else { return text };
        let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
        let times = if times == 1 { String::new() } else { format!(" in {times} times") };
        let took = match form.tells_times {
            true => format!(", {:.3} ms", milliseconds(nanoseconds)),
            false => String::new(),
        };
        format!("{text} ({rows}{times}{took})")
    }

    fn json(&self, form: ExplainForm, below: Vec<Json>) -> Json {
        let mut node = json!({ "Node Type": self.text });
        if let Some(Measured { times, rows, nanoseconds }) = self.measured {
            node["Actual Rows"] = json!(rows);
            node["Actual Loops"] = json!(times);
            if form.tells_times {
                node["Actual Total Time"] = json!(milliseconds(nanoseconds));
            }
        }
        if !below.is_empty() {
            node["Plans"] = json!(below);
        }
        node
    }
}

/// Lines as PostgreSQL nests plans, with its names; rows and times are all times' together.
fn document(lines: &[Line], form: ExplainForm, run: Option<&AnalyzedRun>) -> String {
    // By depth: the nodes that are not below one yet, the last lines first.
    let mut open: Vec<Vec<Json>> = Vec::new();
    for line in lines.iter().rev() {
        open.resize_with(open.len().max(line.depth + 2), Vec::new);
        let mut below = std::mem::take(&mut open[line.depth + 1]);
        below.reverse();
        open[line.depth].push(line.json(form, below));
    }
    let mut plans = open.into_iter().next().unwrap_or_default();
    plans.reverse();
    let plan = match plans.len() {
        1 => plans.remove(0),
        _ => json!({ "Node Type": "statement", "Plans": plans }),
    };
    let mut whole = json!({ "Plan": plan });
    if let Some(AnalyzedRun { rows, took, .. }) = run {
        whole["Rows"] = json!(rows);
        whole["Execution Time"] = json!(milliseconds(took.as_nanos() as u64));
    }
    serde_json::to_string_pretty(&json!([whole])).unwrap_or_default()
}

struct Page<'a> {
    catalog: &'a Catalog,
    profile: Option<&'a Profile>,
    numbers: PlanNumbers,
    lines: Vec<Line>,
    depth: usize,
}

impl Page<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref().to_owned();
        self.lines.push(Line { depth: self.depth, text, measured: None });
    }

    fn below(&mut self, write: impl FnOnce(&mut Self)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    fn accesses(&mut self, procedure: &Procedure) {
        let found = accesses(self.catalog, &procedure.body);
        if found.is_empty() {
            self.line("values, without any table");
        }
        found.iter().for_each(|access| self.line(access));
    }

    fn change(&mut self, change: &Change) {
        self.line("for each row of the query, with a savepoint around all");
        self.below(|page| page.accesses(&change.apply));
        self.line("the query:");
        self.below(|page| page.plan(&change.query, &change.query.plan));
    }

    fn plan(&mut self, query: &Query, plan: &Plan) {
        let first = self.lines.len();
        if deeper(|| self.plan_here(query, plan)).is_err() {
            self.line("and what lies deeper");
        }
        // What has no line of its own is not told of: its input is.
        if let (Some(line), Some(profile)) = (self.lines.get_mut(first), self.profile)
            && line.measured.is_none()
        {
            line.measured = self.numbers.number(plan).and_then(|number| profile.of(number));
        }
    }

    fn plan_here(&mut self, query: &Query, plan: &Plan) {
        let names = |slots: &[SlotId]| names_of(query, slots);
        let over = |page: &mut Self, text: String, input: &Plan| {
            page.line(text);
            page.below(|page| page.plan(query, input));
        };
        match plan {
            Plan::One => self.line("one row without columns"),
            Plan::Fetch { fetch, .. } => self.accesses(&query.fetches[*fetch]),
            Plan::System { relation, .. } => self.line(format!("system catalog {relation}")),
            Plan::Values { rows, .. } => match rows.len() {
                1 => self.line("1 row of VALUES"),
                rows => self.line(format!("{rows} rows of VALUES")),
            },
            // Expressions alone: what they cost is what the rows below them are.
            Plan::Compute { input, .. } => self.plan(query, input),
            Plan::Extend { input, step } => {
                self.step(query, step, "for each row");
                self.plan(query, input);
            }
            Plan::Given { steps, input } => {
                steps.iter().for_each(|step| self.step(query, step, "once"));
                self.plan(query, input);
            }
            Plan::Filter { input, .. } => over(self, "filter".to_owned(), input),
            Plan::Join(join) => {
                let kind = match join.kind {
                    JoinKind::Inner => "inner join",
                    JoinKind::Left => "left join",
                    JoinKind::Full => "full join",
                };
                let how = match (&join.equal, join.lateral) {
                    (_, true) => "the right side anew for each row",
                    (Some(_), false) => "by hash table",
                    (None, false) => "each with each",
                };
                let keyed = match join.keyed {
                    Some(_) => "; few rows on the left: by key",
                    None => "",
                };
                self.line(format!("{kind}, {how}{keyed}"));
                plan.steps().iter().for_each(|step| self.step(query, step, "for each pair"));
                self.below(|page| {
                    page.plan(query, &join.left);
                    page.plan(query, &join.right);
                    if let Some(keyed) = &join.keyed {
                        page.line("or, by key");
                        page.below(|page| page.plan(query, keyed));
                    }
                });
            }
            Plan::Group(group) => {
                let by = match group.keys.as_slice() {
                    [] => "one group".to_owned(),
                    keys => format!("group by {}", names(keys)),
                };
                let by = match &group.sets {
                    Some(sets) => format!("{by} in {} groupings", sets.len()),
                    None => by,
                };
                let count = group.aggregates.len();
                let aggregates = if count == 1 { "aggregate" } else { "aggregates" };
                over(self, format!("{by}, {count} {aggregates}"), &group.input);
            }
            Plan::Window(window) => {
                let count = window.functions.len();
                let partition = match window.partition.as_slice() {
                    [] => "all rows".to_owned(),
                    slots => format!("partitions by {}", names(slots)),
                };
                over(self, format!("window of {partition}, {count} functions"), &window.input);
            }
            Plan::Sort { input, keys } => {
                let key = |key: &SortKey| {
                    let name = names(&[key.slot]);
                    if key.descending { format!("{name} DESC") } else { name }
                };
                let keys: Vec<_> = keys.iter().map(key).collect();
                over(self, format!("sort by {}", keys.join(", ")), input);
            }
            Plan::Lock { input, locks, by_parts } => {
                let tables = if locks.len() == 1 { "table" } else { "tables" };
                let parts = if by_parts.is_some() { ", as many as are needed" } else { "" };
                let count = locks.len();
                let text =
                    format!("lock rows of {count} {tables}{parts}, skip those that are held");
                over(self, text, input);
            }
            Plan::Distinct { input, on } => over(self, format!("distinct {}", names(on)), input),
            Plan::Limit { input, .. } => over(self, "limit".to_owned(), input),
            Plan::Round { .. } => self.line("rows of the last round"),
            Plan::Shared(shared) => {
                self.line("rows of a query that runs once");
                self.below(|page| page.plan(query, &shared.rows.0));
            }
            Plan::Recursion(recursion) => {
                let all = if recursion.all { " all" } else { "" };
                self.line(format!("recursion, union{all}, until a round gives nothing new"));
                self.below(|page| {
                    page.plan(query, &recursion.start.0);
                    page.plan(query, &recursion.next.0);
                });
            }
            Plan::Set { operation, all, left, right, .. } => {
                let operation = match operation {
                    SetOperation::Union => "union",
                    SetOperation::Intersect => "intersect",
                    SetOperation::Except => "except",
                };
                self.line(format!("{operation}{}", if *all { " all" } else { "" }));
                self.below(|page| {
                    page.plan(query, &left.0);
                    page.plan(query, &right.0);
                });
            }
        }
    }

    /// What rows are extended by, where that is more than an expression.
    fn step(&mut self, query: &Query, step: &Step, how_often: &str) {
        let how_often = match step.whens.is_empty() {
            true => how_often.to_owned(),
            false => format!("{how_often}, if it is asked for"),
        };
        match &step.kind {
            StepKind::Function(_) | StepKind::Value => {}
            StepKind::Call { fetch } | StepKind::CallRows { fetch } => {
                let name = called(query, *fetch);
                self.line(format!("{how_often}: call of {name}"));
            }
            StepKind::Expand(_) => self.line(format!("{how_often}: rows of a function")),
            StepKind::Subquery { plan, inputs, .. } => {
                let inputs: Vec<_> =
                    inputs.iter().filter(|slot| !query.parameters.contains(slot)).collect();
                let how_often = match inputs.is_empty() {
                    true => "once: subquery".to_owned(),
                    false => format!("{how_often}, if its values are new: subquery"),
                };
                self.line(how_often);
                self.below(|page| page.plan(query, plan));
            }
        }
    }
}

fn called(query: &Query, fetch: usize) -> String {
    match query.fetches[fetch].name.as_str() {
        "" => "a function".to_owned(),
        name => name.to_owned(),
    }
}

/// Slots as their columns are called; what has no name is an expression.
fn names_of(query: &Query, slots: &[SlotId]) -> String {
    let name = |slot: &SlotId| {
        let name = query.slots[slot.index()].name.trim_start_matches('$');
        if name.is_empty() { "an expression".to_owned() } else { name.to_owned() }
    };
    slots.iter().map(name).collect::<Vec<_>>().join(", ")
}
