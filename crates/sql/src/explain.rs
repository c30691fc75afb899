//! EXPLAIN of a statement: its operators and accesses, as text.
//!
//! Role         for people; the text is for reading, not for parsing. Nothing is run, and no sizes
//!              are told: plans do not depend on them

use hotrow_base::stack::deeper;
use hotrow_query::{JoinKind, Plan, Query, SetOperation, SortKey, Step, StepKind};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::explain::accesses;
use hotrow_transaction::program::{Procedure, SlotId};

use crate::compiled::Compiled;
use crate::relation::Change;

/// A line for each operator, its inputs below it, indented; none for statements that have no plan.
pub(crate) fn explain(catalog: &Catalog, compiled: &Compiled) -> Option<Vec<String>> {
    let mut page = Page { catalog, lines: Vec::new(), depth: 0 };
    match compiled {
        Compiled::Statement(procedure) => page.accesses(procedure),
        Compiled::Query(query) => page.plan(query, &query.plan),
        Compiled::Change(change) => page.change(change),
        Compiled::Call { name, .. } => {
            page.line(format!("planned call of {name}: EXPLAIN PROCEDURE {name} tells more"));
        }
        _ => return None,
    }
    Some(page.lines)
}

struct Page<'a> {
    catalog: &'a Catalog,
    lines: Vec<String>,
    depth: usize,
}

impl Page<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        self.lines.push(format!("{}{}", "  ".repeat(self.depth), text.as_ref()));
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
        if deeper(|| self.plan_here(query, plan)).is_err() {
            self.line("and what lies deeper");
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
            Plan::Lock { input, locks } => {
                let tables = if locks.len() == 1 { "table" } else { "tables" };
                let text =
                    format!("lock rows of {} {tables}, skip those that are held", locks.len());
                over(self, text, input);
            }
            Plan::Distinct { input, on } => over(self, format!("distinct {}", names(on)), input),
            Plan::Limit { input, .. } => over(self, "limit".to_owned(), input),
            Plan::Round { .. } => self.line("rows of the last round"),
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
        match &step.kind {
            StepKind::Function(_) => {}
            StepKind::Call { fetch } | StepKind::CallRows { fetch } => {
                let name = called(query, *fetch);
                self.line(format!("{how_often}: call of {name}"));
            }
            StepKind::Expand(_) => self.line(format!("{how_often}: rows of a function")),
            StepKind::Subquery { plan, inputs, .. } => {
                let inputs: Vec<_> =
                    inputs.iter().filter(|slot| !query.parameters.contains(slot)).collect();
                let how_often = match inputs.is_empty() {
                    true => "once: subquery",
                    false => "for each row, if its values are new: subquery",
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
