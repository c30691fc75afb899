//! The key slice: the part of a procedure that decides which granules a call touches.
//!
//! Role         made once per procedure and set of granules; running it (with the ordinary
//!              interpreter) plans a call. It is the procedure with everything left out that no
//!              key, bound or deciding condition depends on, and with a *mark* where each access
//!              site stood; the mark tells the planner which slots hold the granule's key.
//! Invariants   I1 whatever path the procedure takes at run time, every site it reaches on
//!              predicted values has had its mark run with the same granule: branches on unknown
//!              conditions contribute both arms, unknown loops their body, unknown blocks all that
//!              is in them
//!              I2 a slice only reads; reads in it are reconnaissance. A row that is removed by its
//!              key in a loop is left out by what it reads later, so that a loop which takes one
//!              row after the other comes to its end on trial, too
//!              I3 marks with keys stand in the order in which execution reaches their sites
//!              I4 the mark of a site with trial reads stands right before them
//!              I5 a loop without a bound is in the slice with all that may end it, and what they
//!                 depend on; or its body is, once
//!              I6 I1 holds of what follows an error that is caught, too, but where the slice
//!                 [guesses](Slice::guesses_errors) that none comes
//! Source       partial evaluation, off-line: binding times first, then a residual program.
//!              Reconnaissance: orthrus.txt 3.2 (OLLP). We differ from OLLP in what is checked at
//!              execution: not the values read, but whether each access stays inside the
//!              footprint, so that a stale guess with the same granules still commits.

mod hoist;
mod needs;
mod protected;
mod recon;
mod trial;

use hotrow_base::ids::{IndexId, TableId};
use hotrow_base::types::{DataType, SqlType};
use needs::Needs;

use crate::binding::Binding;
use crate::catalog::Catalog;
use crate::granule::{Granules, LockMode, Space};
use crate::locks;
use crate::program::{
    Elements, Expr, ExprKind, Insert, KeySlot, LabelId, OperatorLoop, Path, Place, Procedure,
    RowLocks, Slot, SlotId, Statement, StatementKind,
};
use crate::protected::LocalSlots;
use crate::walk::{self, Site};

/// Set in the numbers of marks that were in the procedure before it was cut.
pub const OWN_MARK: u32 = 1 << 31;

/// What the planner does when a mark is reached.
#[derive(Clone, Debug)]
pub struct SiteMark {
    /// the access site, numbered in the whole procedure
    pub site: u16,
    /// the site's whole key, when parameters alone decide it and the site runs exactly once per
    /// mark: kept in the plan and not computed again
    pub key: Option<KeyMark>,
    /// the granules to hold
    pub locks: Vec<LockMark>,
    /// trial reads of the site follow
    pub is_read: bool,
}

/// A key to encode.
#[derive(Clone, Debug)]
pub struct KeyMark {
    /// the table
    pub table: TableId,
    /// the index
    pub index: IndexId,
    /// one slot per key column
    pub parts: Vec<SlotId>,
}

/// A granule to hold.
#[derive(Clone, Debug)]
pub struct LockMark {
    /// its lock space
    pub space: Space,
    /// the slots of its key parts
    pub parts: Vec<SlotId>,
    /// its mode
    pub mode: LockMode,
    /// the granule is this site's [`SiteMark::key`] as a whole
    pub is_key: bool,
}

/// How the granules of a site become known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// parameters alone decide them
    Parameters,
    /// an unlocked trial read decides them; the text says why
    Reconnaissance(String),
    /// an unlocked trial read decides them, of columns that nobody changes; the text says why
    Unchanging(String),
    /// nothing to know: the table is never written
    Unlocked,
    /// nothing to know: the columns that are read are never written
    UnlockedColumns,
    /// the table as a whole
    WholeTable,
}

/// What planning does with a loop that has no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKnowledge {
    /// nothing, or its body once: how often it runs decides nothing that planning asks for
    Once,
    /// it is run ahead: parameters alone end it
    Ahead,
    /// it is run on trial: rows end it
    Trial,
}

/// What planning does with a block whose errors are caught.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtectedKnowledge {
    /// holds what the block and its handlers touch: whether an error comes decides nothing else
    Held,
    /// goes on as if no error came, though what comes next may depend on it
    Guessed,
}

