//! WITH RECURSIVE, round by round.
//!
//! Role         each round is made of the rows that the one before gave anew. Rounds end when one
//!              gives nothing, when nobody wants more, or with 53200; in between it is asked
//!              whether to go on

use crate::plan::Recursion;

use crate::memory::{Kept, Seen, bytes_of};
use crate::{Flow, Ground, MORE, Runner, Take};

impl<'g, G: Ground> Runner<'g, G> {
    pub(crate) fn recursive(
        &mut self,
        recursion: &Recursion,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        let Recursion { table, all, start, next, .. } = recursion;
        let outer = self.rounds.remove(table);
        let (mut seen, mut held, mut flow) = (Seen::new(&self.limits), self.limits.held(), MORE);
        let Kept { rows: mut new, .. } = self.columns(&start.0, &start.1)?;
        loop {
            if !all {
                let mut kept = Vec::with_capacity(new.len());
                for row in new {
                    if seen.insert(&row)? {
                        kept.push(row);
                    }
                }
                new = kept;
            }
            // A recursion without an end shall have one, whoever counts its rows.
            held.add(new.iter().map(bytes_of).sum())?;
            if new.is_empty() {
                break;
            }
            flow = self.give(new.iter().cloned(), take)?;
            if flow.is_break() {
                break;
            }
            self.ground.go_on()?;
            self.rounds.insert(*table, new.into());
            Kept { rows: new, .. } = self.columns(&next.0, &next.1)?;
        }
        match outer {
            Some(outer) => self.rounds.insert(*table, outer),
            None => self.rounds.remove(table),
        };
        Ok(flow)
    }
}
