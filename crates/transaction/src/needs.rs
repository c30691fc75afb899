//! What a program needs the right to do, and whether somebody has it.
//!
//! Role         collected while a statement or a procedure is compiled, for all its branches, since
//!              it is compiled once for all who run it; asked once for each role that does, and
//!              again when definitions have changed. Nothing of it is left when a call runs
//! Invariants   I1 a need is a caller's own, or that of whoever owns the view or the function
//!                 (SECURITY DEFINER) in which it stands. Who that is, is looked up when it is
//!                 asked: an owner may be another one by then

use std::sync::Arc;

use hotrow_base::ids::ColumnId;

use crate::catalog::{
    Actor, BOOTSTRAP, Catalog, Object, ObjectKind, Privileges, ViewKind, is_temporary, local,
    schema_of,
};
use crate::outcome::SqlError;
use crate::program::{routine_name, routine_schema};

/// Whose right it has to be (I1).
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub enum By {
    /// of whoever runs the program
    #[default]
    Caller,
    /// of the owner of the view with this number
    View(u32),
    /// of the owner of the function with this name
    Function(Arc<str>),
}

/// One right that a program needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Need {
    /// whose
    pub by: By,
    /// of what
    pub object: Object,
    /// one of these
    pub one_of: Privileges,
    /// where columns have rights of their own: which it touches
    pub columns: Vec<ColumnId>,
    /// it is only said of all columns together, and so none may be missing where it touches none
    pub is_of_columns: bool,
}

/// All rights that a program needs, each once, in the order in which it is seen to need them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    all: Vec<Need>,
    /// a relation that is for superusers alone, as errors call it
    superuser_for: Option<&'static str>,
}

impl Needs {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.superuser_for.is_none()
    }

    /// Adds the right to do something with something as a whole.
    pub fn add(&mut self, by: &By, object: Object, one_of: Privileges) {
        self.need(by, object, one_of);
    }

    /// Adds the right to do something with columns of a relation.
    pub fn add_columns(
        &mut self,
        by: &By,
        object: Object,
        one_of: Privileges,
        columns: impl IntoIterator<Item = ColumnId>,
    ) {
        let need = self.need(by, object, one_of);
        need.is_of_columns = true;
        for column in columns {
            if !need.columns.contains(&column) {
                need.columns.push(column);
            }
        }
    }

    /// Whether it has this right among its own.
    pub fn has(&self, by: &By, object: &Object, one_of: Privileges) -> bool {
        let same = |need: &Need| need.object == *object && need.one_of == one_of && need.by == *by;
        self.all.iter().any(same)
    }

    /// Whether it has this right among anybody's.
    pub fn has_any_by(&self, object: &Object, one_of: Privileges) -> bool {
        self.all.iter().any(|need| need.object == *object && need.one_of == one_of)
    }

    /// Adds that a relation is for superusers alone.
    pub fn add_superuser(&mut self, relation: &'static str) {
        self.superuser_for = Some(relation);
    }

    /// Adds what something needs that this one does by itself: its caller's needs are `by`'s.
    pub fn add_all(&mut self, others: &Self, by: &By) {
        self.superuser_for = self.superuser_for.or(others.superuser_for);
        for other in &others.all {
            let by = if other.by == By::Caller { by } else { &other.by };
            let (object, columns) = (other.object.clone(), other.columns.iter().copied());
            match other.is_of_columns {
                true => self.add_columns(by, object, other.one_of, columns),
                false => self.add(by, object, other.one_of),
            }
        }
    }

    fn need(&mut self, by: &By, object: Object, one_of: Privileges) -> &mut Need {
        let same = |need: &Need| need.object == object && need.one_of == one_of && need.by == *by;
        // What is asked for is mostly what was asked for last.
        let at = self.all.iter().rposition(same).unwrap_or_else(|| {
            let (columns, is_of_columns) = (Vec::new(), false);
            self.all.push(Need { by: by.clone(), object, one_of, columns, is_of_columns });
            self.all.len() - 1
        });
        &mut self.all[at]
    }
}

impl Catalog {
    /// Fails with 42501 where a role (none: the database's maker) has not all that is needed.
    pub fn refuse_without(&self, role: Option<&str>, needs: &Needs) -> Result<(), SqlError> {
        let caller = self.rights().actor(role);
        if let Some(relation) = needs.superuser_for.filter(|_| !caller.is_superuser()) {
            return Err(denied(format!("permission denied for {relation}")));
        }
        needs.all.iter().try_for_each(|need| match &need.by {
            By::Caller => self.refuse(&caller, need),
            by => self.refuse(&self.rights().actor(self.owner_by(by)), need),
        })
    }

