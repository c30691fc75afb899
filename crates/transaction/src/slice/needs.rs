//! What a slice must keep: slots, conditions and reads that keys depend on.
//!
//! Role         a backward, flow-insensitive closure over the procedure from the keys of its
//!              access sites. FOUND is the exception: every access defines it, so each use is
//!              first tied to the access right before it (`found copies`).

use std::collections::{HashMap, HashSet};

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use crate::binding::Binding;
use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::locks;
use crate::program::{
    Expr, ExprKind, FOUND, Gives, LabelId, Procedure, Slot, SlotId, Statement, StatementKind,
};
use crate::walk::{self, Site};

/// The closure.
pub(super) struct Needs {
    /// the procedure with found copies in it; its sites are numbered as the original's
    pub procedure: Procedure,
    /// its binding times
    pub binding: Binding,
    slots: Vec<bool>,
    reads: HashSet<u16>,
    conditions: HashSet<*const Statement>,
    /// blocks that the slice leaves where the procedure does
    leaves: HashSet<LabelId>,
    /// RETURN and RAISE that end loops without a bound in the slice, too, with those loops
    ends: HashMap<*const Statement, HashSet<*const Statement>>,
    found_of: HashMap<SlotId, u16>,
}

impl Needs {
    /// `marks`: for each mark of the procedure, the slots it looks at.
    pub(super) fn of(
        catalog: &Catalog,
        granules: &Granules,
        original: &Procedure,
        marks: &[Vec<SlotId>],
    ) -> Self {
        let mut procedure = original.clone();
        let mut copies = FoundCopies { slots: &mut procedure.slots, of: HashMap::new(), site: 0 };
        copies.block(&mut procedure.body);
        let found_of = copies.of;
        let binding = Binding::of(&procedure);
        let mut needs = Self {
            slots: vec![false; procedure.slots.len()],
            binding,
            procedure,
            reads: HashSet::new(),
            conditions: HashSet::new(),
            leaves: HashSet::new(),
            ends: HashMap::new(),
            found_of,
        };
        let body = std::mem::take(&mut needs.procedure.body);
        let mut pass =
            Pass { catalog, granules, marks, needs: &mut needs, site: 0, changed: false };
        loop {
            (pass.site, pass.changed) = (0, false);
            pass.block(&body, true);
            if !pass.changed {
                break;
            }
        }
        // The statements have not moved: `body` keeps its buffer, so the addresses stay valid.
        needs.procedure.body = body;
        needs
    }

    /// Whether a slot's value decides a key.
    pub(super) fn slot(&self, slot: SlotId) -> bool {
        self.slots[slot.index()]
    }

    /// Whether a site must be read on trial.
    pub(super) fn reads(&self, site: u16) -> bool {
        self.reads.contains(&site)
    }

    /// Whether a statement's condition or bounds must be evaluated.
    pub(super) fn condition(&self, statement: &Statement) -> bool {
        self.conditions.contains(&std::ptr::from_ref(statement))
    }

    /// Whether the slice leaves this block where the procedure does.
    pub(super) fn leaves(&self, label: LabelId) -> bool {
        self.leaves.contains(&label)
    }

    /// Whether this RETURN or RAISE ends loops without a bound in the slice, too.
    pub(super) fn end(&self, statement: &Statement) -> bool {
        self.ends.contains_key(&std::ptr::from_ref(statement))
    }

    /// Whether it ends this loop there.
    pub(super) fn ends(&self, statement: &Statement, whole: &Statement) -> bool {
        let ended = self.ends.get(&std::ptr::from_ref(statement));
        ended.is_some_and(|loops| loops.contains(&std::ptr::from_ref(whole)))
    }

    /// The site whose FOUND this slot is a copy of.
    pub(super) fn found_of(&self, slot: SlotId) -> Option<u16> {
        self.found_of.get(&slot).copied()
    }
}

struct Pass<'a> {
    catalog: &'a Catalog,
    granules: &'a Granules,
    marks: &'a [Vec<SlotId>],
    needs: &'a mut Needs,
    site: u16,
    changed: bool,
}

