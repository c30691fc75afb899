//! Which procedures and views mention a name in their texts.
//!
//! Role         tells a definition what it may concern, so that nothing else is compiled again
//! Invariants   I1 who names something is among those that [mention](Mentions::of) it; others may
//!                 be, too: they are compiled again for nothing

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_sql::mention::{key_of, words};
use hotrow_transaction::catalog::local;

/// Who has a text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mentioner {
    /// a procedure
    Procedure(ProcedureId),
    /// a view, by its name
    View(Arc<str>),
}

/// By word, the procedures and views whose texts have it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mentions {
    /// by word; all of them under the empty one, for names without words
    by_word: HashMap<Box<str>, BTreeSet<Mentioner>>,
}

impl Mentions {
    /// Adds somebody with a text.
    pub(crate) fn note(&mut self, who: &Mentioner, text: &str) {
        for word in words(text).chain([String::new()]) {
            self.by_word.entry(word.into()).or_default().insert(who.clone());
        }
    }

    /// Takes somebody out, with the text that was noted.
    pub(crate) fn forget(&mut self, who: &Mentioner, text: &str) {
        for word in words(text).chain([String::new()]) {
            let Some(mentioners) = self.by_word.get_mut(word.as_str()) else { continue };
            mentioners.remove(who);
            if mentioners.is_empty() {
                self.by_word.remove(word.as_str());
            }
        }
    }

    /// Who mentions a name.
    pub(crate) fn of(&self, name: &str) -> impl Iterator<Item = &Mentioner> {
        let key = key_of(name).unwrap_or_default();
        self.by_word.get(key.as_str()).into_iter().flatten()
    }

    /// The views that mention one of these names, or a view that does.
    pub(crate) fn views(&self, names: impl IntoIterator<Item = String>) -> BTreeSet<String> {
        let mut names: Vec<String> = names.into_iter().collect();
        let mut found = BTreeSet::new();
        while let Some(name) = names.pop() {
            for mentioner in self.of(&name) {
                if let Mentioner::View(view) = mentioner
                    && found.insert(view.to_string())
                {
                    names.push(local(view).to_owned());
                }
            }
        }
        found
    }
}
