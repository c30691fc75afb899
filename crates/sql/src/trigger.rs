//! CREATE TRIGGER, DROP TRIGGER, and ENABLE and DISABLE TRIGGER of ALTER TABLE.
//!
//! Role         makes of them what the table's description says of its triggers
//! Invariants   I1 a trigger compiles for its table when it is made: what it does that cannot be
//!                 done here is refused then, and not by the first statement that fires it
//! Source       PostgreSQL 15, CREATE TRIGGER

use std::sync::Arc;

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{
    Table, Trigger, TriggerEvent, TriggerFunction, TriggerLevel, TriggerTiming,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::apply::apply;
use crate::changes::{CatalogChange, left_out};
use crate::error::{Advice, Result, constraint_taken, error, unsupported};
use crate::keyless::lacks_key;
use crate::mention::may_name;
use crate::scope::Compiler;
use crate::trigger_syntax::{DropTriggerSyntax, TriggerSyntax};

impl<'c> Compiler<'c> {
    /// CREATE [OR REPLACE] TRIGGER.
    pub(crate) fn create_trigger(&mut self, written: &TriggerSyntax) -> Result<CatalogChange> {
        let (name, place) = (&written.name, written.place);
        let (table, at) = (&written.table.0, written.table.1);
        if let Some(view) = self.view_named(table).filter(|view| view.partition.is_none()) {
            return self.create_view_trigger(view, written);
        }
        let table = self.table(table, at)?;
        if written.timing == TriggerTiming::Instead {
            return Err(error(b"42809", at, format!("\"{}\" is a table", table.name))
                .detail("Tables cannot have INSTEAD OF triggers."));
        }
        if !written.or_replace && table.triggers.iter().any(|other| other.name == *name) {
            let of = &table.name;
            let message = format!("trigger \"{name}\" for relation \"{of}\" already exists");
            return Err(error(b"42710", place, message));
        }
        refuse_truncate_of_rows(written)?;
        refuse_transition(written)?;
        let mut columns: Vec<ColumnId> = Vec::new();
        for (column, at) in &written.columns {
            let id = self.table_column(table, column, *at)?;
            if columns.contains(&id) {
                let message = format!("column \"{column}\" specified more than once");
                return Err(error(b"42701", *at, message));
            }
            columns.push(id);
        }
        refuse_without_key(table, written)?;
        let function = self.trigger_function(&written.function)?;
        let trigger = Trigger {
            name: name.clone(),
            timing: written.timing,
            level: written.level,
            events: written.events.clone(),
            columns,
            when: written.when.as_ref().map(|(text, _)| text.clone()),
            transition: written.transition.clone(),
            function,
            arguments: written.arguments.clone(),
            is_enabled: true,
            constraint: written.constraint,
        };
        let named = written.constraint.map(|_| self.constraint_names(table));
        if named.is_some_and(|known| known.contains(&name.as_str())) {
            return Err(constraint_taken(name, &table.name, place));
        }
        self.check_condition(table, &trigger, written.when.as_ref().map_or(place, |of| of.1))?;
        let change = CatalogChange::SetTrigger { table: table.id, trigger };
        self.check_trigger(&change, table, name, place)?;
        Ok(change)
    }

    pub(crate) fn trigger_function(
        &self,
        (name, place): &(String, Place),
    ) -> Result<Arc<TriggerFunction>> {
        let known = self.routines_seen(name);
        let Some(known) = known.into_iter().find(|of| of.given().is_empty()) else {
            let message = format!("function {name}() does not exist");
            return Err(error(b"42883", *place, message)
                .hint("CREATE FUNCTION ... RETURNS trigger before the trigger"));
        };
        known.trigger.clone().ok_or_else(|| {
            let message = format!("function {name} must return type trigger");
            error(b"42P17", *place, message)
        })
    }

    /// Compiles what fires for each event (I1).
    fn check_trigger(
        &self,
        change: &CatalogChange,
        table: &Table,
        name: &str,
        place: Place,
    ) -> Result<()> {
        let mut catalog = self.catalog.clone();
        apply(&mut catalog, change)?;
        let table = catalog.table(table.id);
        let Some(trigger) = table.triggers.iter().find(|trigger| trigger.name == name) else {
            return Ok(());
        };
        for event in &trigger.events {
            self.try_out(&catalog, place, |trial| trial.try_trigger(table, trigger, *event))?;
        }
        Ok(())
    }

    /// DROP TRIGGER.
    pub(crate) fn drop_trigger(&mut self, written: &DropTriggerSyntax) -> Result<CatalogChange> {
        let DropTriggerSyntax { name, place, if_exists, table } = written;
        if let Some(view) = self.view_named(table) {
            return self.drop_view_trigger(view, written);
        }
        let Some(known) = self.table_named(table) else {
            if *if_exists {
                let text = format!("relation \"{table}\" does not exist, skipping");
                return Ok(CatalogChange::Nothing(left_out(text)));
            }
            return Err(error(b"42P01", *place, format!("relation \"{table}\" does not exist")));
        };
        if known.triggers.iter().any(|trigger| trigger.name == *name) {
            return Ok(CatalogChange::DropTrigger { table: known.id, name: name.clone() });
        }
        if *if_exists {
            let text = format!("trigger \"{name}\" for relation \"{table}\" does not exist");
            return Ok(CatalogChange::Nothing(left_out(format!("{text}, skipping"))));
        }
        Err(no_trigger(name, table, *place))
    }
}

/// ALTER TABLE ... ENABLE and DISABLE TRIGGER of one trigger, or of all.
pub(crate) fn switched(
    table: &Table,
    name: &str,
    is_enabled: bool,
    place: Place,
) -> Result<Vec<CatalogChange>> {
    let is_all = name == "all" || name == "user";
    let changed = table.triggers.iter().filter(|trigger| is_all || trigger.name == name);
    let changes: Vec<_> = changed
        .map(|trigger| {
            let trigger = Trigger { is_enabled, ..trigger.clone() };
            CatalogChange::SetTrigger { table: table.id, trigger }
        })
        .collect();
    match (changes.is_empty(), is_all) {
        (true, false) => Err(no_trigger(name, &table.name, place)),
        (true, true) => {
            let text = format!("table \"{}\" has no triggers", table.name);
            Ok(vec![CatalogChange::Nothing(left_out(text))])
        }
        _ => Ok(changes),
    }
}

/// The trigger of a table that a column is needed by.
pub(crate) fn trigger_with(table: &Table, column: ColumnId) -> Option<&Trigger> {
    let name = &table.columns[column.index()].name;
    let names = |text: &String| may_name(text, name);
    let mut triggers = table.triggers.iter();
    triggers.find(|of| of.columns.contains(&column) || of.when.as_ref().is_some_and(names))
}

pub(crate) fn no_trigger(name: &str, table: &str, place: Place) -> SqlError {
    error(b"42704", place, format!("trigger \"{name}\" for table \"{table}\" does not exist"))
}

/// Rows are told apart by their primary key where they are changed one by one.
fn refuse_without_key(table: &Table, written: &TriggerSyntax) -> Result<()> {
    let changes_rows = written.events.iter().any(|event| *event != TriggerEvent::Insert);
    if table.primary.is_some() || written.level == TriggerLevel::Statement || !changes_rows {
        return Ok(());
    }
    Err(lacks_key(table, "a trigger for each row that UPDATE or DELETE changes,", written.table.1))
}

fn refuse_truncate_of_rows(written: &TriggerSyntax) -> Result<()> {
    if written.level == TriggerLevel::Row && written.events.contains(&TriggerEvent::Truncate) {
        let message = "TRUNCATE FOR EACH ROW triggers are not supported";
        return Err(error(b"0A000", written.place, message).hint("write FOR EACH STATEMENT"));
    }
    Ok(())
}

fn refuse_transition(written: &TriggerSyntax) -> Result<()> {
    let place = written.place;
    let [old, new] = &written.transition;
    if old.is_none() && new.is_none() {
        return Ok(());
    }
    let wrong = |message: &str| Err(error(b"42P17", place, message));
    if written.timing == TriggerTiming::Before {
        return wrong("transition table name can only be specified for an AFTER trigger");
    }
    if written.events.contains(&TriggerEvent::Truncate) {
        let message = "TRUNCATE triggers with transition tables are not supported";
        return Err(error(b"0A000", place, message).hint("leave REFERENCING out"));
    }
    if written.events.len() > 1 {
        let message = "transition tables cannot be specified for triggers with more than one event";
        return Err(error(b"0A000", place, message).hint("make one trigger for each event"));
    }
    if !written.columns.is_empty() {
        let message = "transition tables cannot be specified for triggers with column lists";
        return Err(error(b"0A000", place, message).hint("leave OF out"));
    }
    if written.level == TriggerLevel::Row {
        let advice = "write FOR EACH STATEMENT";
        return Err(unsupported(place, "REFERENCING of a trigger FOR EACH ROW", advice));
    }
    match written.events.as_slice() {
        [TriggerEvent::Insert] if old.is_some() => {
            wrong("OLD TABLE can only be specified for a DELETE or UPDATE trigger")
        }
        [TriggerEvent::Delete] if new.is_some() => {
            wrong("NEW TABLE can only be specified for an INSERT or UPDATE trigger")
        }
        _ if old == new => wrong("OLD TABLE name and NEW TABLE name cannot be the same"),
        _ => Ok(()),
    }
}

impl Compiler<'_> {
    /// Fails where WHEN reads rows that there are none of.
    fn check_condition(&self, table: &Table, trigger: &Trigger, place: Place) -> Result<()> {
        let Some(when) = &trigger.when else { return Ok(()) };
        let wrong = |message: &str| Err(error(b"42P17", place, message));
        let names = |record| may_name(when, record);
        if trigger.level == TriggerLevel::Statement && (names("old") || names("new")) {
            return wrong("statement trigger's WHEN condition cannot reference column values");
        }
        if trigger.events.contains(&TriggerEvent::Insert) && names("old") {
            return wrong("INSERT trigger's WHEN condition cannot reference OLD values");
        }
        if trigger.events.contains(&TriggerEvent::Delete) && names("new") {
            return wrong("DELETE trigger's WHEN condition cannot reference NEW values");
        }
        let mut computed = table.generated.iter();
        let reads = |column: ColumnId| {
            let column = &table.columns[column.index()].name;
            when.to_lowercase().contains(&format!("new.{column}"))
        };
        if trigger.timing == TriggerTiming::Before
            && let Some(generated) = computed.find(|generated| reads(generated.column))
        {
            let column = &table.columns[generated.column.index()].name;
            let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
            return Err(error(b"42P17", place, message)
                .detail(format!("Column \"{column}\" is a generated column.")));
        }
        Ok(())
    }
}