impl Pass<'_> {
    fn block(&mut self, block: &[Statement], known_control: bool) -> bool {
        let mut matters = false;
        for statement in block {
            matters |= self.statement(statement, known_control);
        }
        matters
    }

    /// Adds what a statement needs; true when it (or something in it) must stay in the slice.
    fn statement(&mut self, statement: &Statement, known_control: bool) -> bool {
        let mut matters = false;
        if let StatementKind::Mark(id) = statement.kind {
            self.marks[id as usize].iter().for_each(|&slot| self.need(slot));
            return true;
        }
        let own = walk::own_site(statement);
        let site = self.site;
        if let Some(what) = &own {
            self.site += 1;
            matters |= self.site_locks(what);
        }
        if self.defines_needed(statement) || self.needs.reads.contains(&site) && own.is_some() {
            matters = true;
            self.keep(statement, site, own.is_some());
        }
        let blocks = walk::blocks(statement);
        if blocks.is_empty() {
            return matters || matches!(statement.kind, StatementKind::Return(_)) && known_control;
        }
        let known = self.needs.binding.controls_statically(statement);
        let defines = blocks.iter().any(|block| self.block_defines_needed(block));
        let mut inner = false;
        for block in blocks {
            inner |= self.block(block, known_control && known);
        }
        let is_dynamic = walk::is_dynamic(statement);
        if inner && (known || defines) || self.defines_needed(statement) || is_dynamic {
            self.condition(statement, site);
        }
        matters | inner | is_dynamic
    }

    /// Needs of a site's own locks.
    fn site_locks(&mut self, what: &Site<'_>) -> bool {
        let locks = locks::site_locks(self.catalog, self.granules, what);
        for part in locks.given.iter().flat_map(|lock| &lock.parts) {
            self.need_expr(part);
        }
        if let (Some(_), Site::Access(access)) = (&locks.rows, what) {
            walk::path_exprs(&access.path).into_iter().for_each(|e| self.need_expr(e));
        }
        if let Site::Access(access) = what {
            walk::list_exprs(&access.path).for_each(|expr| self.need_expr(expr));
        }
        for expr in whole_key(self.catalog, what) {
            if self.needs.binding.is_static(expr) {
                self.need_expr(expr);
            }
        }
        true
    }

    /// Whether a statement decides something that is needed: the value of a slot, or what runs
    /// behind it.
    fn defines_needed(&self, statement: &Statement) -> bool {
        let mut needed = match statement.kind {
            StatementKind::Leave(label) => self.needs.leaves(label),
            StatementKind::Recur(ref of) => self.needs.leaves(of.label),
            StatementKind::Return(_) | StatementKind::Raise(_) => self.needs.end(statement),
            _ => false,
        };
        walk::defines(statement, &mut |slot| needed |= self.needs.slot(slot));
        needed
    }

    fn block_defines_needed(&self, block: &[Statement]) -> bool {
        let mut needed = false;
        walk::statements(block, &mut |statement| {
            needed |= match statement.kind {
                StatementKind::Leave(_) => false, // what is left may lie in the block
                _ => self.defines_needed(statement),
            }
        });
        walk::left_labels(block, &mut |label| needed |= self.needs.leaves(label));
        needed
    }

    /// Keeps the statement itself: what it uses is needed too.
    fn keep(&mut self, statement: &Statement, site: u16, is_site: bool) {
        match &statement.kind {
            StatementKind::Assign { slot, .. } if self.needs.found_of.contains_key(slot) => {
                let of = self.needs.found_of[slot];
                self.changed |= self.needs.reads.insert(of);
            }
            StatementKind::Access(_) if is_site => {
                self.changed |= self.needs.reads.insert(site);
                self.need_uses(statement);
            }
            StatementKind::ForQuery { .. } | StatementKind::ForOperators(_) => {
                self.condition(statement, site);
            }
            StatementKind::Return(_) | StatementKind::Raise(_) => {} // no value of theirs is kept
            _ => self.need_uses(statement),
        }
    }

    /// Keeps a statement's condition or bounds.
    fn condition(&mut self, statement: &Statement, site: u16) {
        self.changed |= self.needs.conditions.insert(std::ptr::from_ref(statement));
        match &statement.kind {
            StatementKind::ForQuery { .. } => self.changed |= self.needs.reads.insert(site),
            StatementKind::ForOperators(of) => {
                let mut site = site;
                for read in &of.reads {
                    match &read.gives {
                        Gives::Rows { .. } => self.changed |= self.needs.reads.insert(site),
                        gives => gives.slots().iter().for_each(|&slot| self.need(slot)),
                    }
                    site += walk::sites(&read.body).len() as u16;
                }
            }
            StatementKind::Block { label, .. } => {
                self.changed |= self.needs.leaves.insert(*label);
            }
            StatementKind::Loop { body } => self.loop_ends(statement, body),
            _ => {}
        }
        self.need_uses(statement);
    }

    /// Keeps all that may end a loop without a bound, but errors where parameters end it too.
    fn loop_ends(&mut self, whole: &Statement, body: &[Statement]) {
        walk::left_labels(body, &mut |label| self.changed |= self.needs.leaves.insert(label));
        let has_known_end = self.needs.binding.has_known_end(body);
        walk::statements(body, &mut |statement| {
            let is_end = match statement.kind {
                StatementKind::Return(_) => true,
                StatementKind::Raise(_) => !has_known_end,
                _ => false,
            };
            if is_end {
                let ended = self.needs.ends.entry(std::ptr::from_ref(statement)).or_default();
                self.changed |= ended.insert(std::ptr::from_ref(whole));
            }
        });
    }

    fn need_uses(&mut self, statement: &Statement) {
        let mut used = Vec::new();
        walk::uses(statement, &mut |slot| used.push(slot));
        used.into_iter().for_each(|slot| self.need(slot));
    }

    fn need_expr(&mut self, expr: &Expr) {
        let mut used = Vec::new();
        walk::expr_slots(expr, &mut |slot| used.push(slot));
        used.into_iter().for_each(|slot| self.need(slot));
    }

    fn need(&mut self, slot: SlotId) {
        self.changed |= !std::mem::replace(&mut self.needs.slots[slot.index()], true);
    }
}

