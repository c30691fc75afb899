//! Polymorphic functions: `anyelement`, `anyarray` and their kin as types of parameters and
//! results.
//!
//! Role         such a function has no program of its own. Each call compiles its text for the
//!              types of the call's arguments, and calls that
//! Invariants   I1 what its types are follows from the arguments alone: of `anyelement` and its kin
//!              one type, of `anycompatible` and its kin the common type of all
//! Source       PostgreSQL 15, 38.2.5 and `enforce_generic_type_consistency`

use std::sync::Arc;

use hotrow_base::types::{AnyType, DataType, SqlType};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Place, Procedure};
use sqlparser::ast;

use crate::call::places_given;
use crate::call_syntax::CallArgument;
use crate::circle::Others;
use crate::compile::compile;
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error};
use crate::functions::{Given, call_text};
use crate::recursion::Called;
use crate::scope::Compiler;
use crate::script::parse_script;
use crate::syntax::{Declaration, Returns, Routine, Syntax, TypeName, TypeNameKind};
use crate::type_table::known_type;
use crate::typing::common_type;
use crate::written::bare as bare_of;

/// What polymorphic types are in a call.
#[derive(Clone, Copy, Default)]
struct Meant {
    element: Option<DataType>,
    compatible: Option<DataType>,
}

impl Meant {
    fn of(self, any: AnyType) -> Option<SqlType> {
        let element = if any.is_compatible() { self.compatible } else { self.element }?;
        Some(match any.is_array() {
            true => SqlType::Array(element),
            false => SqlType::Scalar(element).spread(),
        })
    }
}

impl<'c> Compiler<'c> {
    /// A polymorphic routine for the types of a call's arguments; none: it is another one.
    ///
    /// Errors: 42883 where it takes no such arguments, 42804 where they do not tell its types, and
    /// those of its body for these types.
    pub(crate) fn instance_of(
        &mut self,
        found: Option<&'c Procedure>,
        (name, written): (&str, &[CallArgument]),
        place: Place,
    ) -> Result<Option<Called<'c>>> {
        let Some(found) = found.filter(|of| of.is_polymorphic()) else { return Ok(None) };
        let places = places_given(found, name, written, place)?;
        let types: Vec<Given> = written.iter().map(|of| self.type_of_argument(of)).collect();
        let parameters = found.given().iter().zip(places);
        let pairs: Vec<(AnyType, Given)> = parameters
            .filter_map(|(parameter, at)| Some((parameter.sql_type.any()?, types[at?])))
            .collect();
        let meant = meant(&pairs).map_err(|why| why.told(name, &types, place))?;
        let gone = || error(b"XX000", place, "a routine's text makes no routine");
        let (all, source) = self.procedures.zip(found.source.as_ref()).ok_or_else(gone)?;
        let mut statement = parse_script(&source.text)?.pop().ok_or_else(gone)?;
        match &mut statement.syntax {
            Syntax::Routine(routine) => self.know_types(routine, meant)?,
            _ => return Err(gone()),
        }
        let others = Others { all, but: &found.name };
        let compiled = compile(self.catalog, &others, &statement);
        match compiled.map_err(|failed| SqlError { place, ..failed })? {
            Compiled::CreateProcedure { procedure, .. } => {
                Ok(Some(Called::Instance(Arc::new(*procedure))))
            }
            _ => Err(gone()),
        }
    }

    /// The type of an argument; an array of literals is one of texts.
    fn type_of_argument(&mut self, argument: &CallArgument) -> Given {
        let given = self.type_given(&argument.value);
        let is_list = || match bare_of(&argument.value) {
            ast::Expr::Array(list) => !list.elem.is_empty(),
            _ => false,
        };
        given.or_else(|| is_list().then_some(SqlType::Array(DataType::Text)))
    }

    /// Puts the types of a call in the place of polymorphic ones.
    fn know_types(&self, routine: &mut Routine, meant: Meant) -> Result<()> {
        let mut written: Vec<&mut TypeName> =
            routine.parameters.iter_mut().map(|of| &mut of.type_name).collect();
        match &mut routine.returns {
            Some(Returns::Scalar(of) | Returns::SetOf(of)) => written.push(of),
            Some(Returns::Table(columns)) => {
                written.extend(columns.iter_mut().map(|(_, _, of)| of));
            }
            _ => {}
        }
        // That which a function in SQL returns is a variable of its body.
        for declaration in &mut routine.body.declarations {
            if let Declaration::Variable(of) = declaration {
                written.push(&mut of.type_name);
            }
        }
        for of in written {
            if let Some(any) = self.type_of(of).ok().and_then(SqlType::any) {
                let open = || error(b"42804", of.place, UNKNOWN);
                of.kind = TypeNameKind::Known(meant.of(any).ok_or_else(open)?);
            }
        }
        Ok(())
    }
}

const UNKNOWN: &str = "could not determine polymorphic type because input has type unknown";

/// Why arguments do not tell the types of a call.
enum Untold {
    /// it does not take them
    NotTaken,
    /// they have no types themselves
    Unknown,
}

impl Untold {
    fn told(self, name: &str, types: &[Given], place: Place) -> SqlError {
        match self {
            Self::Unknown => error(b"42804", place, UNKNOWN).hint("cast an argument: 'x'::text"),
            Self::NotTaken => {
                let message = format!("function {} does not exist", call_text(name, types));
                error(b"42883", place, message).hint(
                    "No function matches the given name and argument types. You might need to \
                     add explicit type casts.",
                )
            }
        }
    }
}

/// I1
fn meant(pairs: &[(AnyType, Given)]) -> std::result::Result<Meant, Untold> {
    let mut meant = Meant::default();
    for (any, given) in pairs {
        let Some(given) = given else { continue };
        let element = match (any.is_array(), given.spread()) {
            (true, SqlType::Array(element)) => element,
            (true, SqlType::Scalar(_)) => return Err(Untold::NotTaken),
            (false, of) => of.packed(),
        };
        let is_right = match any {
            AnyType::NonArray | AnyType::CompatibleNonArray => element.element().is_none(),
            AnyType::Enum => matches!(element, DataType::Enum(_)),
            _ => true,
        };
        let family = if any.is_compatible() { &mut meant.compatible } else { &mut meant.element };
        let element = bare(element);
        let together = match *family {
            None => Some(element),
            Some(known) if any.is_compatible() => common_type(known, element),
            Some(known) => alike(known, element),
        };
        *family = Some(together.filter(|_| is_right).ok_or(Untold::NotTaken)?);
    }
    let is_open = |is_compatible: bool, of: Option<DataType>| {
        of.is_none() && pairs.iter().any(|(any, _)| any.is_compatible() == is_compatible)
    };
    if is_open(false, meant.element) {
        return Err(Untold::Unknown);
    }
    if is_open(true, meant.compatible) {
        meant.compatible = Some(DataType::Text);
    }
    Ok(meant)
}

/// A type as arguments have it, whatever length a text may have.
fn bare(of: DataType) -> DataType {
    match of {
        DataType::Varchar(_) => DataType::Text,
        of => of.with_all_digits(),
    }
}

/// The type of two values that have one, whatever its digits.
fn alike(a: DataType, b: DataType) -> Option<DataType> {
    match a == b {
        true => Some(a),
        false if a.is_numeric() && b.is_numeric() => Some(DataType::AnyNumeric),
        false => (known_type(a).oid == known_type(b).oid).then_some(b),
    }
}
