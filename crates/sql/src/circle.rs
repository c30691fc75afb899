//! Routines that call each other.
//!
//! Role         what is called stands in its caller's program, and a routine that calls itself is a
//!              block that runs within itself ([`crate::recursion`]). So one that calls its caller
//!              is compiled anew where that calls it, from its text: its calls of the caller are
//!              then of the block around it. `even` and `odd`, each of which calls the other, are
//!              two programs: in that of `even` stands `odd`, whose calls of `even` run the whole
//!              again, and in that of `odd` stands `even`
//! Invariants   I1 routines around a routine have no numbers in its program: it has slots and a
//!              label in the place of theirs ([`AroundUse`]), which become theirs, or again such
//!              ones, where it is called
//!              I2 routines stand within each other [`AROUND_MAX`] deep, and a definition compiles
//!              [`WITHIN_MAX`] such ones at most

use std::rc::Rc;
use std::sync::Arc;

use hotrow_transaction::program::{Expr, FIRST_PARAMETER, Place, Procedure, SlotId, routine_name};

use crate::around::{AroundUse, Circle, Meets};
use crate::call_syntax::CallArgument;
use crate::compile::compile_within;
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error, too_complex, unsupported};
use crate::overload::means;
use crate::recursion::Called;
use crate::scope::Compiler;
use crate::script::parse_script;
use crate::state::{Given, ProcedureNames};

/// Routines one within the other.
const AROUND_MAX: usize = 16;
/// Routines that are compiled within others, for one definition.
const WITHIN_MAX: u32 = 128;

/// A routine that was compiled within another one.
pub(crate) struct Within {
    pub(crate) procedure: Procedure,
    uses: Vec<AroundUse>,
}

/// All procedures but the one that is compiled.
pub(crate) struct Others<'a> {
    pub(crate) all: &'a dyn ProcedureNames,
    pub(crate) but: &'a str,
}

impl ProcedureNames for Others<'_> {
    fn procedure(&self, key: &str) -> Option<&Procedure> {
        self.all.procedure(key).filter(|of| of.name != self.but)
    }

    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        let mut all = self.all.overloads(name);
        all.retain(|of| of.name != self.but);
        all
    }

    fn all_names(&self) -> Vec<String> {
        self.all.all_names()
    }

    fn compiled_again(&self) -> Option<&str> {
        Some(self.but)
    }
}

