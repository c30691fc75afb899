//! Binding times: which slots a call's parameters alone decide.
//!
//! Role         first step of planning, once per procedure. A slot is **static** when every
//!              definition of it computes from static slots under static control; everything a
//!              row decides is **dynamic**. Where it is asked which slots have one value in a call,
//!              whenever they are looked at, accesses count like assignments that read nothing
//!              but columns which nobody changes. A block that is left under dynamic control is
//!              dynamic control itself: how much of it runs, and how often the loop in it, rows
//!              decide.
//! Source       offline partial evaluation (binding-time analysis, flow-insensitive, one
//!              division per procedure). We analyse slots, not program points: a variable that is
//!              static in one place and dynamic in another counts as dynamic.

use std::collections::HashSet;

use crate::program::{
    Access, Elements, Expr, KeyList, LabelId, Procedure, SlotId, Statement, StatementKind,
};
use crate::protected::LocalSlots;
use crate::walk::{self, Site};

/// The static slots of one procedure.
#[derive(Clone, Debug)]
pub struct Binding {
    is_static: Vec<bool>,
    /// blocks that rows decide whether to leave
    left_by_rows: HashSet<LabelId>,
    locals: LocalSlots,
}

/// The control that a statement is under.
#[derive(Default)]
struct Control {
    /// blocks around it, the outermost first
    blocks: Vec<LabelId>,
    /// parameters decide whether it is reached once this one of them, or one behind, has begun
    static_from: usize,
    /// the innermost body or handler of a protected block around it, where parameters decide
    /// whether it is reached unless an error comes before
    but_for_errors: Option<*const Statement>,
}

impl Binding {
    /// Analyses a procedure: what parameters alone decide.
    pub fn of(procedure: &Procedure) -> Self {
        Self::with_rows(procedure, |_| false)
    }

    /// Analyses a procedure: what parameters decide, and accesses that `is_fixed` names.
    pub fn with_rows(procedure: &Procedure, is_fixed: impl Fn(&Access) -> bool) -> Self {
        let is_static = vec![true; procedure.slots.len()];
        let locals = LocalSlots::of(procedure);
        let mut binding = Self { is_static, left_by_rows: HashSet::new(), locals };
        walk::statements(&procedure.body, &mut |statement| {
            if let Some(Site::Access(access)) = walk::own_site(statement) {
                walk::private_slots(access, &mut |slot| {
                    binding.is_static[slot.index()] = false;
                });
            }
        });
        while binding.pass(&procedure.body, (true, &mut Control::default()), &is_fixed) {}
        binding
    }

    /// One pass over a block; true when a slot turned dynamic.
    fn pass(
        &mut self,
        block: &[Statement],
        (static_control, around): (bool, &mut Control),
        is_fixed: &impl Fn(&Access) -> bool,
    ) -> bool {
        let mut changed = false;
        for statement in block {
            let is_static = self.defines_statically(statement, is_fixed);
            let within = around.but_for_errors;
            walk::defines(statement, &mut |slot| {
                let is_local = || within.is_some_and(|block| self.locals.has(block, slot));
                if !(is_static && (static_control || is_local())) {
                    changed |= std::mem::replace(&mut self.is_static[slot.index()], false);
                }
            });
            if let Some(Site::Access(access)) = walk::own_site(statement) {
                for list in access.path.lists() {
                    let is_reached = static_control || within.is_some();
                    if !(is_reached && self.is_list(&list.keys)) {
                        changed |= std::mem::replace(&mut self.is_static[list.slot.index()], false);
                    }
                }
            }
            if let StatementKind::Leave(label) = statement.kind
                && !around.blocks[around.static_from..].contains(&label)
            {
                changed |= self.left_by_rows.insert(label);
            }
            let is_known = self.controls_statically(statement);
            let is_protected = matches!(statement.kind, StatementKind::Protected(_));
            let outer = (around.blocks.len(), around.static_from);
            if !is_known {
                around.static_from = around.blocks.len();
            }
            if let StatementKind::Block { label, .. } = statement.kind {
                around.blocks.push(label);
            }
            for nested in walk::blocks(statement) {
                around.but_for_errors = match (is_protected, is_known) {
                    (true, _) if static_control || within.is_some() => Some(nested.as_ptr()),
                    (false, true) => within,
                    _ => None,
                };
                changed |= self.pass(nested, (static_control && is_known, &mut *around), is_fixed);
            }
            around.blocks.truncate(outer.0);
            around.static_from = outer.1;
            around.but_for_errors = within;
        }
        changed
    }

