//! Triggers as the system catalog and the information schema list them.

use hotrow_base::quote::identifier as quoted;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Column, Deferral, Trigger, TriggerEvent, TriggerLevel, TriggerTiming, local,
};
use hotrow_transaction::program::{routine_name, routine_schema};

use crate::relation::system::cells::{name_from, tables, text, views};

use super::numbers::{PROCEDURES, TABLES, TRIGGERS, VIEW_TRIGGERS, VIEWS};
use super::{Fields, SystemContext};

/// `tgtype`: bits of PostgreSQL's.
fn bits(trigger: &Trigger) -> i16 {
    let of_event = |event: &TriggerEvent| match event {
        TriggerEvent::Insert => 4,
        TriggerEvent::Delete => 8,
        TriggerEvent::Update => 16,
        TriggerEvent::Truncate => 32,
    };
    let row = i16::from(trigger.level == TriggerLevel::Row);
    let when = match trigger.timing {
        TriggerTiming::Before => 2,
        TriggerTiming::After => 0,
        TriggerTiming::Instead => 64,
    };
    row + when + trigger.events.iter().map(of_event).sum::<i16>()
}

/// A trigger, and what it is of.
struct Listed<'c> {
    oid: i64,
    trigger: &'c Trigger,
    /// all of the table, or the view
    beside: &'c [Trigger],
    /// the number of that
    relation: i64,
    schema: &'c str,
    name: &'c str,
    /// columns of a table
    columns: &'c [Column],
}

/// Triggers of tables, then those of views.
fn all<'c>(context: &SystemContext<'c>) -> Vec<Listed<'c>> {
    let mut listed = Vec::new();
    for table in tables(context) {
        for (at, trigger) in table.triggers.iter().enumerate() {
            listed.push(Listed {
                oid: TRIGGERS.of_part(table.id.index(), at),
                trigger,
                beside: &table.triggers,
                relation: TABLES.of(table.id.index()),
                schema: &table.schema,
                name: &table.name,
                columns: &table.columns,
            });
        }
    }
    for view in views(context) {
        for (at, trigger) in view.triggers.iter().enumerate() {
            listed.push(Listed {
                oid: VIEW_TRIGGERS.of_part(view.id as usize, at),
                trigger,
                beside: &view.triggers,
                relation: VIEWS.of(view.id as usize),
                schema: &view.schema,
                name: &view.name,
                columns: &[],
            });
        }
    }
    listed
}

/// Rows of `pg_trigger`.
pub(super) fn rows(context: &SystemContext<'_>) -> Vec<Fields> {
    let number = |name: &str| {
        let known = context.procedures.iter().find(|(_, procedure, _)| procedure.name == name);
        known.map_or(0, |(id, ..)| PROCEDURES.of(*id as usize))
    };
    let row = |Listed { oid, trigger, relation, .. }: Listed<'_>| {
        let columns = trigger.columns.iter();
        let columns = columns.map(|column| Value::SmallInt(column.0 as i16 + 1)).collect();
        let name = |at: usize| trigger.transition[at].as_ref().map_or(Value::Null, text);
        vec![
            ("oid", Value::BigInt(oid)),
            ("tgrelid", Value::BigInt(relation)),
            ("tgparentid", Value::BigInt(0)),
            ("tgname", text(&trigger.name)),
            ("tgfoid", Value::BigInt(number(&trigger.function.name))),
            ("tgtype", Value::SmallInt(bits(trigger))),
            ("tgenabled", text(if trigger.is_enabled { "O" } else { "D" })),
            ("tgisinternal", Value::Bool(false)),
            ("tgconstrrelid", Value::BigInt(0)),
            ("tgconstrindid", Value::BigInt(0)),
            ("tgconstraint", Value::BigInt(trigger.constraint.map_or(0, |_| oid))),
            ("tgdeferrable", Value::Bool(trigger.deferral().is_some())),
            ("tginitdeferred", Value::Bool(trigger.deferral() == Some(Deferral::Deferred))),
            ("tgnargs", Value::SmallInt(trigger.arguments.len() as i16)),
            ("tgattr", Value::Array(columns)),
            ("tgoldtable", name(0)),
            ("tgnewtable", name(1)),
        ]
    };
    all(context).into_iter().map(row).collect()
}

