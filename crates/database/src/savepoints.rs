//! Names of a transaction's savepoints, oldest first.
//!
//! Role         the transaction and the settings each keep one, and number what they can go back to
//!              by it. Two savepoints may have one name: the younger one hides the other
//! Invariants   I1 finding one takes no longer with many of them: a client may make as many as its
//!              changes, and ask for one that is not there each time

use std::collections::HashMap;

/// The open savepoints of one transaction, oldest first; a name may be there twice.
#[derive(Default, Debug)]
pub(crate) struct SavepointNames {
    /// by number
    names: Vec<String>,
    /// the numbers of those with a name, ascending; never empty
    numbers: HashMap<String, Vec<usize>>,
}

impl SavepointNames {
    /// How many there are; the number of the next one.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds the youngest one.
    pub(crate) fn push(&mut self, name: String) {
        self.numbers.entry(name.clone()).or_default().push(self.names.len());
        self.names.push(name);
    }

    /// The number of the youngest one with this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name)?.last().copied()
    }

    /// Forgets all but the `len` oldest ones.
    pub(crate) fn truncate(&mut self, len: usize) {
        for name in self.names.drain(len.min(self.names.len())..).rev() {
            if let Some(numbers) = self.numbers.get_mut(&name) {
                numbers.pop();
                if numbers.is_empty() {
                    self.numbers.remove(&name);
                }
            }
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default(); // with what room it took
    }
}

#[cfg(test)]
mod tests {
    use super::SavepointNames;

    #[test]
    fn the_youngest_of_a_name_is_found_until_it_is_gone() {
        let mut names = SavepointNames::default();
        ["a", "b", "a"].iter().for_each(|name| names.push((*name).to_owned()));
        assert_eq!((names.find("a"), names.find("b"), names.find("c")), (Some(2), Some(1), None));
        names.truncate(2);
        assert_eq!((names.find("a"), names.len()), (Some(0), 2), "the one that was hidden");
        names.truncate(5);
        assert_eq!(names.len(), 2);
        names.truncate(0);
        assert!(names.is_empty() && names.numbers.is_empty(), "nothing is kept");
    }
}