impl<'c> Compiler<'c> {
    /// What a call means that may be one of a routine which runs: that which is compiled, or one
    /// around it. `found`: what is registered by the name.
    pub(crate) fn running_routine(
        &self,
        found: Option<&Procedure>,
        name: &str,
    ) -> Option<Called<'c>> {
        let is_it = |of: &Procedure| match found {
            Some(found) => found.name == of.name,
            None => means(&self.path, name, of),
        };
        if let Some(own) = self.calls.own.as_ref().filter(|own| is_it(own)) {
            return Some(Called::Itself(Arc::clone(own)));
        }
        let around = self.calls.circle.around.iter().find(|of| is_it(of))?;
        Some(Called::Around(Arc::clone(around)))
    }

    /// A routine that is called, compiled within the one that is compiled where it may be another
    /// one there: it calls that, or what it calls lacks something that may come with that.
    pub(crate) fn within_here(&mut self, found: &'c Procedure, place: Place) -> Result<Called<'c>> {
        let other = Ok(Called::Other(found));
        let Some(own) = &self.calls.own else { return other };
        let runs = |name: &String| {
            *name == own.name || self.calls.circle.around.iter().any(|of| of.name == *name)
        };
        let calls_back = found.inlined.iter().any(runs);
        let Some(source) = found.source.as_ref().filter(|of| calls_back || of.is_hollow) else {
            return other;
        };
        let around = self.calls.circle.around.iter().chain([own]).cloned().collect::<Vec<_>>();
        let compiled = self.calls.circle.compiled.get() + 1;
        if around.len() > AROUND_MAX || compiled > WITHIN_MAX {
            return Err(too_complex(place, "too many routines call each other")
                .hint("write one procedure for several of them, which calls itself"));
        }
        self.calls.circle.compiled.set(compiled);
        match self.compile_here(found, &source.text, around) {
            Ok(within) if within.procedure.lacks.is_none() => Ok(Called::Within(Arc::new(within))),
            Err(failed) if calls_back => Err(failed),
            Ok(_) if calls_back => {
                let name = routine_name(&found.name);
                let what = format!("a routine that lacks something and calls itself (by {name})");
                Err(unsupported(place, what, "create what it names before"))
            }
            _ => other,
        }
    }

    fn compile_here(
        &self,
        found: &Procedure,
        text: &str,
        around: Vec<Arc<Procedure>>,
    ) -> Result<Within> {
        let gone = || error(b"XX000", self.place, "a routine's text makes no routine");
        let all = self.procedures.ok_or_else(gone)?;
        let others = Others { all, but: &found.name };
        let statement = parse_script(text)?.pop().ok_or_else(gone)?;
        let compiled = Rc::clone(&self.calls.circle.compiled);
        let circle = Circle { around, compiled, ..Circle::default() };
        match compile_within(self.catalog, &others, &statement, &circle)? {
            (Compiled::CreateProcedure { procedure, .. }, uses) => {
                Ok(Within { procedure: *procedure, uses })
            }
            _ => Err(gone()),
        }
    }

    /// Has the slots and labels of a routine that was compiled within this one be this one's, or
    /// those in the place of what is around this one (I1), when it is called next.
    pub(crate) fn meet(&mut self, within: &Within, place: Place) -> Result<()> {
        let mut meets = Meets::default();
        for there in &within.uses {
            let is_own = self.calls.own.as_ref().is_some_and(|own| own.name == there.key);
            let (here, shared) = match is_own {
                true => (self.own_use(place)?, self.drawn_counters()),
                false => (self.around_use(&there.key)?, Vec::new()),
            };
            let parameters = there.parameters.iter().copied().zip(here.parameters);
            let results = there.results.iter().zip(here.results);
            let results = results.map(|((there, _), (here, _))| (*there, here));
            meets.slots.extend(parameters.chain(results));
            meets.labels.push((there.label, here.label, shared));
        }
        self.calls.circle.meets = meets;
        Ok(())
    }

    /// The routine that is compiled, as what stands within it calls it.
    fn own_use(&mut self, place: Place) -> Result<AroundUse> {
        let gone = || error(b"XX000", place, "a routine that calls itself has no name");
        let own = self.calls.own.clone().ok_or_else(gone)?;
        let repeated = self.repeated_block(&own, place)?;
        let given = own.given().len() as u16;
        let parameters = (FIRST_PARAMETER..FIRST_PARAMETER + given).map(SlotId).collect();
        let (key, label) = (own.name.clone(), repeated.label);
        Ok(AroundUse { key, label, parameters, results: repeated.results })
    }

    /// A routine around the one that is compiled (I1).
    pub(crate) fn around_use(&mut self, key: &str) -> Result<AroundUse> {
        if let Some(known) = self.calls.circle.used.iter().find(|of| of.key == key) {
            return Ok(known.clone());
        }
        let found = self.calls.circle.around.iter().find(|of| of.name == key).cloned();
        let gone = || error(b"XX000", self.place, "a routine is not around the one it is for");
        let of = found.ok_or_else(gone)?;
        let (mut parameters, mut results) = (Vec::new(), Vec::new());
        for parameter in of.given() {
            parameters.push(self.slot("$around", parameter.sql_type)?);
        }
        for column in &of.result {
            let slot = self.temporary("around", column.data_type)?;
            results.push((slot, column.data_type));
        }
        let known =
            AroundUse { key: key.to_owned(), label: self.new_label()?, parameters, results };
        self.calls.circle.used.push(known.clone());
        Ok(known)
    }

    /// A call of a routine around the one that is compiled; what it gives.
    pub(crate) fn call_around(
        &mut self,
        around: &Procedure,
        written: &[CallArgument],
        place: Place,
    ) -> Result<Given> {
        let values = self.arguments_of(around, written, place)?;
        self.need_call(around);
        self.run_around(around, values, place)
    }

    /// As [`Compiler::call_around`], with values for its parameters.
    pub(crate) fn run_around(
        &mut self,
        around: &Procedure,
        values: Vec<Expr>,
        place: Place,
    ) -> Result<Given> {
        let AroundUse { label, parameters, results, .. } = self.around_use(&around.name)?;
        let arguments = parameters.into_iter().zip(values).collect();
        self.run_again(around, (label, arguments), (results, Vec::new()), place)
    }
}
