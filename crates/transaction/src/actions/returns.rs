//! Early returns, moved to the end: `IF c THEN a; RETURN; END IF; b` is `IF c THEN a ELSE b`.
//!
//! Role         makes procedures that leave early under a condition on rows cuttable: behind it,
//!              such a RETURN is the last thing its branch does, and need not stop anybody else
//! Invariants   I1 access sites keep their numbers: statements never pass one another

use crate::binding::Binding;
use crate::program::{Procedure, Statement, StatementKind};
use crate::walk;

use super::flow::ends;

const ROUNDS_MAX: usize = 8;

/// Moves what follows early returns into the other branch.
///
/// Errors: why that cannot be done.
pub(super) fn to_ends(mut procedure: Procedure) -> Result<Procedure, String> {
    for _ in 0..ROUNDS_MAX {
        let binding = Binding::of(&procedure);
        let mut mover = Mover { binding: &binding, changed: false };
        let place = Place { known: true, last: true, in_loop: false };
        procedure.body = mover.block(std::mem::take(&mut procedure.body), place)?;
        // Moving may have turned slots dynamic, and with them conditions.
        if !mover.changed {
            return Ok(procedure);
        }
    }
    Err("it returns early in too many nested branches".to_owned())
}

struct Mover<'a> {
    binding: &'a Binding,
    changed: bool,
}

#[derive(Clone, Copy)]
struct Place {
    /// parameters alone decide whether it is reached
    known: bool,
    /// nothing follows in the whole procedure
    last: bool,
    in_loop: bool,
}

impl Mover<'_> {
    fn block(&mut self, mut block: Vec<Statement>, place: Place) -> Result<Vec<Statement>, String> {
        let mut at = 0;
        while at < block.len() {
            if has_return(&block[at..=at]) {
                self.statement(&mut block, at, place)?;
            }
            at += 1;
        }
        Ok(block)
    }

    fn statement(
        &mut self,
        block: &mut Vec<Statement>,
        at: usize,
        place: Place,
    ) -> Result<(), String> {
        let known = place.known && self.binding.controls_statically(&block[at]);
        let last = place.last && at + 1 == block.len();
        match &block[at].kind {
            StatementKind::Return(_) if place.known || last => Ok(()),
            StatementKind::Return(_) => Err("statements follow a RETURN".to_owned()),
            StatementKind::If { .. } if known => {
                self.arms(&mut block[at], Place { known, last, ..place })
            }
            StatementKind::If { .. } => {
                if place.in_loop || !place.last {
                    let place = "inside a loop or a branch that others follow";
                    return Err(format!("it returns under a condition on rows, {place}"));
                }
                let rest = block.split_off(at + 1);
                if !rest.is_empty() {
                    self.changed = true;
                    append(&mut block[at], rest)?;
                }
                self.arms(&mut block[at], Place { known: false, ..place })
            }
            _ if known => {
                let inner = Place { in_loop: true, last: false, ..place };
                for nested in walk::blocks_mut(&mut block[at]) {
                    *nested = self.block(std::mem::take(nested), inner)?;
                }
                Ok(())
            }
            StatementKind::ForQuery { .. } | StatementKind::ForOperators(_) => {
                Err("it returns inside a loop over rows".to_owned())
            }
            _ => Err("it returns inside a loop that rows end".to_owned()),
        }
    }

    fn arms(&mut self, statement: &mut Statement, place: Place) -> Result<(), String> {
        for nested in walk::blocks_mut(statement) {
            *nested = self.block(std::mem::take(nested), place)?;
        }
        Ok(())
    }
}

/// Appends what follows an IF to the arm that goes on.
fn append(statement: &mut Statement, rest: Vec<Statement>) -> Result<(), String> {
    let StatementKind::If { then, otherwise, .. } = &mut statement.kind else { return Ok(()) };
    let sites = walk::sites(otherwise).len();
    match (ends(then), ends(otherwise)) {
        (true, false) if !has_return(otherwise) => otherwise.extend(rest),
        // Here `rest` would come before `otherwise`: only without sites does that change nothing.
        (false, true) if !has_return(then) && sites == 0 => then.extend(rest),
        (true, true) => {}
        _ => return Err("both branches of a condition on rows go on behind a RETURN".to_owned()),
    }
    Ok(())
}

fn has_return(block: &[Statement]) -> bool {
    let mut found = false;
    walk::statements(block, &mut |statement| {
        found |= matches!(statement.kind, StatementKind::Return(_));
    });
    found
}
