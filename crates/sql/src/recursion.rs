//! Routines that call themselves.
//!
//! Role         a routine's body becomes a block that may run within itself
//!              ([`StatementKind::Recur`]). Whether it does is known when a call is met; it is then
//!              compiled anew, since what a loop draws is drawn otherwise than once
//! Invariants   I1 the block is a loop that is left at the end of its first turn: whatever plans
//!              the routine knows that it may run any number of times

use std::ops::Deref;
use std::sync::Arc;

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{
    Expr, FIRST_PARAMETER, FOUND, LabelId, Place, Procedure, ROW_COUNT, Recur, SlotId, Statement,
    StatementKind,
};
use hotrow_transaction::walk;

use crate::call_syntax::CallArgument;
use crate::circle::Within;
use crate::error::{Result, unsupported};
use crate::scope::Compiler;
use crate::state::{Given, Repeated};
use crate::typing::{bigint, constant, spread};

/// What a call in a routine means.
pub(crate) enum Called<'c> {
    Other(&'c Procedure),
    /// the routine that is compiled: what callers see of it
    Itself(Arc<Procedure>),
    /// one around it
    Around(Arc<Procedure>),
    /// one that was compiled for the types of this call
    Instance(Arc<Procedure>),
    /// one that was compiled within it, since they call each other
    Within(Arc<Within>),
}

impl Deref for Called<'_> {
    type Target = Procedure;

    fn deref(&self) -> &Procedure {
        match self {
            Self::Other(of) => of,
            Self::Itself(of) | Self::Around(of) | Self::Instance(of) => of,
            Self::Within(of) => &of.procedure,
        }
    }
}

