//! Procedures as text: one line per statement, indented.

use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::program::{
    Access, Consume, Effect, Elements, Expr, ExprKind, KeyList, ListOf, OrderKey, Path, Procedure,
    SlotId, Statement, StatementKind,
};

struct Printer<'p> {
    catalog: &'p Catalog,
    procedure: &'p Procedure,
    text: String,
}

/// Prints the body.
pub fn print(catalog: &Catalog, procedure: &Procedure) -> String {
    let mut printer = Printer { catalog, procedure, text: String::new() };
    printer.body(&procedure.body, 0);
    printer.text
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        self.text.push_str(&"  ".repeat(depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn body(&mut self, body: &[Statement], depth: usize) {
        for statement in body {
            self.statement(statement, depth);
        }
    }

    fn slot(&self, slot: SlotId) -> String {
        self.procedure.slots[slot.index()].name.clone()
    }

    fn list(&self, list: &[Expr]) -> String {
        list.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }

    fn statement(&mut self, statement: &Statement, depth: usize) {
        match &statement.kind {
            StatementKind::Assign { slot, value } => {
                let text = format!("{} := {}", self.slot(*slot), self.expr(value));
                self.line(depth, &text);
            }
            StatementKind::Access(access) => {
                let text = self.access(access);
                self.line(depth, &text);
            }
            StatementKind::Insert(insert) => {
                let table = &self.catalog.table(insert.table).name;
                let mut text = format!("insert {table} ({})", self.list(&insert.values));
                if insert.ignore_conflict {
                    text.push_str(" or nothing");
                }
                for (slot, column) in &insert.returning {
                    let name = &self.catalog.table(insert.table).columns[column.index()].name;
                    text.push_str(&format!(" {} <- {name}", self.slot(*slot)));
                }
                self.line(depth, &text);
            }
            StatementKind::If { condition, then, otherwise } => {
                let text = format!("if {}", self.expr(condition));
                self.line(depth, &text);
                self.body(then, depth + 1);
                if !otherwise.is_empty() {
                    self.line(depth, "else");
                    self.body(otherwise, depth + 1);
                }
            }
            StatementKind::ForRange { slot, from, to, step, reverse, body } => {
                let text = format!(
                    "for {} in {}{}..{} by {}",
                    self.slot(*slot),
                    if *reverse { "reverse " } else { "" },
                    self.expr(from),
                    self.expr(to),
                    self.expr(step)
                );
                self.line(depth, &text);
                self.body(body, depth + 1);
            }
            StatementKind::ForEach { slot, elements, body } => {
                let elements = match elements {
                    Elements::Array(array) => self.slot(*array),
                    Elements::Keys(keys) => self.keys(keys),
                };
                let text = format!("foreach {} in {elements}", self.slot(*slot));
                self.line(depth, &text);
                self.body(body, depth + 1);
            }
            StatementKind::ForQuery { query, into, body, .. } => {
                let into: Vec<_> = into.iter().map(|s| self.slot(*s)).collect();
                let text = format!("for ({}) in {}", into.join(", "), self.access(query));
                self.line(depth, &text);
                self.body(body, depth + 1);
            }
            StatementKind::ForOperators(of) => {
                let into: Vec<_> = of.into.iter().map(|s| self.slot(*s)).collect();
                let takes: Vec<_> = of.takes.iter().map(|s| self.slot(*s)).collect();
                let (into, takes) = (into.join(", "), takes.join(", "));
                self.line(depth, &format!("for ({into}) in operators ({takes})"));
                for read in &of.reads {
                    let takes: Vec<_> = read.parameters.iter().map(|s| self.slot(*s)).collect();
                    self.line(depth + 1, &format!("read ({})", takes.join(", ")));
                    self.body(&read.body, depth + 2);
                }
                self.body(&of.body, depth + 1);
            }
            StatementKind::Raise(raise) | StatementKind::Notice(_, raise) => {
                let code = String::from_utf8_lossy(&raise.sqlstate).into_owned();
                let level = match &statement.kind {
                    StatementKind::Notice(level, _) => format!("{} ", level.name().to_lowercase()),
                    _ => String::new(),
                };
                let mut text = format!("raise {level}{code} {:?}", raise.message.join("%"));
                if !raise.arguments.is_empty() {
                    text.push_str(&format!(" ({})", self.list(&raise.arguments)));
                }
                if let Some(detail) = &raise.detail {
                    text.push_str(&format!(" detail {}", self.expr(detail)));
                }
                self.line(depth, &text);
            }
            StatementKind::Return(values) => {
                let text = format!("return ({})", self.list(values));
                self.line(depth, &text);
            }
            StatementKind::ReturnNext(values) => {
                let text = format!("return next ({})", self.list(values));
                self.line(depth, &text);
            }
            StatementKind::Loop { body } => {
                self.line(depth, "loop");
                self.body(body, depth + 1);
            }
            StatementKind::Block { label, body } => {
                self.line(depth, &format!("block {}", label.0));
                self.body(body, depth + 1);
            }
            StatementKind::Leave(label) => self.line(depth, &format!("leave {}", label.0)),
            StatementKind::Recur(of) => {
                let values: Vec<Expr> = of.arguments.iter().map(|(_, of)| of.clone()).collect();
                let text = format!("block {} again with ({})", of.label.0, self.list(&values));
                self.line(depth, &text);
            }
            StatementKind::Protected(of) => {
                self.line(depth, "protected");
                self.body(&of.body, depth + 1);
                for handler in &of.handlers {
                    self.line(depth, &format!("when {:?}", handler.catches));
                    self.body(&handler.body, depth + 1);
                }
            }
            StatementKind::Mark(n) => self.line(depth, &format!("mark {n}")),
        }
    }

    fn access(&self, access: &Access) -> String {
        let table = self.catalog.table(access.table);
        let verb = match &access.effect {
            Effect::Read(_) => "read",
            Effect::Update { .. } => "update",
            Effect::Delete { .. } => "delete",
        };
        let mut text = format!("{verb} {} {}", table.name, self.path(access));
        if !access.bind.is_empty() {
            let names: Vec<_> =
                access.bind.iter().map(|(c, _)| table.columns[c.index()].name.as_str()).collect();
            text.push_str(&format!(" bind {}", names.join(" ")));
        }
        if let Some(filter) = &access.filter {
            text.push_str(&format!(" where {}", self.expr(filter)));
        }
        if let Effect::Update { set, .. } = &access.effect {
            let set: Vec<_> = set
                .iter()
                .map(|(c, e)| format!("{} = {}", table.columns[c.index()].name, self.expr(e)))
                .collect();
            text.push_str(&format!(" set {}", set.join(", ")));
        }
        text.push_str(&self.consume(access.effect.consume()));
        text
    }

    fn keys(&self, keys: &KeyList) -> String {
        let list = match &keys.of {
            ListOf::Values(values) => format!("keys ({})", self.list(values)),
            ListOf::Array(array) => format!("keys of {}", self.expr(array)),
        };
        if keys.descending { list + " down" } else { list }
    }

    fn path(&self, access: &Access) -> String {
        match &access.path {
            Path::Lists { lists, path } => {
                let each = Access { path: (**path).clone(), ..access.clone() };
                let lists: Vec<_> = lists
                    .iter()
                    .map(|list| format!("{} in {}", self.slot(list.slot), self.keys(&list.keys)))
                    .collect();
                format!("{} for {}", self.path(&each), lists.join(", "))
            }
            Path::Whole => "scan of all".to_owned(),
            Path::Point { index, key } => {
                format!("at {}[{}]", self.catalog.index(*index).name, self.list(key))
            }
            Path::Range { index, prefix, lower, upper, descending } => {
                let mut text =
                    format!("in {}[{}", self.catalog.index(*index).name, self.list(prefix));
                if let Some(lower) = lower {
                    let sign = if lower.inclusive { ">=" } else { ">" };
                    text.push_str(&format!(" {sign} {}", self.expr(&lower.value)));
                }
                if let Some(upper) = upper {
                    let sign = if upper.inclusive { "<=" } else { "<" };
                    text.push_str(&format!(" {sign} {}", self.expr(&upper.value)));
                }
                text.push(']');
                if *descending {
                    text.push_str(" down");
                }
                text
            }
        }
    }

    fn consume(&self, consume: &Consume) -> String {
        let pairs = |into: &[(SlotId, Expr)]| {
            into.iter()
                .map(|(slot, e)| format!("{} <- {}", self.slot(*slot), self.expr(e)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match consume {
            Consume::Discard => String::new(),
            Consume::First { into, strict, order_by, offset } => {
                let mut text = format!(" first {}", pairs(into));
                if *strict {
                    text.push_str(" strict");
                }
                text.push_str(&self.order(order_by));
                if let Some(offset) = offset {
                    text.push_str(&format!(" offset {}", self.expr(offset)));
                }
                text
            }
            Consume::Aggregate { aggregates, into } => {
                let mut text = String::new();
                for aggregate in aggregates {
                    let argument =
                        aggregate.argument.as_ref().map_or("*".to_owned(), |e| self.expr(e));
                    text.push_str(&format!(
                        " {:?}({}{argument})",
                        aggregate.function,
                        if aggregate.distinct { "distinct " } else { "" }
                    ));
                }
                text.push_str(&format!(" into {}", pairs(into)));
                text
            }
            Consume::Rows { to, columns, distinct, order_by, limit, offset, .. } => {
                let mut text = format!(" {to:?} ({})", self.list(columns));
                if *distinct {
                    text.push_str(" distinct");
                }
                text.push_str(&self.order(order_by));
                for (name, count) in [("limit", limit), ("offset", offset)] {
                    if let Some(count) = count {
                        text.push_str(&format!(" {name} {}", self.expr(count)));
                    }
                }
                text
            }
        }
    }

    fn order(&self, order_by: &[OrderKey]) -> String {
        if order_by.is_empty() {
            return String::new();
        }
        let keys: Vec<_> = order_by
            .iter()
            .map(|k| format!("{}{}", self.expr(&k.value), if k.descending { " desc" } else { "" }))
            .collect();
        format!(" order by {}", keys.join(", "))
    }

    fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Slot(slot) => self.slot(*slot),
            ExprKind::Constant(value) if expr.data_type().is_text() && !value.is_null() => {
                format!("'{value}'")
            }
            ExprKind::Constant(value) => format!("{value}"),
            ExprKind::Negate(a) => format!("-{}", self.expr(a)),
            ExprKind::Arithmetic(op, a, b) => {
                format!("({} {} {})", self.expr(a), op.symbol(), self.expr(b))
            }
            ExprKind::Compare(op, a, b) => {
                format!("({} {} {})", self.expr(a), op.symbol(), self.expr(b))
            }
            ExprKind::NotDistinct(a, b) => format!("({} is {})", self.expr(a), self.expr(b)),
            ExprKind::And(a, b) => format!("({} and {})", self.expr(a), self.expr(b)),
            ExprKind::Or(a, b) => format!("({} or {})", self.expr(a), self.expr(b)),
            ExprKind::Not(a) => format!("not {}", self.expr(a)),
            ExprKind::IsNull(a) => format!("({} is null)", self.expr(a)),
            ExprKind::Case { arms, otherwise } => {
                let mut text = "case".to_owned();
                for (when, then) in arms {
                    text.push_str(&format!(" when {} then {}", self.expr(when), self.expr(then)));
                }
                if let Some(otherwise) = otherwise {
                    text.push_str(&format!(" else {}", self.expr(otherwise)));
                }
                text + " end"
            }
            ExprKind::Coalesce(list) => format!("coalesce({})", self.list(list)),
            ExprKind::Cast(a) => format!("{}::{}", self.expr(a), expr.sql_type),
            ExprKind::Concat(a, b) => format!("({} || {})", self.expr(a), self.expr(b)),
            ExprKind::Call(function, list) => format!("{function:?}({})", self.list(list)),
            ExprKind::Element(slot, index) => format!("{}[{}]", self.slot(*slot), self.expr(index)),
            ExprKind::ArrayLength(slot) => format!("length({})", self.slot(*slot)),
        }
    }
}
