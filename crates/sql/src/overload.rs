//! Functions and procedures of one name: which of them a call means.
//!
//! Role         routines stand in the schema under keys that are their own. The first of a name has
//!              the name as its key; those beside it have the types of their parameters behind it
//! Source       PostgreSQL 15, chapter 10.3, as [`crate::functions`] has it for its own

use std::ops::ControlFlow;

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{SearchPath, key_in, shown, split};
use hotrow_transaction::program::{OVERLOAD_MARK, Place, Procedure, routine_name, routine_schema};
use sqlparser::ast;

use crate::call::places_given;
use crate::call_syntax::CallArgument;
use crate::compiled::Dropped;
use crate::error::{Advice, Result, error};
use crate::functions::{Fit, Given, call_text, fit_of};
use crate::marks::MARK;
use crate::operand::Operand;
use crate::relation::level::Level;
use crate::scope::Compiler;
use crate::state::{ProcedureNames, Variable};
use crate::syntax::{DroppedRoutine, Mode, Parameter};
use crate::types::sql_type;
use crate::variadic::{element_of, first_gathered, gathered};
use crate::written::{bare, dotted, function_name};

/// The routines that a name may mean, as it is written: those of the schema that it names, or of
/// all in a path; one of a later schema is hidden by another with its parameters.
pub(crate) fn routines_seen<'c>(
    all: &'c (impl ProcedureNames + ?Sized),
    path: &SearchPath,
    name: &str,
) -> Vec<&'c Procedure> {
    if let (Some(schema), name) = split(name) {
        return all.overloads(&key_in(path.schema_meant(schema), name));
    }
    let mut seen: Vec<&Procedure> = Vec::new();
    for schema in path.schemas() {
        let found = all.overloads(&key_in(schema, name)).into_iter();
        let new: Vec<_> =
            found.filter(|of| !seen.iter().any(|known| types_of(known).eq(types_of(of)))).collect();
        seen.extend(new);
    }
    seen
}