    fn defines_statically(
        &self,
        statement: &Statement,
        is_fixed: &impl Fn(&Access) -> bool,
    ) -> bool {
        match &statement.kind {
            StatementKind::Access(access) | StatementKind::ForQuery { query: access, .. } => {
                is_fixed(access) && self.reads_statically(access)
            }
            StatementKind::Assign { value, .. } => self.is_static(value),
            StatementKind::ForRange { .. } | StatementKind::ForEach { .. } => {
                self.controls_statically(statement)
            }
            _ => false,
        }
    }

    /// Whether all that an access takes from outside is static.
    fn reads_statically(&self, access: &Access) -> bool {
        let mut is_static = true;
        walk::access_uses(access, &mut |slot| is_static &= self.slot(slot));
        is_static
    }

    /// Whether parameters decide which blocks of this statement run, and how often.
    pub fn controls_statically(&self, statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::If { condition, .. } => self.is_static(condition),
            StatementKind::ForRange { from, to, step, .. } => {
                self.is_static(from) && self.is_static(to) && self.is_static(step)
            }
            StatementKind::ForEach { elements: Elements::Array(array), .. } => self.slot(*array),
            StatementKind::ForEach { elements: Elements::Keys(keys), .. } => self.is_list(keys),
            StatementKind::ForQuery { .. } | StatementKind::ForOperators(_) => false,
            // An error, of which rows may decide, ends it anywhere.
            StatementKind::Protected(_) => false,
            StatementKind::Block { label, .. } => !self.is_left_by_rows(*label),
            StatementKind::Loop { body } => {
                // How often what calls itself runs, its variables decide, which it has many times.
                let is_once = !walk::has_recursion(body);
                is_once && self.is_left_statically(body) && self.has_known_end(body)
            }
            _ => true,
        }
    }

    /// Whether parameters decide that a loop without a bound, of this body, comes to an end.
    pub fn has_known_end(&self, body: &[Statement]) -> bool {
        let mut has_end = self.has_known_return(body);
        walk::left_labels(body, &mut |label| has_end |= !self.is_left_by_rows(label));
        has_end
    }

    fn has_known_return(&self, block: &[Statement]) -> bool {
        block.iter().any(|statement| {
            let is_known = match &statement.kind {
                StatementKind::Return(_) => return true,
                // Whether it comes to an end does not matter: this asks for one in it.
                StatementKind::Loop { body } => self.is_left_statically(body),
                _ => self.controls_statically(statement),
            };
            is_known && walk::blocks(statement).iter().any(|inner| self.has_known_return(inner))
        })
    }

    /// Whether parameters decide about all that leaves a loop of this body for what is around it.
    fn is_left_statically(&self, body: &[Statement]) -> bool {
        let mut by_rows = false;
        walk::left_labels(body, &mut |label| by_rows |= self.is_left_by_rows(label));
        !by_rows
    }

    /// Whether rows decide if, or where, a block is left.
    pub fn is_left_by_rows(&self, label: LabelId) -> bool {
        self.left_by_rows.contains(&label)
    }

    /// Whether parameters alone decide the values of a list.
    fn is_list(&self, keys: &KeyList) -> bool {
        keys.exprs().iter().all(|expr| self.is_static(expr))
    }

    /// Whether parameters alone decide this slot.
    pub fn slot(&self, slot: SlotId) -> bool {
        self.is_static[slot.index()]
    }

    /// Whether parameters alone decide this expression.
    pub fn is_static(&self, expr: &Expr) -> bool {
        !walk::reads_any(expr, |slot| !self.slot(slot))
    }
}