/// A procedure's slice.
#[derive(Clone, Debug)]
pub struct Slice {
    /// the residual procedure, with marks
    pub procedure: Procedure,
    /// marks, by number
    pub marks: Vec<SiteMark>,
    /// per site of the whole procedure: how its granules become known
    pub knowledge: Vec<Knowledge>,
    /// per site of the whole procedure: its key is taken from the plan
    pub planned: Vec<bool>,
    /// per loop without a bound of the whole procedure, in preorder
    pub loops: Vec<LoopKnowledge>,
    /// per block whose errors are caught, in preorder
    pub protected: Vec<ProtectedKnowledge>,
    /// whether the slice reads records
    pub needs_reconnaissance: bool,
}

impl Slice {
    /// Cuts a procedure.
    pub fn of(catalog: &Catalog, granules: &Granules, procedure: &Procedure) -> Self {
        let mut slice = Self::with_marks(catalog, granules, procedure, &[]);
        hoist::hoist_marks(&mut slice.procedure.body, &slice.marks);
        slice
    }

    /// Cuts a procedure that has marks of its own, which the slice keeps, each with [`OWN_MARK`]
    /// set in its number, and all marks where their sites stood. `marks`: for each, the slots whose
    /// values must be right there.
    pub fn with_marks(
        catalog: &Catalog,
        granules: &Granules,
        procedure: &Procedure,
        marks: &[Vec<SlotId>],
    ) -> Self {
        let needs = Needs::of(catalog, granules, procedure, marks);
        let sites = walk::sites(&needs.procedure.body).len();
        let mut cutter = Cutter {
            catalog,
            granules,
            needs: &needs,
            fixed: Binding::with_rows(&needs.procedure, |access| {
                granules.reads_unchanged(catalog, access)
            }),
            slots: needs.procedure.slots.clone(),
            row_sets: needs.procedure.row_sets,
            marks: Vec::new(),
            knowledge: vec![Knowledge::Parameters; sites],
            planned: vec![false; sites],
            loops: Vec::new(),
            protected: Vec::new(),
            locals: LocalSlots::of(&needs.procedure),
            reads: false,
            on_trial: 0,
            next_site: 0,
            labels: walk::labels(&needs.procedure.body),
            ended: Vec::new(),
        };
        let body = cutter.block(&needs.procedure.body, Control { known: true, once: true });
        let Cutter { slots, row_sets, marks, knowledge, planned, .. } = cutter;
        let (loops, protected, reads) = (cutter.loops, cutter.protected, cutter.reads);
        let procedure = Procedure {
            name: procedure.name.clone(),
            parameters: procedure.parameters,
            defaults: Vec::new(),
            draws: procedure.draws.clone(),
            slots,
            body,
            result: Vec::new(),
            returns_set: false,
            row_sets,
            row_locks: RowLocks::default(),
            inlined: Vec::new(),
            ends_transaction: false,
            is_variadic: false,
            outs: Vec::new(),
            lacks: None,
            interpreted: None,
            source: None,
            trigger: None,
            later: None,
            needs: Default::default(),
        };
        let needs_reconnaissance = reads;
        Self { procedure, marks, knowledge, planned, loops, protected, needs_reconnaissance }
    }

    /// Whether a plan may lack what a call touches, however right its trial reads are.
    pub fn may_miss(&self) -> bool {
        self.guesses_errors() || walk::has_dynamic(&self.procedure.body)
    }

    /// Whether errors that are caught may lead a call where no plan of it leads.
    pub fn guesses_errors(&self) -> bool {
        self.protected.contains(&ProtectedKnowledge::Guessed)
    }
}

/// Under what control a statement stands.
#[derive(Clone, Copy)]
struct Control {
    /// parameters alone decide whether and how often it runs
    known: bool,
    /// the slice runs it exactly as often as the procedure does
    once: bool,
}

impl Control {
    fn under(self, known: bool) -> Self {
        Self { known: self.known && known, once: self.once && known }
    }
}