impl Compiler<'_> {
    /// What callers see of the routine whose parameters and results are known, before its body is.
    pub(crate) fn signature(&self, name: &str, returns_set: bool, is_variadic: bool) -> Procedure {
        let given = usize::from(FIRST_PARAMETER) + self.parameters.len();
        Procedure {
            name: name.to_owned(),
            parameters: self.parameters.len() as u16,
            defaults: self.defaults.clone(),
            draws: Vec::new(),
            slots: self.slots[..given].to_vec(),
            body: Vec::new(),
            result: self.result.clone(),
            returns_set,
            row_sets: 0,
            row_locks: self.row_locks,
            inlined: Vec::new(),
            ends_transaction: false,
            is_variadic,
            outs: Vec::new(),
            lacks: None,
            interpreted: None,
            source: None,
            trigger: None,
            later: None,
            needs: Default::default(),
        }
    }

    /// A call of the routine that is compiled; what it gives.
    pub(crate) fn recur(
        &mut self,
        own: &Procedure,
        written: &[CallArgument],
        place: Place,
    ) -> Result<Given> {
        let Repeated { label, results } = self.repeated_block(own, place)?;
        let values = self.arguments_of(own, written, place)?;
        self.recur_with(own, values, (label, results), place)
    }

    /// As [`Compiler::recur`], with values for its parameters.
    fn recur_with(
        &mut self,
        own: &Procedure,
        values: Vec<Expr>,
        (label, results): (LabelId, Vec<(SlotId, DataType)>),
        place: Place,
    ) -> Result<Given> {
        let arguments = (FIRST_PARAMETER..).map(SlotId).zip(values).collect();
        let counters = self.drawn_counters();
        self.run_again(own, (label, arguments), (results, counters), place)
    }

    /// What counts the draws of the routine that is compiled.
    pub(crate) fn drawn_counters(&self) -> Vec<SlotId> {
        self.drawn_slots.iter().map(|slots| slots.counter).collect()
    }

    /// Runs the block of a routine once more; what it gives.
    pub(crate) fn run_again(
        &mut self,
        of: &Procedure,
        (label, arguments): (LabelId, Vec<(SlotId, Expr)>),
        (results, counters): (Vec<(SlotId, DataType)>, Vec<SlotId>),
        place: Place,
    ) -> Result<Given> {
        let mut shared: Vec<SlotId> = results.iter().map(|(slot, _)| *slot).collect();
        shared.extend(counters);
        let recur = Box::new(Recur { label, arguments, shared });
        self.before.push(Statement { kind: StatementKind::Recur(recur), place });
        let mut given = Given::new();
        let mut kept = Vec::new();
        for (column, (slot, data_type)) in of.result.iter().zip(results) {
            // Another call in the same statement returns to the same slots.
            let own = self.temporary("returned", data_type)?;
            let value = self.slot_expr(slot);
            self.emit_assign(&mut kept, own, value);
            given.push((column.name.clone(), spread(self.slot_expr(own))));
        }
        self.before.append(&mut kept);
        Ok(given)
    }

    /// A call of a routine that runs already, itself or one around it, with slots for its
    /// arguments; what it gives.
    pub(crate) fn recur_from_query(
        &mut self,
        called: &Called<'_>,
        values: Vec<Expr>,
        place: Place,
    ) -> Result<Given> {
        match called {
            Called::Around(of) => self.run_around(of, values, place),
            called => {
                let Repeated { label, results } = self.repeated_block(called, place)?;
                self.recur_with(called, values, (label, results), place)
            }
        }
    }

    /// The block of the routine that is compiled, which calls itself.
    pub(crate) fn repeated_block(&mut self, own: &Procedure, place: Place) -> Result<Repeated> {
        if !self.calls.is_recursive {
            self.meets_itself = true;
            // Nobody is told: it is compiled once more.
            return Err(unsupported(place, "a routine that calls itself", ""));
        }
        self.repeated(own)
    }

    fn repeated(&mut self, own: &Procedure) -> Result<Repeated> {
        if let Some(known) = &self.calls.repeated {
            return Ok(known.clone());
        }
        let mut results = Vec::new();
        for column in &own.result {
            let name = format!("{}()", own.shown_name());
            results.push((self.temporary(&name, column.data_type)?, column.data_type));
        }
        let repeated = Repeated { label: self.new_label()?, results };
        self.calls.repeated = Some(repeated.clone());
        Ok(repeated)
    }

    /// The body of a routine, as a block that may run within itself if it calls itself (I1).
    pub(crate) fn repeatable(&mut self, mut body: Vec<Statement>) -> Result<Vec<Statement>> {
        let Some(Repeated { label, results }) = self.calls.repeated.take() else { return Ok(body) };
        if walk::has_protected(&body) {
            let what = "a routine with an EXCEPTION block that calls itself";
            let advice = "leave the errors to whoever calls it first";
            return Err(unsupported(self.place, what, advice));
        }
        if self.endings.are_any {
            let what = "a routine that ends its transaction and calls itself";
            return Err(unsupported(self.place, what, "leave its COMMIT or ROLLBACK out"));
        }
        // Variables have no value, as at the begin of every call.
        let given = usize::from(FIRST_PARAMETER) + self.parameters.len() + self.drawn_slots.len();
        let locals = (given..self.slots.len()).filter(|at| !self.slots[*at].name.starts_with('$'));
        let locals: Vec<SlotId> = locals.map(|at| SlotId(at as u16)).collect();
        let mut turn = Vec::new();
        self.emit_nulls(&mut turn, &locals);
        self.emit_assign(&mut turn, FOUND, constant(Value::Bool(false), DataType::Boolean));
        self.emit_assign(&mut turn, ROW_COUNT, bigint(0));
        self.replace_returns(&mut body, label, &results);
        turn.append(&mut body);
        self.emit(&mut turn, StatementKind::Leave(label));
        let mut repeatable = Vec::new();
        self.emit_loop(&mut repeatable, label, turn);
        if !results.is_empty() {
            let values = results.iter().map(|(slot, _)| self.slot_expr(*slot)).collect();
            self.emit(&mut repeatable, StatementKind::Return(values));
        }
        Ok(repeatable)
    }
}
