//! What is known of values while a trigger's function is compiled, and what it must not know.
//!
//! Role         `IF TG_OP = 'INSERT'` is decided when a function is compiled for a trigger: the
//!              other branches may name columns that this table has not

use std::mem::swap;

use hotrow_base::ids::TableId;
use hotrow_base::value::Value;
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    ErrorPart, Expr, ExprKind, Procedure, ResultColumn, SlotId, Statement,
};
use hotrow_transaction::walk;
use hotrow_transaction::zoned;

use crate::ambiguity::Ambiguity;
use crate::drawn::is_random;
use crate::open_literals::Literals;
use crate::relation::level::Level;
use crate::scope::Compiler;
use crate::state::{
    CursorVariable, Deleting, Enclosing, Endings, Firing, Given, Keeping, Names, Overriding,
    ProcedureReads, Returning,
};
use hotrow_transaction::program::Place;

/// What is around a part that is compiled on its own: names, loops, handlers, rows.
#[derive(Default)]
pub(crate) struct Around {
    names: Vec<Names>,
    literals: Literals,
    levels: Vec<Level>,
    reads: Option<ProcedureReads>,
    fetches: Vec<Procedure>,
    needs_query: Option<SqlError>,
    before: Vec<Statement>,
    made: Vec<(Place, Given)>,
    mentions: ([bool; 2], bool),
    enclosing: Vec<Enclosing>,
    caught: Vec<Vec<(ErrorPart, SlotId)>>,
    cursors: Vec<CursorVariable>,
    keeping: Keeping,
    returning: Option<Returning>,
    result: Vec<ResultColumn>,
    deleting: Vec<Deleting>,
    cascading: Vec<TableId>,
    changing: Vec<TableId>,
    endings: Endings,
    firing: Firing,
    counts_next_turns: Option<SlotId>,
    depth: usize,
    ambiguity: Ambiguity,
    overriding: Overriding,
    /// `ad_hoc`, `returns_rows`, `is_procedure`, `draws_once`, `is_own`
    flags: [bool; 5],
}

impl Around {
    /// Puts it in the place of what a compiler knows, and takes that.
    pub(crate) fn swap_with(&mut self, of: &mut Compiler<'_>) {
        swap(&mut self.names, &mut of.names);
        swap(&mut self.literals, &mut of.literals);
        swap(&mut self.levels, &mut of.levels);
        swap(&mut self.reads, &mut of.reads);
        swap(&mut self.fetches, &mut of.fetches);
        swap(&mut self.needs_query, &mut of.needs_query);
        swap(&mut self.before, &mut of.before);
        swap(&mut self.made, &mut of.calls.made);
        swap(&mut self.mentions.0, &mut of.calls.mentions);
        swap(&mut self.mentions.1, &mut of.calls.mentions_current);
        swap(&mut self.enclosing, &mut of.enclosing);
        swap(&mut self.caught, &mut of.caught);
        swap(&mut self.cursors, &mut of.cursors);
        swap(&mut self.keeping, &mut of.keeping);
        let returning = self.returning.take().unwrap_or(Returning::Nothing);
        self.returning = Some(std::mem::replace(&mut of.returning, returning));
        swap(&mut self.result, &mut of.result);
        swap(&mut self.deleting, &mut of.deleting);
        swap(&mut self.cascading, &mut of.cascading);
        swap(&mut self.changing, &mut of.changing);
        swap(&mut self.endings, &mut of.endings);
        swap(&mut self.firing, &mut of.firing);
        swap(&mut self.counts_next_turns, &mut of.counts_next_turns);
        swap(&mut self.depth, &mut of.depth);
        swap(&mut self.ambiguity, &mut of.ambiguity);
        swap(&mut self.overriding, &mut of.overriding);
        let flags = [
            &mut of.ad_hoc,
            &mut of.returns_rows,
            &mut of.is_procedure,
            &mut of.draws_once,
            &mut of.is_own,
        ];
        self.flags.iter_mut().zip(flags).for_each(|(own, other)| swap(own, other));
    }
}

impl Compiler<'_> {
    /// Whether a condition of a trigger's function is true whenever it is asked, or never is; none:
    /// nobody knows.
    pub(crate) fn known_truth(&self, condition: &Expr) -> Option<bool> {
        if self.triggers.is_empty() { None } else { self.known_truth_of(condition) }
    }

    /// As [`Compiler::known_truth`], of a condition that stands anywhere.
    pub(crate) fn known_truth_of(&self, condition: &Expr) -> Option<bool> {
        self.known_value(condition).map(|value| value == Value::Bool(true))
    }

    fn known_value(&self, of: &Expr) -> Option<Value> {
        let is_open = |slot| !self.firing.known.iter().any(|(known, _)| *known == slot);
        if !walk::reads_any(of, is_open) && !is_random(of) && !zoned::depends_on_session(of) {
            let known: Vec<(SlotId, &Expr)> =
                self.firing.known.iter().map(|(slot, value)| (*slot, value)).collect();
            let mut value = of.clone();
            walk::substitute(&mut value, &known);
            return evaluate(&value, 0).ok();
        }
        let (decides, sides) = match &of.kind {
            ExprKind::And(left, right) => (false, [left, right]),
            ExprKind::Or(left, right) => (true, [left, right]),
            _ => return None,
        };
        let decides = Value::Bool(decides);
        sides.into_iter().find_map(|side| self.known_value(side).filter(|value| *value == decides))
    }
}