struct Cutter<'a> {
    catalog: &'a Catalog,
    granules: &'a Granules,
    needs: &'a Needs,
    /// what neither parameters nor columns that nobody changes decide is not static in it
    fixed: Binding,
    slots: Vec<Slot>,
    row_sets: u16,
    marks: Vec<SiteMark>,
    knowledge: Vec<Knowledge>,
    planned: Vec<bool>,
    loops: Vec<LoopKnowledge>,
    protected: Vec<ProtectedKnowledge>,
    locals: LocalSlots,
    reads: bool,
    /// loops without a bound around here whose turns are tried
    on_trial: u32,
    next_site: u16,
    /// the next label that no block has
    labels: u16,
    /// loops without a bound in which rows decide that the procedure ends, the innermost last, and
    /// what the slice leaves there
    ended: Vec<(&'a Statement, LabelId)>,
}

impl<'a> Cutter<'a> {
    fn block(&mut self, block: &'a [Statement], control: Control) -> Vec<Statement> {
        let mut out = Vec::new();
        for statement in block {
            self.statement(statement, control, &mut out);
        }
        out
    }

    fn statement(&mut self, statement: &'a Statement, control: Control, out: &mut Vec<Statement>) {
        let place = statement.place;
        let keep = |kind| Statement { kind, place };
        match &statement.kind {
            StatementKind::Assign { slot, value } => {
                let found = self.needs.found_of(*slot).is_some();
                if self.needs.slot(*slot) && (!found || self.reads_kept_before(*slot)) {
                    out.push(keep(StatementKind::Assign { slot: *slot, value: value.clone() }));
                }
            }
            StatementKind::Access(access) => {
                let site = self.take_site();
                self.mark_site(site, &Site::Access(access), control, place, out);
                if self.needs.reads(site) {
                    self.reads = true;
                    out.push(keep(StatementKind::Access(Box::new(recon::read_of(access)))));
                }
                if let Some(removal) = recon::removal_of(access).filter(|_| self.on_trial > 0) {
                    self.aside(keep(StatementKind::Access(Box::new(removal))), out);
                }
            }
            StatementKind::Insert(insert) => {
                let site = self.take_site();
                self.mark_site(site, &Site::Insert(insert), control, place, out);
                self.inserted(insert, place, out);
            }
            StatementKind::If { condition, then, otherwise } => {
                let known = self.needs.binding.is_static(condition);
                let inner = control.under(known);
                let then = self.block(then, inner);
                let otherwise = self.block(otherwise, inner);
                if self.needs.condition(statement) {
                    if !then.is_empty() || !otherwise.is_empty() {
                        let condition = condition.clone();
                        out.push(keep(StatementKind::If { condition, then, otherwise }));
                    }
                } else {
                    out.extend(then);
                    out.extend(otherwise);
                }
            }
            StatementKind::ForRange { body, .. }
            | StatementKind::ForEach { body, .. }
            | StatementKind::ForQuery { body, .. } => {
                self.loop_statement(statement, body, control, out);
            }
            StatementKind::ForOperators(of) => self.operators(statement, of, control, out),
            StatementKind::Loop { body } => self.unbounded(statement, body, control, out),
            StatementKind::Block { label, body } => {
                let known = self.needs.binding.controls_statically(statement);
                let mut body = self.block(body, control.under(known));
                match self.needs.condition(statement) {
                    true => out.push(keep(StatementKind::Block { label: *label, body })),
                    false => out.append(&mut body),
                }
            }
            StatementKind::Protected(of) => self.protected(statement, of, control, out),
            StatementKind::Leave(label) if self.needs.leaves(*label) => {
                out.push(statement.clone());
            }
            StatementKind::Recur(of) if self.needs.leaves(of.label) => out.push(statement.clone()),
            StatementKind::Return(_) if control.known => {
                out.push(keep(StatementKind::Return(Vec::new())));
            }
            StatementKind::Return(_) | StatementKind::Raise(_) if self.needs.end(statement) => {
                let ended = self.ended.iter().find(|(of, _)| self.needs.ends(statement, of));
                out.extend(ended.map(|(_, label)| keep(StatementKind::Leave(*label))));
            }
            StatementKind::Mark(id) => out.push(keep(StatementKind::Mark(id | OWN_MARK))),
            StatementKind::Leave(_)
            | StatementKind::Recur(_)
            | StatementKind::Return(_)
            | StatementKind::ReturnNext(_)
            | StatementKind::Raise(_)
            | StatementKind::Notice(..) => {}
        }
    }