/// Whether a value is known only once something has been read or called: `(SELECT 1)`, `g(1)`.
pub(crate) fn needs_query(
    value: &ast::Expr,
    procedures: &impl ProcedureNames,
    path: &SearchPath,
) -> bool {
    let found = ast::visit_expressions(value, |part| {
        let is_one = match part {
            ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => {
                true
            }
            ast::Expr::Function(function) => {
                !routines_seen(procedures, path, &function_name(function)).is_empty()
            }
            _ => false,
        };
        if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.is_break()
}

/// Whether a name, as it is written, may mean this routine.
pub(crate) fn means(path: &SearchPath, name: &str, routine: &Procedure) -> bool {
    let (schema, own) = split(name);
    let is_seen = |of: &str| path.schemas().any(|schema| schema == of);
    own == routine.shown_name()
        && schema.map_or_else(
            || is_seen(routine.schema()),
            |schema| path.schema_meant(schema) == routine.schema(),
        )
}

impl<'c> Compiler<'c> {
    /// What CALL writes for a procedure's IN parameters, and for its OUT parameters.
    pub(crate) fn without_outs(
        &self,
        name: &str,
        written: &[CallArgument],
    ) -> (Vec<CallArgument>, Vec<CallArgument>) {
        let takes = |of: &&Procedure| {
            !of.outs.is_empty()
                && of.outs.len() <= written.len()
                && of.takes(written.len() - of.outs.len())
        };
        let seen = self.routines_seen(name);
        let Some(procedure) = seen.into_iter().find(takes) else {
            return (written.to_vec(), Vec::new());
        };
        let given = procedure.given();
        let is_out = |(at, argument): (usize, &CallArgument)| match &argument.name {
            Some(name) if name == MARK => false,
            Some(name) => !given.iter().any(|parameter| parameter.name == *name),
            None => procedure.outs.contains(&(at as u16)),
        };
        let (mut ins, mut outs) = (Vec::new(), Vec::new());
        for (at, argument) in written.iter().enumerate() {
            let side = if is_out((at, argument)) { &mut outs } else { &mut ins };
            side.push(argument.clone());
        }
        (ins, outs)
    }

    /// The routine that a call means; none: there is none of this name.
    ///
    /// Errors: 42883 where none of several takes such arguments, 42725 where two take them alike.
    pub(crate) fn routine_meant(
        &mut self,
        name: &str,
        written: &[CallArgument],
        place: Place,
    ) -> Result<Option<&'c Procedure>> {
        let mut left = self.routines_seen(name);
        if left.len() < 2 {
            return Ok(left.pop());
        }
        let given: Vec<Given> = written.iter().map(|of| self.type_given(&of.value)).collect();
        let fits = |procedure: &Procedure| -> Option<Vec<Fit>> {
            if let Some(first) = first_gathered(procedure, written) {
                let element = element_of(procedure)?;
                let fit = |(number, of): (usize, &Given)| {
                    let to = procedure.given()[..first].get(number);
                    fit_of(*of, to.map_or(element, |parameter| parameter.sql_type))
                };
                return given.iter().enumerate().map(fit).collect();
            }
            let places =
                places_given(procedure, name, &gathered(procedure, written), place).ok()?;
            let parameter = |number: usize| {
                let at = places.iter().position(|of| *of == Some(number))?;
                fit_of(given[number], procedure.given()[at].sql_type)
            };
            (0..written.len()).map(parameter).collect()
        };
        let mut found: Vec<(&'c Procedure, Vec<Fit>)> =
            left.into_iter().filter_map(|of| Some((of, fits(of)?))).collect();
        for good in [Fit::Exact, Fit::Preferred] {
            let count =
                |fits: &[Fit]| fits.iter().filter(|f| (good..Fit::Open).contains(f)).count();
            let most = found.iter().map(|(_, fits)| count(fits)).max();
            found.retain(|(_, fits)| Some(count(fits)) == most);
        }
        if found.len() > 1 {
            // A literal without a type is a text where it may be.
            let texts = |of: &Procedure| {
                let open = given.iter().zip(of.given()).filter(|(given, _)| given.is_none());
                open.filter(|(_, to)| to.sql_type == SqlType::Scalar(DataType::Text)).count()
            };
            let most = found.iter().map(|(of, _)| texts(of)).max();
            found.retain(|(of, _)| Some(texts(of)) == most);
        }
        if found.len() > 1 && found.iter().any(|(of, _)| !of.is_variadic) {
            found.retain(|(of, _)| !of.is_variadic);
        }
        match found.as_slice() {
            [(one, _)] => Ok(Some(one)),
            [] => {
                let message = format!("function {} does not exist", call_text(name, &given));
                Err(error(b"42883", place, message).hint(
                    "No function matches the given name and argument types. You might need to \
                     add explicit type casts.",
                ))
            }
            _ => {
                let message = format!("function {} is not unique", call_text(name, &given));
                Err(error(b"42725", place, message).hint(
                    "Could not choose a best candidate function. You might need to add explicit \
                     type casts.",
                ))
            }
        }
    }

    /// The only routine of a name, for what names it without arguments.
    pub(crate) fn routine_alone(&self, name: &str, place: Place) -> Result<Option<&'c Procedure>> {
        let mut all = self.routines_seen(name);
        match all.len() {
            0 | 1 => Ok(all.pop()),
            _ => Err(error(b"42725", place, format!("function name \"{name}\" is not unique"))
                .hint("Specify the argument list to select the function unambiguously.")),
        }
    }

    /// The routines that a name may mean, as it is written: see [`routines_seen`].
    pub(crate) fn routines_seen(&self, name: &str) -> Vec<&'c Procedure> {
        self.procedures.map_or_else(Vec::new, |all| routines_seen(all, &self.path, name))
    }

    /// The keys of all routines in a schema.
    pub(crate) fn routines_in(&self, schema: &str) -> Vec<String> {
        let all = self.procedures.map(|all| all.all_names()).unwrap_or_default();
        let is_there = |key: &String| routine_schema(key) == schema;
        all.into_iter().filter(is_there).collect()
    }

    /// Under which key a routine with these parameters stands, or will stand; `name`: as
    /// [`key_in`] has it.
    pub(crate) fn routine_key(&self, name: &str, types: &[SqlType]) -> (String, bool) {
        // What is compiled again stays under its own, whatever has become of others of its name:
        // its rights are kept by it.
        let again = self.procedures.and_then(|all| all.compiled_again());
        if let Some(key) = again.filter(|key| routine_name(key) == name) {
            return (key.to_owned(), false);
        }
        let all = self.procedures.map_or_else(Vec::new, |all| all.overloads(name));
        match all.iter().find(|of| types_of(of).eq(types.iter().copied())) {
            Some(same) => (same.name.clone(), true),
            None if all.iter().all(|of| of.name != name) => (name.to_owned(), false),
            None => (format!("{name}{OVERLOAD_MARK}{}", listed(types.iter())), false),
        }
    }

    /// The routine that DROP or GRANT names: by its key, or as it was named, if there is none.
    pub(crate) fn routine_dropped(&self, written: &DroppedRoutine) -> Result<Dropped> {
        let (name, place, parameters) = written;
        let Some(parameters) = parameters else {
            let name = self.routine_alone(name, *place)?.map_or(name, |of| &of.name).clone();
            return Ok(Dropped { name, place: *place });
        };
        let types = self.types_taken(parameters)?;
        let seen = self.routines_seen(name).into_iter();
        let mut same = seen.filter(|of| types_of(of).eq(types.iter().copied()));
        let name = match same.next() {
            Some(routine) => routine.name.clone(),
            None => format!("{}({})", shown(name.clone()), listed(types.iter())),
        };
        Ok(Dropped { name, place: *place })
    }

    /// The types of what a caller gives, by parameters as they are written.
    pub(crate) fn types_taken(&self, parameters: &[Parameter]) -> Result<Vec<SqlType>> {
        let given = parameters.iter().filter(|parameter| parameter.mode != Mode::Out);
        given.map(|of| self.type_of(&of.type_name)).collect()
    }

    /// The type of an argument, as far as it is known before it is compiled.
    pub(crate) fn type_given(&mut self, written: &ast::Expr) -> Given {
        match bare(written) {
            ast::Expr::Cast { data_type, .. } => {
                sql_type(data_type, self.type_names(), self.place).ok()
            }
            ast::Expr::Array(array) => {
                let first = array.elem.first()?;
                match self.type_given(first)? {
                    SqlType::Scalar(of) => Some(SqlType::Array(of)),
                    SqlType::Array(_) => None,
                }
            }
            ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
                if let Some(of) = self.variable_type(written) =>
            {
                Some(of)
            }
            // What it calls would be called twice: a cast of it tells its type.
            other if self.is_procedure && self.may_call([other]) => None,
            other => self.type_compiled(other),
        }
    }

    /// The type of what is compiled to find it out, and then forgotten.
    fn type_compiled(&mut self, written: &ast::Expr) -> Given {
        let needs_query = self.needs_query.take();
        // Columns of rows keep the slots that they get here; elsewhere nothing is kept.
        let mark = self.levels.is_empty().then(|| self.mark());
        if mark.is_some() {
            self.levels.push(Level::default());
        }
        let steps = self.levels.last().map_or(0, |level| level.steps.len());
        let operand = self.closed(|this| this.operand(written));
        if let Some(level) = self.levels.last_mut() {
            level.steps.truncate(steps);
        }
        if let Some(mark) = mark {
            self.levels.pop();
            self.back_to(&mark);
        }
        self.needs_query = needs_query;
        match operand {
            Ok(Operand::Typed(expr)) => Some(expr.sql_type),
            Ok(Operand::Unknown(_) | Operand::Parameter(_)) | Err(_) => None,
        }
    }

    fn variable_type(&self, written: &ast::Expr) -> Given {
        let parts = match bare(written) {
            ast::Expr::Identifier(name) => dotted(std::slice::from_ref(name)),
            ast::Expr::CompoundIdentifier(parts) => dotted(parts),
            _ => return None,
        };
        match self.qualified_variable(&parts) {
            Some(Variable::Scalar { slot, .. }) => Some(self.slot_expr(*slot).sql_type),
            _ => None,
        }
    }
}

/// The types of what a caller gives.
pub(crate) fn types_of(procedure: &Procedure) -> impl Iterator<Item = SqlType> + '_ {
    procedure.given().iter().map(|parameter| parameter.sql_type)
}

/// Types with commas between them.
pub(crate) fn listed<'t>(types: impl Iterator<Item = &'t SqlType>) -> String {
    types.map(ToString::to_string).collect::<Vec<_>>().join(",")
}
