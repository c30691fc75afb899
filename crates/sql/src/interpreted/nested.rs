//! Calls of routines that are run statement by statement, by blocks that are run so: what is called
//! is no part of a step, and is sent as a call by itself, with the values of its arguments.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::call_syntax::CallArgument;
use crate::called_function::called_function;
use crate::interpreted::BlockHost;
use crate::interpreted::called::is_called_alone;
use crate::interpreted::run::{Run, placed};
use crate::interpreted::step::{Made, Step};
use crate::parameters::with_literals;
use crate::script::parse_script;
use crate::token::{quoted, quoted_name};

type Ended<T, H> = std::result::Result<T, <H as BlockHost>::Error>;

impl<H: BlockHost> Run<'_, '_, H> {
    /// What a query gives that is refused since it calls such a routine; none: it is more than that
    /// call, or is refused for another reason.
    pub(super) fn nested(
        &mut self,
        query: &ast::Query,
        refused: &SqlError,
        place: Place,
    ) -> Ended<Option<(Vec<Value>, Made)>, H> {
        if !is_called_alone(refused) {
            return Ok(None);
        }
        let mut called = None;
        let looked = self.host.step(
            &mut |_, procedures, path| {
                called = called_function(query, (&procedures, None), path, place);
                Err(refused.clone())
            },
            &[],
        );
        let Some((name, arguments, _)) = called else { return looked.map(|_| None) };
        let text = self.text_of_call(&name, &arguments)?;
        let mut answer = Default::default();
        for statement in parse_script(&text)? {
            let done = self.host.send(statement);
            answer = self.take(done).map_err(|failed| placed::<H>(failed, place, Some(&text)))?;
        }
        let (values, columns, charge) = (answer.values, answer.columns, answer.charge);
        let rows = values.len().checked_div(columns.len()).unwrap_or(0);
        self.row_count = i64::try_from(rows).unwrap_or(i64::MAX);
        Ok(Some((values, Made { columns, charge, ..Made::default() })))
    }

    /// A call with the values of its arguments as literals.
    fn text_of_call(&mut self, name: &str, arguments: &[CallArgument]) -> Ended<String, H> {
        let (mut types, mut values, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for argument in arguments {
            let text = match &argument.value {
                // Of the type that the parameter has.
                literal @ ast::Expr::Value(_) => literal.to_string(),
                value => {
                    let (given, made) = self.compiled(Step::Value(value), argument.place)?;
                    let of = made.columns.first().map(|(_, of)| *of);
                    types.push(of.unwrap_or(SqlType::Scalar(DataType::Text)));
                    values.push(given.into_iter().next().unwrap_or_default());
                    format!("${}", types.len())
                }
            };
            written.push(match &argument.name {
                Some(name) => format!("{} => {text}", quoted(name)),
                None => text,
            });
        }
        let text = format!("SELECT {}({})", quoted_name(name), written.join(", "));
        let mut known = String::new();
        for statement in parse_script(&text)? {
            known = with_literals(&statement, &types, &values)?;
        }
        Ok(known)
    }
}
