//! Cutting: from a procedure to leaves, and to the marked procedure that records them.
//!
//! Role         once per procedure. The marked procedure is the procedure with a mark at each
//!              leaf; its slice ([`crate::slice`]) is the *driver*: run at plan time, it executes
//!              what parameters decide (so loops over parameters are unrolled), and its marks say
//!              which leaf comes next.
//! Invariants   I1 every access site of the marked procedure lies in exactly one leaf, and leaves
//!                 stand in site order
//!              I2 a leaf with sites is marked behind its statement, so that the lock marks of
//!                 its sites come right before; one without is marked in front
//!              I3 a slot that parameters decide is never an output: planning knows its value

use hotrow_base::types::{DataType, SqlType};

use crate::binding::Binding;
use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::program::{
    Access, Expr, ExprKind, FIRST_PARAMETER, FOUND, NOW, Procedure, Slot, SlotId, Statement,
    StatementKind,
};
use crate::walk;

use super::flow::{Flow, ends};
use super::leaf::{self, Guard, Input, Leaf};
use super::returns;
use super::split::Splitter;

/// What the driver's own marks mean.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// this leaf is reached
    Leaf(u16),
    /// `slot` has the value that `from` has in the driver
    Let {
        /// a slot of leaves
        slot: SlotId,
        /// a slot of the driver
        from: SlotId,
    },
    /// nothing: keeps a loop in the driver
    Nothing,
}

/// The marks at the beginnings of both arms of a condition: when the driver has both in one
/// block, it goes through both arms and nothing is expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arms {
    pub(super) then: u32,
    pub(super) otherwise: u32,
}

/// A procedure in pieces.
#[derive(Debug)]
pub(super) struct Cut {
    /// the marked procedure
    pub(super) marked: Procedure,
    /// meanings of its marks
    pub(super) steps: Vec<Step>,
    /// the slots each mark looks at
    pub(super) marks: Vec<Vec<SlotId>>,
    /// conditions whose outcome may be predicted
    pub(super) arms: Vec<Arms>,
    /// the leaves
    pub(super) leaves: Vec<Leaf>,
    /// the leaves' statements
    pub(super) parts: Vec<Vec<Statement>>,
    /// the procedure's access sites that are two in the marked one
    pub(super) apart: Vec<u16>,
}

/// Cuts a procedure.
///
/// Errors: why it must run as a whole.
pub(super) fn cut(
    catalog: &Catalog,
    granules: &Granules,
    procedure: &Procedure,
) -> Result<Cut, String> {
    if walk::has_protected(&procedure.body) {
        // What it has changed is taken back together.
        return Err("it has an EXCEPTION block".to_owned());
    }
    if walk::has_recursion(&procedure.body) {
        return Err("it calls itself".to_owned());
    }
    if walk::has_dynamic(&procedure.body) {
        return Err("it has a statement whose text is known only when it runs".to_owned());
    }
    let normal = returns::to_ends(procedure.clone())?;
    if !normal.result.is_empty() && !normal.returns_set && !ends(&normal.body) {
        return Err("it may end without RETURN".to_owned());
    }
    let binding = Binding::of(&normal);
    let mut assigned = vec![false; normal.slots.len()];
    let (mut reads_found, mut keeps_found) = (false, false);
    walk::statements(&normal.body, &mut |statement| {
        walk::defines(statement, &mut |slot| assigned[slot.index()] = true);
        walk::uses(statement, &mut |slot| reads_found |= slot == FOUND);
        // Whose FOUND is what it was, unless something in it sets it.
        reads_found |= matches!(&statement.kind,
            StatementKind::ForOperators(of) if !of.sets_found);
        // What is left before it has set FOUND takes the old one, though nobody may read it.
        keeps_found |=
            matches!(statement.kind, StatementKind::Loop { .. } | StatementKind::Block { .. });
    });
    keeps_found |= reads_found;
    let body = normal.body.clone();
    let cut = Cut {
        marked: normal,
        steps: Vec::new(),
        marks: Vec::new(),
        arms: Vec::new(),
        leaves: Vec::new(),
        parts: Vec::new(),
        apart: Vec::new(),
    };
    let splitter = Splitter::new(catalog, granules, &body);
    let mut cutter = Cutter {
        binding: &binding,
        splitter: &splitter,
        assigned,
        reads_found,
        keeps_found,
        cut,
        site: 0,
        refused: None,
    };
    let marked = cutter.block(&body, &[]);
    if let Some(why) = cutter.refused {
        return Err(why);
    }
    cutter.cut.marked.body = marked;
    Ok(cutter.cut)
}