/// The expressions of a site's whole key.
fn whole_key<'s>(catalog: &Catalog, what: &Site<'s>) -> Vec<&'s Expr> {
    match what {
        Site::Access(access) => match access.path.each() {
            crate::program::Path::Point { key, .. } => key.iter().collect(),
            _ => Vec::new(),
        },
        Site::Insert(insert) => match catalog.table(insert.table).primary {
            Some(index) => {
                let columns = &catalog.index(index).columns;
                columns.iter().map(|c| &insert.values[c.index()]).collect()
            }
            None => Vec::new(),
        },
    }
}

/// Gives every use of FOUND that follows an access in the same block a slot of its own, assigned
/// right behind that access. A plain insert always finds: there, FOUND is simply true.
struct FoundCopies<'a> {
    slots: &'a mut Vec<Slot>,
    of: HashMap<SlotId, u16>,
    site: u16,
}

/// The access that defines FOUND at some point of a block.
#[derive(Clone, Copy)]
enum LastFound {
    Unknown,
    Always,
    Access { at: usize, site: u16, copy: Option<SlotId> },
}

impl FoundCopies<'_> {
    fn block(&mut self, block: &mut Vec<Statement>) {
        let mut last = LastFound::Unknown;
        let mut at = 0;
        while at < block.len() {
            let site = self.site;
            self.site += walk::own_site(&block[at]).is_some() as u16;
            at += self.tie(block, at, &mut last);
            let before = self.site;
            for nested in walk::blocks_mut(&mut block[at]) {
                self.block(nested);
            }
            last = match &block[at].kind {
                StatementKind::Access(_) => LastFound::Access { at, site, copy: None },
                StatementKind::Insert(insert) if !insert.ignore_conflict => LastFound::Always,
                StatementKind::Insert(_)
                | StatementKind::ForRange { .. }
                | StatementKind::ForEach { .. }
                | StatementKind::ForQuery { .. }
                | StatementKind::ForOperators(_) => LastFound::Unknown,
                _ if self.site != before || sets_found(&block[at]) => LastFound::Unknown,
                _ => last,
            };
            at += 1;
        }
    }

    /// Replaces FOUND in the statement at `at`; returns how many statements went in before it.
    fn tie(&mut self, block: &mut Vec<Statement>, at: usize, last: &mut LastFound) -> usize {
        let Some(expr) = found_expr(&mut block[at]) else { return 0 };
        match *last {
            LastFound::Unknown => 0,
            LastFound::Always => {
                let known = boolean(ExprKind::Constant(Value::Bool(true)));
                walk::substitute(expr, &[(FOUND, &known)]);
                0
            }
            LastFound::Access { copy: Some(slot), .. } => {
                walk::substitute(expr, &[(FOUND, &boolean(ExprKind::Slot(slot)))]);
                0
            }
            LastFound::Access { at: access, site, copy: None } => {
                let slot = self.copy_of(site);
                walk::substitute(expr, &[(FOUND, &boolean(ExprKind::Slot(slot)))]);
                *last = LastFound::Access { at: access, site, copy: Some(slot) };
                let kind = StatementKind::Assign { slot, value: boolean(ExprKind::Slot(FOUND)) };
                block.insert(access + 1, Statement { kind, place: block[access].place });
                1
            }
        }
    }

    fn copy_of(&mut self, site: u16) -> SlotId {
        let slot = SlotId(self.slots.len() as u16);
        let sql_type = SqlType::Scalar(DataType::Boolean);
        self.slots.push(Slot { name: format!("$found{site}"), sql_type });
        self.of.insert(slot, site);
        slot
    }
}

/// Whether anything in a statement sets FOUND: loops do when they end, and EXIT from one does.
fn sets_found(statement: &Statement) -> bool {
    let mut found = false;
    walk::statements(std::slice::from_ref(statement), &mut |inner| {
        walk::defines(inner, &mut |slot| found |= slot == FOUND);
    });
    found
}

fn boolean(kind: ExprKind) -> Expr {
    Expr { kind, sql_type: SqlType::Scalar(DataType::Boolean) }
}

/// Conditions of IF and values of assignments are where programs use FOUND.
fn found_expr(statement: &mut Statement) -> Option<&mut Expr> {
    match &mut statement.kind {
        StatementKind::If { condition: expr, .. } | StatementKind::Assign { value: expr, .. } => {
            walk::reads_any(expr, |slot| slot == FOUND).then_some(expr)
        }
        _ => None,
    }
}
