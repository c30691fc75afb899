//! Triggers: what a change of a table's rows does beside, and what one of a view's rows does.
//!
//! Role         told by CREATE TRIGGER. `sql` puts the statements of a trigger's function into
//!              every program that changes the table's rows, so that they are planned with it;
//!              nothing here runs

use std::sync::Arc;

use hotrow_base::ids::ColumnId;

use super::deferral::Deferral;

/// A trigger of a table, or of a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// its name; no other trigger of the table has it
    pub name: String,
    /// before or after the change
    pub timing: TriggerTiming,
    /// for each row or for each statement
    pub level: TriggerLevel,
    /// what it fires for; at least one
    pub events: Vec<TriggerEvent>,
    /// UPDATE OF: those of which one has to stand in SET; none: it does not matter
    pub columns: Vec<ColumnId>,
    /// WHEN: a condition over OLD and NEW, as SQL
    pub when: Option<String>,
    /// REFERENCING: what the rows as they were, and as they are then, are called
    pub transition: [Option<String>; 2],
    /// what it does
    pub function: Arc<TriggerFunction>,
    /// TG_ARGV
    pub arguments: Vec<String>,
    /// whether it fires: ALTER TABLE ... DISABLE TRIGGER
    pub is_enabled: bool,
    /// of a constraint trigger: when it fires; none: it is no constraint
    pub constraint: Option<Deferral>,
}

impl Trigger {
    /// When it is to fire that can fire later than its statement; none: it cannot.
    pub fn deferral(&self) -> Option<Deferral> {
        self.constraint.filter(|deferral| deferral.is_deferrable())
    }

    /// Whether it fires for an event; `set`: the columns that an UPDATE sets.
    pub fn fires(&self, event: TriggerEvent, set: &[ColumnId]) -> bool {
        let is_set = |column: &ColumnId| set.contains(column);
        let sets_one = || self.columns.is_empty() || self.columns.iter().any(is_set);
        self.is_enabled
            && self.events.contains(&event)
            && (event != TriggerEvent::Update || sets_one())
    }
}

/// A function that RETURNS trigger: it is compiled for each table and event anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TriggerFunction {
    /// its name
    pub name: String,
    /// CREATE FUNCTION, as it was written
    pub text: String,
}

/// When a trigger fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerTiming {
    /// before the row or the rows are changed
    Before,
    /// behind the whole statement
    After,
    /// in place of the change of a row, of a view
    Instead,
}

impl TriggerTiming {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "BEFORE",
            Self::After => "AFTER",
            Self::Instead => "INSTEAD OF",
        }
    }
}

/// How often a trigger fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerLevel {
    /// FOR EACH ROW
    Row,
    /// FOR EACH STATEMENT
    Statement,
}

impl TriggerLevel {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "ROW",
            Self::Statement => "STATEMENT",
        }
    }
}

/// What a trigger fires for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerEvent {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// TRUNCATE
    Truncate,
}

impl TriggerEvent {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Truncate => "TRUNCATE",
        }
    }
}