struct Cutter<'a> {
    binding: &'a Binding,
    splitter: &'a Splitter<'a>,
    /// slots that some statement assigns
    assigned: Vec<bool>,
    reads_found: bool,
    /// or some leaf takes it, to pass it on
    keeps_found: bool,
    cut: Cut,
    site: u16,
    refused: Option<String>,
}

impl<'a> Cutter<'a> {
    fn block(&mut self, block: &'a [Statement], guards: &[Guard]) -> Vec<Statement> {
        let mut out = Vec::with_capacity(block.len() * 2);
        for statement in block {
            self.statement(statement, guards, &mut out);
        }
        out
    }

    fn statement(&mut self, statement: &'a Statement, guards: &[Guard], out: &mut Vec<Statement>) {
        let known = self.binding.controls_statically(statement);
        match &statement.kind {
            StatementKind::Assign { slot, value } => {
                self.assign(statement, *slot, value, guards, out);
            }
            StatementKind::If { condition, then, otherwise } if known => {
                self.check(condition, statement, guards, out);
                let then = self.block(then, guards);
                let otherwise = self.block(otherwise, guards);
                let condition = condition.clone();
                out.push(Statement {
                    kind: StatementKind::If { condition, then, otherwise },
                    place: statement.place,
                });
            }
            StatementKind::If { condition, then, otherwise } if leaf::has_site(statement) => {
                self.branches(statement, condition, [then, otherwise], guards, out);
            }
            StatementKind::ForRange { body, .. } | StatementKind::ForEach { body, .. }
                if known && self.can_unroll(statement, body, guards) =>
            {
                self.unroll(statement, body, guards, out);
            }
            StatementKind::Loop { body } | StatementKind::Block { body, .. }
                if known && guards.is_empty() && can_go_through(statement) =>
            {
                let mut inner = self.block(body, guards);
                let mut marked = statement.clone();
                for nested in walk::blocks_mut(&mut marked) {
                    *nested = std::mem::take(&mut inner);
                }
                out.push(marked);
            }
            StatementKind::Access(access) => self.access(statement, access, guards, out),
            StatementKind::Leave(_) => out.push(statement.clone()),
            StatementKind::Return(values) if values.is_empty() => out.push(statement.clone()),
            StatementKind::Mark(_) => {}
            _ => self.leaf(statement, guards, out),
        }
    }

    /// An access: a leaf, or two.
    fn access(
        &mut self,
        statement: &Statement,
        access: &'a Access,
        guards: &[Guard],
        out: &mut Vec<Statement>,
    ) {
        let Some(split) = self.splitter.split(access, &mut self.cut.marked.slots) else {
            return self.leaf(statement, guards, out);
        };
        let place = statement.place;
        let first = self.cut.leaves.len();
        self.cut.apart.push(self.site - self.cut.apart.len() as u16);
        for access in [split.read, split.rest] {
            let kind = StatementKind::Access(Box::new(access));
            self.leaf(&Statement { kind, place }, guards, out);
        }
        // Whether there is a row, the other one says.
        let read = &mut self.cut.leaves[first];
        let given = read.outputs.iter().copied().filter(|slot| split.given.contains(slot));
        read.outputs = given.collect();
    }

