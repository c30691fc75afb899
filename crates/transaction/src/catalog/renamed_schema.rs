//! A schema that gets another name.
//!
//! Role         moves what is kept by the names of schemas. Texts of definitions, and routines,
//!              are whoever's who can read them (`sql`, `hotrow`)

use std::sync::Arc;

use super::{Catalog, Object, View, schemas};

impl Catalog {
    /// Gives a schema, in which whatever stands stays, another name.
    pub fn rename_schema(&mut self, from: &str, to: &str) {
        let Some(number) = self.schemas.get(from).copied() else { return };
        self.schemas.remove_mut(from);
        self.schemas.insert_mut(to.to_owned(), number);
        self.move_object(&Object::Schema(from.into()), &Object::Schema(to.into()));
        self.rights.rename_schema(from, to);
        let is_in = |schema: &str| schema == from;
        let tables = self.tables.iter().filter(|table| is_in(&table.schema));
        for table in tables.map(|table| table.id).collect::<Vec<_>>() {
            self.move_table(table, to);
        }
        let views = self.views.values().filter(|view| is_in(&view.schema));
        for view in views.cloned().collect::<Vec<_>>() {
            self.views.remove_mut(&view.key());
            let view = View { schema: to.to_owned(), ..View::clone(&view) };
            self.views.insert_mut(view.key(), Arc::new(view));
        }
        let types = self.types().filter(|(schema, ..)| is_in(schema));
        let types = types.map(|(_, name, named)| (name.to_owned(), Arc::clone(named)));
        for (name, named) in types.collect::<Vec<_>>() {
            self.types.remove_mut(&*schemas::key_in(from, &name));
            self.types.insert_mut(schemas::key_in(to, &name).into_owned(), named);
            self.move_object(&Object::type_in(from, &name), &Object::type_in(to, &name));
        }
    }
}
