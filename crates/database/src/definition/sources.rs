//! The texts of what was defined.
//!
//! Role         kept to compile procedures again, for a checkpoint, and for whoever asks for them

use hotrow_base::ids::ProcedureId;
use hotrow_sql::{CatalogChange, renamed_in_text, split_path};
use hotrow_transaction::catalog::{Catalog, qualified};
use hotrow_transaction::program::Place;

use crate::mentions::{Mentioner, Mentions};

/// The texts of the registered procedures, by id, and of all definitions.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    by_id: Vec<Option<String>>,
    history: Vec<Definition>,
    mentions: Mentions,
    statements: usize,
}

/// A definition that took effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Definition {
    /// where it stood in its script
    pub(crate) place: Place,
    /// the statement
    pub(crate) text: String,
}

impl Sources {
    /// All definitions that took effect, in order: executed again from nothing, they give the same
    /// tables, indexes and procedures with the same ids, those dropped since included.
    pub(crate) fn history(&self) -> &[Definition] {
        &self.history
    }

    pub(super) fn note(&mut self, definition: Definition) {
        self.history.push(definition);
    }

    /// Which procedures and views mention a name.
    pub(super) fn mentions(&self) -> &Mentions {
        &self.mentions
    }

    /// How many statements were kept, those that are gone included.
    pub(crate) fn statements(&self) -> usize {
        self.statements
    }

    pub(super) fn count_statement(&mut self, is_one: bool) {
        self.statements += usize::from(is_one);
    }

    pub(super) fn set(&mut self, id: ProcedureId, source: Option<String>) {
        if self.by_id.len() <= id.index() {
            self.by_id.resize(id.index() + 1, None);
        }
        let who = Mentioner::Procedure(id);
        if let Some(old) = self.by_id[id.index()].take() {
            self.mentions.forget(&who, &old);
        }
        source.iter().for_each(|source| self.mentions.note(&who, source));
        self.by_id[id.index()] = source;
    }

    /// Takes over the texts of views that were made, replaced or dropped.
    pub(super) fn set_views(&mut self, before: &Catalog, changes: &[CatalogChange]) {
        for change in changes {
            if let CatalogChange::RenameSchema { name, to } = change {
                self.rename_schema(before, (name, to));
            }
            let (name, text) = match change {
                CatalogChange::SetView(view) => (view.qualified_name(), Some(&view.text)),
                CatalogChange::DropView(name) => (name.clone(), None),
                CatalogChange::RenameView { name, to } => {
                    let Some(old) = before.view(name) else { continue };
                    let renamed = Mentioner::View(qualified(&old.schema, to).as_str().into());
                    self.mentions
                        .forget(&Mentioner::View(old.qualified_name().as_str().into()), &old.text);
                    self.mentions.note(&renamed, &old.text);
                    continue;
                }
                _ => continue,
            };
            let who = Mentioner::View(name.as_str().into());
            if let Some(old) = before.view(&name) {
                self.mentions.forget(&who, &old.text);
            }
            text.iter().for_each(|text| self.mentions.note(&who, text));
        }
    }

    fn rename_schema(&mut self, before: &Catalog, (from, to): (&str, &str)) {
        for view in before.views() {
            let next = if view.schema == from { to } else { &view.schema };
            let next = qualified(next, &view.name);
            let old = Mentioner::View(view.qualified_name().as_str().into());
            self.mentions.forget(&old, &view.text);
            let text = renamed_in_text(&view.text, from, to);
            self.mentions.note(&Mentioner::View(next.as_str().into()), &text);
        }
    }

    pub(crate) fn get(&self, id: ProcedureId) -> Option<&str> {
        self.by_id.get(id.index())?.as_deref()
    }

    /// The text of a procedure as it was written, without the blanks of [`at_place`] and its path.
    pub(crate) fn text(&self, id: ProcedureId) -> &str {
        split_path(self.get(id).unwrap_or_default().trim_start()).1
    }
}