/// Rows of `information_schema.triggers`: one for each event.
pub(super) fn information(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut rows = Vec::new();
    for Listed { trigger, beside, schema, name, .. } in all(context) {
        // The standard knows no TRUNCATE of triggers.
        let events = trigger.events.iter().filter(|of| **of != TriggerEvent::Truncate);
        for event in events {
            let (old, new) = (&trigger.transition[0], &trigger.transition[1]);
            let or_null = |text_of: Option<&String>| text_of.map_or(Value::Null, text);
            rows.push(vec![
                ("trigger_catalog", text(context.database)),
                ("trigger_schema", text(schema)),
                ("trigger_name", text(&trigger.name)),
                ("event_manipulation", text(event.name())),
                ("event_object_catalog", text(context.database)),
                ("event_object_schema", text(schema)),
                ("event_object_table", text(name)),
                ("action_order", Value::Int(order(beside, trigger, *event))),
                ("action_condition", or_null(trigger.when.as_ref())),
                ("action_statement", text(action(context, trigger))),
                ("action_orientation", text(trigger.level.name())),
                ("action_timing", text(trigger.timing.name())),
                ("action_reference_old_table", or_null(old.as_ref())),
                ("action_reference_new_table", or_null(new.as_ref())),
            ]);
        }
    }
    rows
}

/// Which of the triggers that fire together it is, from 1.
fn order(all: &[Trigger], trigger: &Trigger, event: TriggerEvent) -> i32 {
    let beside = all.iter().filter(|other| {
        other.events.contains(&event)
            && (other.level, other.timing) == (trigger.level, trigger.timing)
            && other.name <= trigger.name
    });
    beside.count() as i32
}

fn action(context: &SystemContext<'_>, trigger: &Trigger) -> String {
    let literal = |text: &String| format!("'{}'", text.replace('\'', "''"));
    let arguments: Vec<_> = trigger.arguments.iter().map(literal).collect();
    let key = &trigger.function.name;
    let name = name_from(context.path, routine_schema(key), local(routine_name(key)));
    format!("EXECUTE FUNCTION {name}({})", arguments.join(", "))
}

/// CREATE TRIGGER of the trigger with this number.
pub(super) fn definition(context: &SystemContext<'_>, number: i64) -> Option<String> {
    let found = all(context).into_iter().find(|listed| listed.oid == number)?;
    let Listed { trigger, schema, name, columns, .. } = found;
    let event = |event: &TriggerEvent| match event {
        TriggerEvent::Update if !trigger.columns.is_empty() => {
            let names = trigger.columns.iter();
            let names = names.map(|column| quoted(&columns[column.index()].name));
            format!("UPDATE OF {}", names.collect::<Vec<_>>().join(", "))
        }
        event => event.name().to_owned(),
    };
    let order =
        [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Truncate];
    let events = order.iter().filter(|event| trigger.events.contains(event)).map(event);
    let events = events.collect::<Vec<_>>().join(" OR ");
    let mut text = format!(
        "CREATE {}TRIGGER {} {} {events} ON {}.{}",
        if trigger.constraint.is_some() { "CONSTRAINT " } else { "" },
        quoted(&trigger.name),
        trigger.timing.name(),
        quoted(schema),
        quoted(name)
    );
    text.push_str(match trigger.constraint {
        None => "",
        Some(Deferral::Never) => " NOT DEFERRABLE INITIALLY IMMEDIATE",
        Some(Deferral::Immediate) => " DEFERRABLE INITIALLY IMMEDIATE",
        Some(Deferral::Deferred) => " DEFERRABLE INITIALLY DEFERRED",
    });
    let named = ["OLD", "NEW"].iter().zip(&trigger.transition);
    let named: Vec<_> = named
        .filter_map(|(of, name)| Some(format!("{of} TABLE AS {}", quoted(name.as_ref()?))))
        .collect();
    if !named.is_empty() {
        text.push_str(&format!(" REFERENCING {}", named.join(" ")));
    }
    text.push_str(&format!(" FOR EACH {}", trigger.level.name()));
    if let Some(when) = &trigger.when {
        text.push_str(&format!(" WHEN ({when})"));
    }
    text.push_str(&format!(" {}", action(context, trigger)));
    Some(text)
}