    /// A FOUND copy is only meaningful in the slice when its access was kept as a read.
    fn reads_kept_before(&self, slot: SlotId) -> bool {
        self.needs.found_of(slot).is_some_and(|site| self.needs.reads(site))
    }

    fn loop_statement(
        &mut self,
        statement: &'a Statement,
        body: &'a [Statement],
        control: Control,
        out: &mut Vec<Statement>,
    ) {
        let known = self.needs.binding.controls_statically(statement);
        let site = match &statement.kind {
            StatementKind::ForQuery { query, .. } => {
                let site = self.take_site();
                self.mark_site(site, &Site::Access(query), control, statement.place, out);
                Some(site)
            }
            _ => None,
        };
        let mut body = self.block(body, control.under(known));
        if body.is_empty() && !self.needs.condition(statement) {
            return;
        }
        if !self.needs.condition(statement) {
            out.append(&mut body);
            return;
        }
        self.reads |= site.is_some();
        let kind = match statement.kind.clone() {
            StatementKind::ForRange { slot, from, to, step, reverse, .. } => {
                StatementKind::ForRange { slot, from, to, step, reverse, body }
            }
            StatementKind::ForEach { slot, elements, .. } => {
                StatementKind::ForEach { slot, elements, body }
            }
            StatementKind::ForQuery { rows, query, into, .. } => {
                let query = Box::new(recon::read_of(&query));
                StatementKind::ForQuery { rows, query, into, body }
            }
            other => other,
        };
        out.push(Statement { kind, place: statement.place });
    }

    /// A loop over rows that operators compute: kept with its reads, or all marks without it.
    fn operators(
        &mut self,
        statement: &'a Statement,
        of: &'a OperatorLoop,
        control: Control,
        out: &mut Vec<Statement>,
    ) {
        let inner = control.under(false);
        let mut kept = of.clone();
        for (read, of) in kept.reads.iter_mut().zip(&of.reads) {
            read.body = self.block(&of.body, inner);
        }
        kept.body = self.block(&of.body, inner);
        if self.needs.condition(statement) {
            self.reads = true;
            let kind = StatementKind::ForOperators(Box::new(kept));
            out.push(Statement { kind, place: statement.place });
            return;
        }
        kept.reads.into_iter().for_each(|read| out.extend(read.body));
        out.append(&mut kept.body);
    }

    /// A loop without a bound: kept with what ends it, or its body without it. Where rows decide
    /// that the procedure ends in it, the slice goes on behind it, and so comes to all marks that
    /// belong to a statement around it.
    fn unbounded(
        &mut self,
        statement: &'a Statement,
        body: &'a [Statement],
        control: Control,
        out: &mut Vec<Statement>,
    ) {
        let known = self.needs.binding.controls_statically(statement);
        let is_ended = self.is_ended(statement, body, control.known && known);
        let mut inner = control.under(known);
        inner.once &= !is_ended;
        self.loops.push(match (self.needs.condition(statement), inner.known && !is_ended) {
            (false, _) => LoopKnowledge::Once,
            (true, true) => LoopKnowledge::Ahead,
            (true, false) => LoopKnowledge::Trial,
        });
        if !self.needs.condition(statement) {
            out.append(&mut self.block(body, inner));
            return;
        }
        let (label, place) = (LabelId(self.labels), statement.place);
        if is_ended {
            self.labels = self.labels.saturating_add(1);
            self.ended.push((statement, label));
        }
        self.on_trial += 1;
        let body = self.block(body, inner);
        self.on_trial -= 1;
        let mut kind = StatementKind::Loop { body };
        if is_ended {
            self.ended.pop();
            kind = StatementKind::Block { label, body: vec![Statement { kind, place }] };
        }
        out.push(Statement { kind, place });
    }

