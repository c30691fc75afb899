//! What COMMENT says of things.

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId};
use rpds::RedBlackTreeMapSync;

use super::rights::Object;

/// What of a thing a comment is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CommentedPart {
    /// the thing itself
    Whole,
    /// a column of it
    Column(ColumnId),
    /// an index of a table
    Index(IndexId),
    /// a constraint of a table or of a domain, by its name
    Constraint(Arc<str>),
    /// a trigger, by its name
    Trigger(Arc<str>),
    /// a policy, by its name
    Policy(Arc<str>),
}

/// What a comment is about.
pub type Commented = (Object, CommentedPart);

/// All comments there are.
#[derive(Clone, Default, Debug)]
pub struct Comments {
    texts: RedBlackTreeMapSync<Commented, Arc<str>>,
}

impl Comments {
    /// All of them, by what they are about.
    pub fn iter(&self) -> impl Iterator<Item = (&Object, &CommentedPart, &str)> {
        self.texts.iter().map(|((object, part), text)| (object, part, &**text))
    }

    /// Says something; none: nothing more.
    pub(super) fn set(&mut self, about: Commented, text: Option<&str>) {
        match text {
            Some(text) => self.texts.insert_mut(about, text.into()),
            None => {
                self.texts.remove_mut(&about);
            }
        }
    }

    /// What is said of a thing and of its parts.
    fn of(&self, object: &Object) -> Vec<(CommentedPart, Arc<str>)> {
        let from = (object.clone(), CommentedPart::Whole);
        let all = self.texts.range(from..).take_while(|((of, _), _)| of == object);
        all.map(|((_, part), text)| (part.clone(), Arc::clone(text))).collect()
    }

    /// Forgets a thing that there is no more.
    pub(super) fn forget(&mut self, object: &Object) {
        for (part, _) in self.of(object) {
            self.texts.remove_mut(&(object.clone(), part));
        }
    }

    /// A thing that has become another one.
    pub(super) fn move_to(&mut self, object: &Object, next: &Object) {
        for (part, text) in self.of(object) {
            self.texts.remove_mut(&(object.clone(), part.clone()));
            self.texts.insert_mut((next.clone(), part), text);
        }
    }

    /// Has columns' comments stand where the columns do; none: one is gone.
    pub(super) fn move_columns(&mut self, object: &Object, now_at: &[Option<ColumnId>]) {
        let columns = self.of(object).into_iter().filter_map(|(part, text)| match part {
            CommentedPart::Column(column) => Some((column, text)),
            _ => None,
        });
        let columns: Vec<_> = columns.collect();
        for (column, _) in &columns {
            self.texts.remove_mut(&(object.clone(), CommentedPart::Column(*column)));
        }
        for (column, text) in columns {
            if let Some(Some(next)) = now_at.get(column.index()) {
                self.texts.insert_mut((object.clone(), CommentedPart::Column(*next)), text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_base::ids::TableId;

    #[test]
    fn comments_go_with_what_they_are_about() {
        let (one, other) = (Object::Table(TableId(1)), Object::Table(TableId(2)));
        let column = |at| CommentedPart::Column(ColumnId(at));
        let mut comments = Comments::default();
        comments.set((one.clone(), CommentedPart::Whole), Some("a table"));
        comments.set((one.clone(), column(0)), Some("gone"));
        comments.set((one.clone(), column(1)), Some("moved"));
        comments.set((other.clone(), CommentedPart::Trigger("t".into())), Some("a trigger"));
        comments.move_columns(&one, &[None, Some(ColumnId(0))]);
        let of_one = [(CommentedPart::Whole, "a table".into()), (column(0), "moved".into())];
        assert_eq!(comments.of(&one), of_one);
        comments.move_to(&one, &Object::View(7));
        assert_eq!(comments.of(&one), []);
        assert_eq!(comments.of(&Object::View(7)), of_one);
        comments.forget(&Object::View(7));
        comments.set((other, CommentedPart::Trigger("t".into())), None);
        assert_eq!(comments.iter().count(), 0);
    }
}