    fn assign(
        &mut self,
        statement: &Statement,
        slot: SlotId,
        value: &Expr,
        guards: &[Guard],
        out: &mut Vec<Statement>,
    ) {
        if self.binding.slot(slot) {
            self.check(value, statement, guards, out);
            out.push(statement.clone());
            return;
        }
        let same_type = self.cut.marked.slots[slot.index()].sql_type == value.sql_type;
        let now = guards.is_empty() && same_type && self.binding.is_static(value);
        if !now || walk::can_fail(value) {
            return self.leaf(statement, guards, out);
        }
        // Known here though not everywhere: computed by the driver.
        out.push(statement.clone());
        let from = self.fresh("$known", value.sql_type);
        let kind = StatementKind::Assign { slot: from, value: value.clone() };
        out.push(Statement { kind, place: statement.place });
        let mark = self.mark(Step::Let { slot, from }, vec![from]);
        out.push(Statement { kind: mark, place: statement.place });
    }

    /// An expression that the driver computes may fail: that is not the driver's to tell, but a
    /// leaf's, in its place among the others.
    fn check(
        &mut self,
        expr: &Expr,
        statement: &Statement,
        guards: &[Guard],
        out: &mut Vec<Statement>,
    ) {
        let target = match &statement.kind {
            StatementKind::Assign { slot, .. } => self.cut.marked.slots[slot.index()].sql_type,
            _ => expr.sql_type,
        };
        if walk::can_fail(expr) || target != expr.sql_type {
            let slot = self.fresh("$check", target);
            let kind = StatementKind::Assign { slot, value: expr.clone() };
            self.leaf(&Statement { kind, place: statement.place }, guards, out);
        }
    }