    /// The role whose right something has to be where it is not its caller's; none: the database's
    /// maker.
    pub fn owner_by(&self, by: &By) -> Option<&str> {
        let object = match by {
            By::Caller => return None,
            By::View(view) => Object::View(*view),
            By::Function(name) => Object::Function(Arc::clone(name)),
        };
        self.rights().owner(&object).map(|owner| &**owner)
    }

    fn refuse(&self, actor: &Actor<'_>, need: &Need) -> Result<(), SqlError> {
        let is_there = actor.is_superuser()
            || self.is_everybodys(&need.object)
            || actor.may(&need.object, self.kind_of(&need.object), need.one_of)
            || need.is_of_columns && self.may_columns(actor, need);
        if is_there { Ok(()) } else { Err(self.permission_denied(&need.object)) }
    }

    /// Whether columns have the right by themselves: all that are touched, or any where none is.
    fn may_columns(&self, actor: &Actor<'_>, need: &Need) -> bool {
        let may = |column| actor.may_column(&need.object, column, need.one_of);
        match need.columns.as_slice() {
            [] => {
                let columns = actor.rights_of_columns(&need.object);
                columns.iter().any(|(column, _)| may(*column))
            }
            columns => columns.iter().all(|column| may(*column)),
        }
    }

    /// Whether something is a session's own, or gone.
    fn is_everybodys(&self, object: &Object) -> bool {
        match object {
            Object::Table(table) => is_temporary(&self.table(*table).schema),
            Object::Schema(name) => is_temporary(name),
            _ => false,
        }
    }

    /// What kind of thing something is.
    pub fn kind_of(&self, object: &Object) -> ObjectKind {
        match object {
            Object::Database => ObjectKind::Database,
            Object::Schema(_) => ObjectKind::Schema,
            Object::Table(table) if self.table(*table).sequence.is_some() => ObjectKind::Sequence,
            Object::Table(_) | Object::View(_) => ObjectKind::Table,
            Object::Function(_) => ObjectKind::Function,
            Object::Type(_) => ObjectKind::Type,
        }
    }

    /// What something is, and its name, as messages tell them.
    pub fn described(&self, object: &Object) -> (&'static str, String) {
        match object {
            Object::Database => ("database", BOOTSTRAP.to_owned()),
            Object::Schema(name) => ("schema", name.to_string()),
            Object::Table(table) => {
                let table = self.table(*table);
                (if table.sequence.is_some() { "sequence" } else { "table" }, table.name.clone())
            }
            Object::View(number) => {
                let view = self.views().find(|view| view.id == *number);
                let what = match view.map(|view| view.kind) {
                    Some(ViewKind::Kept { .. }) => "materialized view",
                    Some(ViewKind::Partition) => "table",
                    _ => "view",
                };
                (what, view.map_or_else(String::new, |view| view.name.clone()))
            }
            Object::Function(key) => ("function", local(routine_name(key)).to_owned()),
            Object::Type(name) => ("type", local(name).to_owned()),
        }
    }

    /// The schema that something is in.
    pub fn schema_of(&self, object: &Object) -> Option<String> {
        match object {
            Object::Database | Object::Schema(_) => None,
            Object::Table(table) => Some(self.table(*table).schema.to_string()),
            Object::View(number) => {
                let view = self.views().find(|view| view.id == *number);
                view.map(|view| view.schema.clone())
            }
            Object::Function(key) => Some(routine_schema(key).to_owned()),
            Object::Type(name) => Some(schema_of(name).to_owned()),
        }
    }

    /// The error of a right that is missing.
    pub fn permission_denied(&self, object: &Object) -> SqlError {
        let (what, name) = self.described(object);
        denied(format!("permission denied for {what} {name}"))
    }

    /// Fails with 42501 unless something is somebody's, or the schema is in which it stands.
    pub fn refuse_not_owner(&self, actor: &Actor<'_>, object: &Object) -> Result<(), SqlError> {
        let of_schema = |schema: String| actor.owns(&Object::Schema(schema.into()));
        let is_own = actor.owns(object)
            || self.is_everybodys(object)
            || self.schema_of(object).is_some_and(of_schema);
        if is_own { Ok(()) } else { Err(self.must_be_owner(object)) }
    }

    /// The error of who does what only an owner may.
    pub fn must_be_owner(&self, object: &Object) -> SqlError {
        let (what, name) = self.described(object);
        denied(format!("must be owner of {what} {name}"))
    }

    /// Fails with 42501 unless somebody may do one of these with something.
    pub fn refuse_denied(
        &self,
        actor: &Actor<'_>,
        object: &Object,
        one_of: Privileges,
    ) -> Result<(), SqlError> {
        let may = self.is_everybodys(object) || actor.may(object, self.kind_of(object), one_of);
        if may { Ok(()) } else { Err(self.permission_denied(object)) }
    }
}

/// 42501
pub fn denied(message: String) -> SqlError {
    SqlError::new(b"42501", message)
}
