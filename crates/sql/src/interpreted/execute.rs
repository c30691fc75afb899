//! EXECUTE in a block that is run statement by statement.

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::program::Place;

use crate::dynamic_syntax::statement_of;
use crate::error::{Advice, error, place_in};
use crate::interpreted::BlockHost;
use crate::interpreted::run::{Run, placed};
use crate::interpreted::scopes::{Scope, given};
use crate::interpreted::step::Step;
use crate::open_cursors::OpenRows;
use crate::script::parse_script;
use crate::script_statement::ScriptStatement;
use crate::syntax::{ExecuteSyntax, Into};

type Ended<T, H> = std::result::Result<T, <H as BlockHost>::Error>;

impl<'b, H: BlockHost> Run<'_, 'b, H> {
    /// EXECUTE as a statement: a text may be several, and each a definition or not.
    pub(super) fn execute(
        &mut self,
        written: &'b ExecuteSyntax,
        into: Option<&'b Into>,
        place: Place,
    ) -> Ended<(), H> {
        let (text, given) = self.text_of(written)?;
        let in_text = |failed| placed::<H>(failed, place, Some(&text));
        let statements = parse_script(&text).map_err(|failed| in_text(failed.into()))?;
        let given: Vec<_> = given.variables.into_iter().collect();
        let types: Vec<_> = given.iter().filter_map(|(_, held)| held.scalar()).collect();
        for statement in statements {
            let done = match statement.is_step() {
                true => self.execute_step(&statement.text, &types, into, place),
                false => self.execute_definition(statement, into, place),
            };
            done.map_err(in_text)?;
        }
        Ok(())
    }

    /// A query or a change of rows, which leaves FOUND alone.
    fn execute_step(
        &mut self,
        text: &str,
        values: &[(SqlType, Value)],
        into: Option<&'b Into>,
        place: Place,
    ) -> Ended<(), H> {
        let origin = Place { line: 1, column: 0 };
        let statement = statement_of(text, values.len(), origin)?;
        let (around, found) = (self.scopes.len(), self.found);
        self.scopes.push(given(
            values.iter().map(|(of, _)| *of),
            values.iter().map(|(_, value)| value.clone()),
        ));
        let done =
            self.tried(Step::Executed(&statement, into), place).and_then(|done| match done {
                Ok((values, made)) => {
                    self.scopes.take(made.shapes, values);
                    Ok(())
                }
                Err(refused) => self.send_instead(&statement, into, place, refused),
            });
        self.scopes.truncate(around);
        self.found = found;
        done
    }

    fn execute_definition(
        &mut self,
        statement: ScriptStatement,
        into: Option<&Into>,
        place: Place,
    ) -> Ended<(), H> {
        if statement.is_transaction_control() {
            let message = "EXECUTE of transaction commands is not implemented";
            return Err(error(b"0A000", place, message).into());
        }
        if into.is_some() {
            let message = "INTO used with a command that cannot return data";
            return Err(error(b"42601", place, message).into());
        }
        let done = self.host.send(statement);
        let done = self.take(done)?;
        self.row_count = i64::try_from(done.touched).unwrap_or(i64::MAX);
        Ok(())
    }

    /// The rows of a statement that EXECUTE gives.
    pub(super) fn rows_of_text(
        &mut self,
        written: &'b ExecuteSyntax,
        place: Place,
    ) -> Ended<OpenRows, H> {
        let (text, given) = self.text_of(written)?;
        let in_text = |failed| placed::<H>(failed, place, Some(&text));
        let origin = Place { line: 1, column: 0 };
        let statement = statement_of(&text, given.variables.len(), origin)
            .map_err(|failed| in_text(failed.into()))?;
        let around = self.scopes.len();
        self.scopes.push(given);
        let done = self.compiled(Step::Sent(&statement), place);
        self.scopes.truncate(around);
        let (values, compiled) = done.map_err(in_text)?;
        if compiled.columns.is_empty() {
            let message = "cannot open a statement without rows as cursor";
            return Err(error(b"42P11", place, message).hint("FOR needs a SELECT").into());
        }
        Ok(compiled.rows(values))
    }

    /// The text, and the values of USING as a scope.
    fn text_of(&mut self, written: &'b ExecuteSyntax) -> Ended<(String, Scope<'b>), H> {
        let place = place_in(&written.text, written.place);
        let (values, compiled) = self.compiled(Step::Text(written), place)?;
        let mut values = values.into_iter();
        let Some(Value::Text(text)) = values.next() else {
            let message = "query string argument of EXECUTE is null";
            return Err(error(b"22004", place, message).into());
        };
        let types = compiled.columns.into_iter().skip(1).map(|(_, of)| of);
        Ok((text, given(types, values)))
    }
}