    /// A condition on rows over accesses: computed by a leaf of its own, guarding the others.
    fn branches(
        &mut self,
        statement: &Statement,
        condition: &Expr,
        [then, otherwise]: [&'a [Statement]; 2],
        guards: &[Guard],
        out: &mut Vec<Statement>,
    ) {
        let place = statement.place;
        let slot = self.fresh("$condition", condition.sql_type);
        let kind = StatementKind::Assign { slot, value: condition.clone() };
        self.leaf(&Statement { kind, place }, guards, out);
        let first = self.cut.steps.len() as u32;
        let expected = [true, false].map(|when| {
            let kind = self.expect(Guard { slot, when }, guards);
            Statement { kind, place }
        });
        self.cut.arms.push(Arms { then: first, otherwise: first + 1 });
        let [mut then_marked, mut otherwise_marked] = expected.map(|mark| vec![mark]);
        let guarded = |when| {
            let mut all = guards.to_vec();
            all.push(Guard { slot, when });
            all
        };
        then_marked.extend(self.block(then, &guarded(true)));
        otherwise_marked.extend(self.block(otherwise, &guarded(false)));
        out.push(Statement {
            kind: StatementKind::If {
                condition: condition.clone(),
                then: then_marked,
                otherwise: otherwise_marked,
            },
            place,
        });
    }

    /// Whether a loop over parameters is run by the driver: when there are accesses in it, or when
    /// it decides slots that planning knows.
    fn can_unroll(&self, statement: &Statement, body: &[Statement], guards: &[Guard]) -> bool {
        let variable = loop_variable(statement);
        let leaves = leaf::any(statement, |inner| walk::own_site(inner).is_some());
        let stops = leaf::any(statement, |inner| matches!(inner.kind, StatementKind::Return(_)));
        if guards.is_empty() {
            let mut decides = false;
            walk::statements(body, &mut |inner| {
                walk::defines(inner, &mut |slot| {
                    decides |= self.binding.slot(slot) && slot != FOUND;
                });
            });
            return leaves || stops || decides;
        }
        // Under a guard the loop's end and variable would have to be guarded too.
        let used_inside = uses_of(body, variable);
        let used = uses_of(&self.cut.marked.body, variable);
        leaves && !self.reads_found && used == used_inside
    }

    fn unroll(
        &mut self,
        statement: &Statement,
        body: &'a [Statement],
        guards: &[Guard],
        out: &mut Vec<Statement>,
    ) {
        let place = statement.place;
        self.check_bounds(statement, guards, out);
        let variable = loop_variable(statement);
        let mut inner = Vec::new();
        if !self.binding.slot(variable) {
            let mark = self.mark(Step::Let { slot: variable, from: variable }, vec![variable]);
            inner.push(Statement { kind: mark, place });
        }
        inner.extend(self.block(body, guards));
        let tells_found = self.reads_found && !self.binding.slot(FOUND);
        if tells_found {
            let mark = self.mark(Step::Nothing, Vec::new());
            inner.push(Statement { kind: mark, place });
        }
        let mut marked = statement.clone();
        for nested in walk::blocks_mut(&mut marked) {
            *nested = std::mem::take(&mut inner);
        }
        out.push(marked);
        if tells_found {
            let mark = self.mark(Step::Let { slot: FOUND, from: FOUND }, Vec::new());
            out.push(Statement { kind: mark, place });
        }
    }

    /// A leaf that runs the loop with nothing in it, where its bounds may fail.
    fn check_bounds(&mut self, statement: &Statement, guards: &[Guard], out: &mut Vec<Statement>) {
        let safe = match &statement.kind {
            StatementKind::ForRange { from, to, step, .. } => {
                [from, to, step].iter().all(|bound| matches!(bound.kind, ExprKind::Constant(_)))
            }
            _ => false,
        };
        if safe {
            return;
        }
        let mut empty = statement.clone();
        match &mut empty.kind {
            StatementKind::ForRange { slot, body, .. }
            | StatementKind::ForEach { slot, body, .. } => {
                let sql_type = self.cut.marked.slots[slot.index()].sql_type;
                *slot = self.fresh("$check", sql_type);
                body.clear();
            }
            _ => {}
        }
        let first = self.cut.leaves.len();
        self.leaf(&empty, guards, out);
        // The driver must not run it: it would set FOUND before the real one.
        out.pop();
        // FOUND is told by the driver, behind the loop; until then it is in its slot what it was.
        self.cut.leaves[first].outputs = Box::default();
        if self.keeps_found {
            let kept = self.fresh("$found", SqlType::Scalar(DataType::Boolean));
            let copy = |slot, from| {
                let value = Expr {
                    kind: ExprKind::Slot(from),
                    sql_type: SqlType::Scalar(DataType::Boolean),
                };
                Statement { kind: StatementKind::Assign { slot, value }, place: statement.place }
            };
            self.cut.parts[first].insert(0, copy(kept, FOUND));
            self.cut.parts[first].push(copy(FOUND, kept));
        }
    }

    /// Makes a leaf of a statement and marks it.
    fn leaf(&mut self, statement: &Statement, guards: &[Guard], out: &mut Vec<Statement>) {
        let number = self.cut.leaves.len() as u16;
        let sites = walk::sites(std::slice::from_ref(statement)).len() as u16;
        let leaf = self.describe(statement, guards, number, sites);
        let looks_at = leaf.inputs.iter().filter(|input| input.known).map(|i| i.slot).collect();
        self.site += sites;
        self.cut.leaves.push(leaf);
        self.cut.parts.push(vec![statement.clone()]);
        let kind = self.mark(Step::Leaf(number), looks_at);
        let mark = Statement { kind, place: statement.place };
        match sites {
            0 => out.extend([mark, statement.clone()]),
            _ => out.extend([statement.clone(), mark]),
        }
    }

    fn describe(
        &mut self,
        statement: &Statement,
        guards: &[Guard],
        entry: u16,
        sites: u16,
    ) -> Leaf {
        let flow = Flow::of(statement);
        let mut inputs = Vec::new();
        for &slot in &flow.inputs {
            if !self.is_given(slot) {
                inputs.push(Input { slot, known: self.is_known(slot) });
            }
        }
        let made = flow.outputs.iter().copied().filter(|&slot| !self.is_known(slot));
        let outputs: Box<[SlotId]> = made.collect();
        let moves_array = |slot: SlotId| {
            matches!(self.cut.marked.slots[slot.index()].sql_type, SqlType::Array(_))
        };
        let dynamic = inputs.iter().filter(|input| !input.known).map(|input| input.slot);
        if dynamic.chain(outputs.iter().copied()).any(moves_array) {
            let why = "an array variable depends on rows";
            self.refused.get_or_insert_with(|| why.to_owned());
        }
        Leaf {
            entry,
            inputs: inputs.into(),
            guards: guards.into(),
            outputs,
            site: (sites > 0).then_some(self.site),
            expects: None,
            stops: leaf::may_stop(&self.cut.marked, statement),
            decides: false,
            writes: leaf::may_write(statement),
            returns: leaf::may_return(statement),
        }
    }

    /// The mark of a leaf that checks a prediction.
    fn expect(&mut self, condition: Guard, guards: &[Guard]) -> StatementKind {
        let number = self.cut.leaves.len() as u16;
        self.cut.leaves.push(Leaf {
            entry: number,
            inputs: Box::new([Input { slot: condition.slot, known: false }]),
            guards: guards.into(),
            outputs: Box::default(),
            site: None,
            expects: Some(condition.when),
            stops: true,
            decides: true,
            writes: false,
            returns: false,
        });
        self.cut.parts.push(Vec::new());
        self.mark(Step::Leaf(number), Vec::new())
    }

    fn mark(&mut self, step: Step, looks_at: Vec<SlotId>) -> StatementKind {
        self.cut.steps.push(step);
        self.cut.marks.push(looks_at);
        StatementKind::Mark(self.cut.steps.len() as u32 - 1)
    }

    /// A new slot, which only one leaf or the driver assigns.
    fn fresh(&mut self, name: &str, sql_type: SqlType) -> SlotId {
        let slots = &mut self.cut.marked.slots;
        slots.push(Slot { name: format!("{name}{}", slots.len()), sql_type });
        SlotId(slots.len() as u16 - 1)
    }

    /// Slots whose values every frame has from the invocation.
    fn is_given(&self, slot: SlotId) -> bool {
        let first = FIRST_PARAMETER as usize;
        let parameter = first..first + self.cut.marked.parameters as usize;
        slot == NOW || parameter.contains(&slot.index()) && !self.assigned[slot.index()]
    }

    /// Fresh slots are never known: the driver's are not read by leaves.
    fn is_known(&self, slot: SlotId) -> bool {
        slot.index() < self.assigned.len() && self.binding.slot(slot)
    }
}

/// Whether a loop without a bound, or a block, is run by the driver: when there are accesses in it.
/// One that only computes is one leaf, however many turns it takes. (Under a guard it is one leaf
/// too: the driver, leaving a block around a leaf's statement, would not come to the leaf's mark.)
fn can_go_through(statement: &Statement) -> bool {
    leaf::any(statement, |inner| {
        let returns = matches!(inner.kind, StatementKind::Return(_));
        walk::own_site(inner).is_some() || returns
    })
}

fn loop_variable(statement: &Statement) -> SlotId {
    match &statement.kind {
        StatementKind::ForRange { slot, .. } | StatementKind::ForEach { slot, .. } => *slot,
        _ => FOUND,
    }
}

/// How often a slot is read in a block.
fn uses_of(block: &[Statement], slot: SlotId) -> usize {
    let mut count = 0;
    walk::statements(block, &mut |statement| {
        walk::uses(statement, &mut |used| count += (used == slot) as usize);
    });
    count
}
