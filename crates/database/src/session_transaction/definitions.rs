//! Definitions in the session's open transaction.

use hotrow_base::ids::TableId;
use hotrow_sql::ScriptStatement;

use super::{SessionTransaction, begin_soon};
use crate::context::Context;
use crate::defining::{TakenBack, define, define_inside};
use crate::error::Error;
use crate::numbers::{AtQuietPoint, storing};
use crate::prepare::prepare_own;
use crate::reply::Reply;
use crate::rows::Rows;
use crate::transaction::{Extent, read_only};

impl SessionTransaction {
    /// Has definitions be part of the transaction of BEGIN that is open, if one is; a batch's is
    /// committed. Where statements lock what they touch, it goes on as another one, which has what
    /// was changed so far in hand.
    pub(crate) fn begin_definitions(&mut self, context: &Context, what: &str) -> Result<(), Error> {
        let is_block = self.open.as_ref().is_some_and(|open| open.extent() == Extent::Block);
        if !is_block && context.settings().often_asked().is_read_only {
            return Err(read_only(what).into());
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.extent() == Extent::Batch {
            return self.commit(context).map(drop);
        }
        self.have_definitions(context, what)
    }

    /// Has the next definition be part of the open transaction, or batch, if there is one.
    pub(crate) fn have_definitions(&mut self, context: &Context, what: &str) -> Result<(), Error> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.refuse_definition(what)?;
        let companion = Box::new(TakenBack::new(&context.core));
        if open.can_define() {
            return Ok(open.begin_definitions(companion)?);
        }
        let Some(definers) = &context.core.definers else {
            return Err(context.core.no_transactions().into());
        };
        let mut engine = begin_soon(definers, &self.interrupt)?;
        engine.limit_idle(self.idle_limit);
        Ok(open.begin_definitions_as(engine, companion)?)
    }

    /// Makes a definition, in the open transaction if it has some.
    pub(crate) fn define(
        &mut self,
        context: &Context,
        statement: &ScriptStatement,
    ) -> Result<Rows, Error> {
        match self.open.as_mut().filter(|open| open.defines()) {
            Some(open) => define_inside(context, open, statement),
            None => define(context, statement),
        }
    }

    /// Of a transaction with definitions: has its quiet point stay in hand up to
    /// [`SessionTransaction::put_down`], so that numbers can be taken there.
    pub(crate) fn take_up(&mut self, context: &Context) -> Option<AtQuietPoint> {
        let open = self.open.as_mut().filter(|open| open.defines())?;
        // One that was ended is told by its next statement.
        open.take_up().is_ok().then(|| AtQuietPoint::begin(context))
    }

    /// See [`SessionTransaction::take_up`].
    pub(crate) fn put_down(&mut self, taken: Option<AtQuietPoint>) {
        drop(taken);
        if let Some(open) = &mut self.open {
            open.put_down();
        }
    }

    /// Has the tables of sequences that the transaction has made itself say how far they are.
    pub(super) fn store_numbers(&mut self, context: &Context) -> Result<(), Error> {
        for (id, (last, is_called)) in context.core.sequences.take_unstored() {
            let schema = context.core.schema.current();
            let table = schema.catalog.tables().at(id.index());
            let Some(table) = table.filter(|table| table.sequence.is_some()) else { continue };
            let name = table.qualified_name();
            let text = storing(&name, &last.to_string(), &is_called.to_string());
            let prepared = prepare_own(context, self, &text, &[])?;
            self.statement(context, (&prepared, &[])).transpose()?;
        }
        Ok(())
    }

    /// Makes way for a definition that is part of no transaction: a batch's is committed, and one
    /// of BEGIN is, too, if only rows of tables go with it that it has made itself. Otherwise fails
    /// with 25001.
    pub(crate) fn make_way(&mut self, context: &Context, what: &str) -> Result<(), Error> {
        let Some(open) = self.open.as_mut().filter(|open| !open.defines()) else { return Ok(()) };
        if open.extent() == Extent::Batch {
            return self.commit(context).map(drop);
        }
        let durable_in = open.make_way(what)?;
        context.settle(Reply::new(Ok(Rows::default()), durable_in)).map(drop)
    }

    /// Notes that tables were made that go with the session.
    pub(crate) fn has_created(&mut self, created: impl Iterator<Item = TableId>) {
        if let Some(open) = &mut self.open {
            open.has_created(created);
        }
    }
}
