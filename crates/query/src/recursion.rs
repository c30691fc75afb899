//! WITH RECURSIVE, round by round.
//!
//! Role         each round is made of the rows that the one before gave anew. Rounds end when one
//!              gives nothing, when LIMIT has what it wants, or with 53200; in between it is asked
//!              whether to go on

use hotrow_sql::{Plan, Recursion, StepKind};

use crate::order::key_of;
use crate::{Ground, Row, Runner, Set};

impl<G: Ground> Runner<'_, G> {
    pub(crate) fn recursive(&mut self, recursion: &Recursion) -> Result<Vec<Row>, G::Error> {
        let wanted = self.wanted.take().unwrap_or(usize::MAX);
        let Recursion { table, all, start, next, .. } = recursion;
        let outer = self.rounds.remove(table);
        let (mut rows, mut seen) = (Vec::new(), Set::default());
        let mut new = self.columns(&start.0, &start.1)?;
        loop {
            if !all {
                new.retain(|row| seen.insert(key_of(row)));
            }
            rows.extend(new.iter().cloned());
            self.check(&rows)?;
            if new.is_empty() || rows.len() >= wanted {
                break;
            }
            self.ground.go_on()?;
            self.rounds.insert(*table, new);
            new = self.columns(&next.0, &next.1)?;
        }
        match outer {
            Some(outer) => self.rounds.insert(*table, outer),
            None => self.rounds.remove(table),
        };
        Ok(rows)
    }
}

/// Whether an operator gives just the rows of a recursion, so that a limit of it is one of rounds.
pub(crate) fn is_of_recursion(plan: &Plan) -> bool {
    match plan {
        Plan::Recursion(_) => true,
        Plan::Compute { input, .. } => is_of_recursion(input),
        Plan::Extend { input, step } => {
            let expands = matches!(step.kind, StepKind::Expand(_) | StepKind::CallRows { .. });
            !expands && is_of_recursion(input)
        }
        _ => false,
    }
}
