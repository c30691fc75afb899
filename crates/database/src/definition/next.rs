//! What a definition makes of the schema, and how that is put in force.

use hotrow_base::ids::ProcedureId;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Quiet, Schema, SharedSchema, Unfilled};
use hotrow_sql::CatalogChange;
use hotrow_transaction::outcome::{Notice, SqlError};
use parking_lot::RwLock;

use super::rows_anew::check_constraints;
use super::sources::{Definition, Sources};
use crate::rows::Rows;

/// Texts of procedures, as [`Next`] has them.
pub(super) type Texts = Vec<(ProcedureId, Option<String>)>;

/// What a definition has changed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Defined {
    /// something is another than before
    #[default]
    Something,
    /// rows went; tables are as before
    Rows,
}

/// What a definition makes of the schema in force, as far as that needs no rows: made while calls
/// run, and good for as long as no other schema is in force.
pub(crate) struct Next {
    schema: Schema,
    unfilled: Unfilled,
    /// CREATE, ALTER and DROP of tables and indexes
    changes: Vec<CatalogChange>,
    noted: Noted,
    /// what whoever has made it is told
    said: Vec<Notice>,
}

/// What is noted of a definition that has taken effect.
#[derive(Default)]
struct Noted {
    /// texts of procedures, none for those that go
    texts: Texts,
    keeps_statement: bool,
    defined: Defined,
}

impl Next {
    /// What whoever has made it is told, as its answer.
    pub(crate) fn take_answer(&mut self) -> Rows {
        let mut rows = Rows::default();
        rows.notices_mut().append(&mut self.said);
        rows
    }

    pub(super) fn new(schema: Schema, unfilled: Unfilled) -> Self {
        Self { schema, unfilled, changes: Vec::new(), noted: Noted::default(), said: Vec::new() }
    }

    /// It changes the catalog so.
    pub(super) fn with_changes(self, changes: Vec<CatalogChange>) -> Self {
        Self { changes, ..self }
    }

    /// Whoever has made it is told so.
    pub(super) fn saying(self, said: Vec<Notice>) -> Self {
        Self { said, ..self }
    }

    /// Procedures come and go with their texts.
    pub(super) fn with_texts(mut self, texts: Texts) -> Self {
        self.noted.texts = texts;
        self
    }

    /// It keeps a statement as a procedure.
    pub(super) fn keeping_statement(mut self) -> Self {
        self.noted.keeps_statement = true;
        self
    }

    /// It changes rows only.
    pub(super) fn of_rows(mut self) -> Self {
        self.noted.defined = Defined::Rows;
        self
    }

    /// Puts it in force in place of the schema that it was made of.
    ///
    /// # Errors
    ///
    /// Rows that there are violate what is asked of them, or there is no memory for them.
    pub(crate) fn put_in_force(
        self,
        quiet: &Quiet<'_>,
        sources: &mut Sources,
        entry: &TextEntry<'_>,
    ) -> Result<(), SqlError> {
        let Self { schema, unfilled, changes, noted, .. } = self;
        schema.fill(&unfilled)?;
        check_constraints(&schema, &changes)?;
        let before = quiet.schema();
        quiet.replace(schema);
        sources.set_views(&before.catalog, &changes);
        noted.note(sources, entry);
        Ok(())
    }

    /// Whether it can be [added](Next::add) while calls run.
    pub(crate) fn adds_only(&self) -> bool {
        self.unfilled.adds_only() && self.changes.is_empty()
    }

    /// Adds what it defines to the schema with this number, of which it was made, while calls run.
    /// `tell` tells the log, and what it gives is given. None, and nothing is done, if it takes a
    /// quiet point after all.
    ///
    /// # Errors
    ///
    /// Those of `tell`; nothing is done then.
    pub(crate) fn add<R>(
        self,
        (shared, made_of): (&SharedSchema, u64),
        sources: &RwLock<Sources>,
        entry: &TextEntry<'_>,
        tell: impl FnOnce() -> Result<R, SqlError>,
    ) -> Option<Result<R, SqlError>> {
        let Self { schema, noted, .. } = self;
        shared.add((schema, made_of), || {
            let told = tell()?;
            // Here, where no quiet point is: who has one may wait for these.
            noted.note(&mut sources.write(), entry);
            Ok(told)
        })
    }
}

impl Noted {
    fn note(self, sources: &mut Sources, entry: &TextEntry<'_>) {
        let Self { texts, keeps_statement, defined } = self;
        texts.into_iter().for_each(|(id, text)| sources.set(id, text));
        sources.count_statement(keeps_statement);
        if defined == Defined::Something {
            sources.note(Definition { place: entry.place, text: entry.text.to_owned() });
        }
    }
}
