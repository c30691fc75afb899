//! A list by dense ids, of which a changed one shares what is the same with the one before.
//!
//! Role         tables and indexes of a catalog. A clone costs a pointer for each that is there,
//!              counted up: estimated to be less than the rest of a definition until there are tens
//!              of thousands (not measured). What was dropped costs a null pointer
//! Invariants   I1 an id is given once: what was taken out leaves its place empty

use std::sync::Arc;

/// Values by id; an id may have none.
#[derive(Debug)]
pub struct ById<T> {
    all: Vec<Option<Arc<T>>>,
}

impl<T> ById<T> {
    /// How many ids were given, those of what was dropped included.
    #[inline]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether no id was given yet.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What has this id; none: it was dropped, or never there.
    #[inline(always)]
    pub fn at(&self, id: usize) -> Option<&T> {
        self.all.get(id)?.as_deref()
    }

    /// All that are there, by id.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.all.iter().filter_map(Option::as_deref)
    }

    /// The ids of what is not the same in a list that this one was changed into.
    pub fn changed<'a>(&'a self, next: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let address =
            |list: &'a Self, id: usize| list.all.get(id).and_then(Option::as_ref).map(Arc::as_ptr);
        (0..self.len().max(next.len())).filter(move |&id| address(self, id) != address(next, id))
    }

    pub(super) fn push(&mut self, new: T) {
        self.all.push(Some(Arc::new(new)));
    }

    /// Takes the last id back.
    pub(super) fn pop(&mut self) {
        self.all.pop();
    }

    /// Takes out what has this id.
    pub(super) fn take(&mut self, id: usize) -> Option<Arc<T>> {
        self.all.get_mut(id)?.take()
    }
}

impl<T: Clone> ById<T> {
    /// What has this id, which is there, to change it: a copy where others share it.
    pub(super) fn change(&mut self, id: usize) -> &mut T {
        let there = self.all[id].as_mut().expect("only what is there is changed");
        Arc::make_mut(there)
    }
}

impl<T> Clone for ById<T> {
    fn clone(&self) -> Self {
        Self { all: self.all.clone() }
    }
}

impl<T> Default for ById<T> {
    fn default() -> Self {
        Self { all: Vec::new() }
    }
}