    /// Whether rows decide that the procedure ends in a block of this loop, which the slice must
    /// end then.
    fn is_ended(&self, whole: &Statement, block: &[Statement], known: bool) -> bool {
        block.iter().any(|statement| {
            let is_known = known && matches!(statement.kind, StatementKind::Return(_));
            let inner = known && self.needs.binding.controls_statically(statement);
            self.needs.ends(statement, whole) && !is_known
                || walk::blocks(statement).iter().any(|block| self.is_ended(whole, block, inner))
        })
    }

    fn take_site(&mut self) -> u16 {
        self.next_site += 1;
        self.next_site - 1
    }

    /// Puts the mark of a site (and what computes its keys) into the slice. Where the site goes
    /// through lists of keys, there is one for each combination of them, in the site's own order.
    fn mark_site(
        &mut self,
        site: u16,
        what: &Site<'_>,
        control: Control,
        place: Place,
        out: &mut Vec<Statement>,
    ) {
        let lists = match what {
            Site::Access(access) => access.path.lists(),
            Site::Insert(_) => &[],
        };
        if lists.is_empty() {
            return self.mark_each(site, what, control, place, out);
        }
        let mut body = Vec::new();
        self.mark_each(site, what, control, place, &mut body);
        if body.is_empty() {
            return;
        }
        for KeySlot { slot, keys } in lists.iter().rev() {
            let (slot, elements) = (*slot, Elements::Keys(keys.clone()));
            let kind = StatementKind::ForEach { slot, elements, body };
            body = vec![Statement { kind, place }];
        }
        body.into_iter().for_each(|each| self.aside(each, out));
    }

    /// The mark of a site for one combination of its lists' values.
    fn mark_each(
        &mut self,
        site: u16,
        what: &Site<'_>,
        control: Control,
        place: Place,
        out: &mut Vec<Statement>,
    ) {
        let locks = locks::site_locks(self.catalog, self.granules, what);
        let key = self.planned_key(what, control, place, out);
        self.planned[site as usize] = key.is_some();
        self.knowledge[site as usize] = self.knowledge_of(what, &locks);
        let whole = self.whole_key(what);
        let mut held = Vec::new();
        for lock in &locks.given {
            let is_key = whole.as_ref().is_some_and(|(_, index, exprs)| {
                // The very expressions: an update may move an entry to another key of this index.
                let mut pairs = lock.parts.iter().zip(exprs);
                key.is_some()
                    && lock.space == Space::Index(*index)
                    && lock.parts.len() == exprs.len()
                    && pairs.all(|(part, expr)| std::ptr::eq(*part, *expr))
            });
            let parts = match &key {
                Some(key) if is_key => key.parts.clone(),
                _ => self.key_slots(lock.space, &lock.parts, place, out),
            };
            held.push(LockMark { space: lock.space, parts, mode: lock.mode, is_key });
        }
        if key.is_some() || !held.is_empty() {
            let is_read = locks.rows.is_some() || self.is_read(site, what);
            let mark = self.push_mark(SiteMark { site, key, locks: held, is_read });
            out.push(Statement { kind: mark, place });
        }
        if let (Some((primary, mode)), Site::Access(access)) = (locks.rows, what) {
            self.mark_rows(site, access, (primary, mode), place, out);
        }
    }

    /// Whether the slice has trial reads for a site, but for those of its rows' own keys.
    fn is_read(&self, site: u16, what: &Site<'_>) -> bool {
        let ignores_conflicts = matches!(what, Site::Insert(insert) if insert.ignore_conflict);
        self.needs.reads(site) || ignores_conflicts
    }

    fn push_mark(&mut self, mark: SiteMark) -> StatementKind {
        self.marks.push(mark);
        StatementKind::Mark(self.marks.len() as u32 - 1)
    }

    fn knowledge_of(&self, what: &Site<'_>, locks: &locks::SiteLocks<'_>) -> Knowledge {
        if locks.given.is_empty() && locks.rows.is_none() {
            return match what {
                Site::Access(_) if self.granules.table(what.table()).is_written() => {
                    Knowledge::UnlockedColumns
                }
                _ => Knowledge::Unlocked,
            };
        }
        if let Site::Access(access) = what
            && crate::granule::is_coarse(access)
        {
            return Knowledge::WholeTable;
        }
        let mut used = Vec::new();
        let parts = locks.given.iter().flat_map(|lock| &lock.parts);
        parts.for_each(|part| walk::expr_slots(part, &mut |slot| used.push(slot)));
        if let (Some(_), Site::Access(access)) = (locks.rows, what) {
            let path = walk::path_exprs(&access.path).into_iter();
            path.for_each(|part| walk::expr_slots(part, &mut |slot| used.push(slot)));
        }
        let first_unknown = |binding: &Binding| used.iter().find(|slot| !binding.slot(**slot));
        let name = |slot: &SlotId| self.slots[slot.index()].shown_name();
        match (locks.rows, first_unknown(&self.fixed), first_unknown(&self.needs.binding)) {
            (Some((primary, _)), changing, _) => {
                let name = &self.catalog.index(primary).name;
                let why = format!("the rows found tell their own keys in {name}");
                match changing.is_none() && self.finds_the_same(what) {
                    true => Knowledge::Unchanging(why),
                    false => Knowledge::Reconnaissance(why),
                }
            }
            (None, Some(slot), _) => {
                Knowledge::Reconnaissance(format!("{} is read from a row", name(slot)))
            }
            (None, None, Some(slot)) => {
                Knowledge::Unchanging(format!("{} is read from a row", name(slot)))
            }
            (None, None, None) => Knowledge::Parameters,
        }
    }

    /// Whether an access goes through an index that leads to the same rows whenever it is asked.
    fn finds_the_same(&self, what: &Site<'_>) -> bool {
        let Site::Access(access) = what else { return false };
        let index = crate::granule::path_index(access);
        index.is_some_and(|index| !self.granules.needs_granules(self.catalog, index))
    }

    /// The slots of a site's whole key, if the plan can keep it.
    fn planned_key(
        &mut self,
        what: &Site<'_>,
        control: Control,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Option<KeyMark> {
        if !control.once {
            return None;
        }
        let (table, index, exprs) = self.whole_key(what)?;
        if !exprs.iter().all(|e| self.needs.binding.is_static(e)) {
            return None;
        }
        let parts = self.key_slots(Space::Index(index), &exprs, place, out);
        Some(KeyMark { table, index, parts })
    }

    fn whole_key<'s>(&self, what: &Site<'s>) -> Option<(TableId, IndexId, Vec<&'s Expr>)> {
        match what {
            Site::Access(access) => match access.path.each() {
                Path::Point { index, key } => Some((access.table, *index, key.iter().collect())),
                _ => None,
            },
            Site::Insert(Insert { table, values, .. }) => {
                let index = self.catalog.table(*table).primary?;
                let columns = &self.catalog.index(index).columns;
                Some((*table, index, columns.iter().map(|c| &values[c.index()]).collect()))
            }
        }
    }

    /// Slots that hold key parts at this point of the slice, in their columns' types.
    fn key_slots(
        &mut self,
        space: Space,
        parts: &[&Expr],
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Vec<SlotId> {
        let Space::Index(index) = space else { return Vec::new() };
        let columns = self.catalog.index(index).key.parts();
        let parts = parts.iter().zip(columns);
        parts.map(|(part, column)| self.slot_of(part, column.data_type, place, out)).collect()
    }

    fn slot_of(
        &mut self,
        expr: &Expr,
        data_type: DataType,
        place: Place,
        out: &mut Vec<Statement>,
    ) -> SlotId {
        let is_same = expr.data_type().has_datums_of(data_type);
        if let ExprKind::Slot(slot) = expr.kind
            && is_same
        {
            return slot;
        }
        let mut value = expr.clone();
        if !is_same {
            let sql_type = SqlType::Scalar(data_type);
            value = Expr { kind: ExprKind::Cast(Box::new(value)), sql_type };
        }
        let slot = self.new_slot(&value);
        out.push(Statement { kind: StatementKind::Assign { slot, value }, place });
        slot
    }

    fn new_slot(&mut self, expr: &Expr) -> SlotId {
        let name = format!("$key{}", self.slots.len());
        self.slots.push(Slot { name, sql_type: expr.sql_type });
        SlotId(self.slots.len() as u16 - 1)
    }
}
