use super::*;
use crate::granule::{LockMode, Space};
use crate::program::{Elements, Expr, ExprKind, Place};
use crate::slice::{KeyMark, LockMark, OWN_MARK};
use hotrow_base::ids::{IndexId, TableId};
use hotrow_base::types::{DataType, SqlType};

const ARRAY: SlotId = SlotId(5);
const ELEMENT: SlotId = SlotId(6);
const FIXED: SlotId = SlotId(7);
const CHANGED: SlotId = SlotId(8);

fn statement(kind: StatementKind) -> Statement {
    Statement { kind, place: Place::default() }
}

/// A mark with a granule whose key is one slot.
fn site_mark(slot: SlotId, with_key: bool) -> SiteMark {
    let (index, parts) = (IndexId(0), vec![slot]);
    let key = with_key.then(|| KeyMark { table: TableId(0), index, parts: parts.clone() });
    let (space, mode) = (Space::Index(index), LockMode::Exclusive);
    SiteMark {
        site: 0,
        key,
        locks: vec![LockMark { space, parts, mode, is_key: with_key }],
        is_read: false,
    }
}

fn each(body: Vec<Statement>) -> Statement {
    statement(StatementKind::ForEach { slot: ELEMENT, elements: Elements::Array(ARRAY), body })
}

fn assign(slot: SlotId) -> Statement {
    let sql_type = SqlType::Scalar(DataType::Integer);
    let value = Expr { kind: ExprKind::Slot(ELEMENT), sql_type };
    statement(StatementKind::Assign { slot, value })
}

/// The marks of a block, with loops in parentheses.
fn shape(block: &[Statement]) -> String {
    let parts = block.iter().map(|statement| match &statement.kind {
        StatementKind::Mark(id) if id & OWN_MARK != 0 => "own".to_owned(),
        StatementKind::Mark(id) => id.to_string(),
        StatementKind::ForEach { body, .. } => format!("({})", shape(body)),
        _ => "-".to_owned(),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn check(mut block: Vec<Statement>, marks: &[SiteMark], expected: &str) {
    hoist_marks(&mut block, marks);
    assert_eq!(shape(&block), expected);
}

fn mark(id: u32) -> Statement {
    statement(StatementKind::Mark(id))
}

#[test]
fn a_mark_that_no_turn_changes_leaves_all_loops() {
    let marks = [site_mark(FIXED, false), site_mark(ELEMENT, false)];
    check(vec![each(vec![mark(0), mark(1)])], &marks, "0 (1)");
    check(vec![each(vec![each(vec![mark(0), mark(1)])])], &marks, "0 ((1))");
}

#[test]
fn a_mark_of_a_slot_that_the_loop_sets_anywhere_stays() {
    let marks = [site_mark(CHANGED, false)];
    check(vec![each(vec![mark(0), assign(CHANGED)])], &marks, "(0 -)");
    check(vec![each(vec![mark(0), each(vec![assign(CHANGED)])])], &marks, "(0 (-))");
    check(vec![each(vec![mark(0)]), assign(CHANGED)], &marks, "0 () -");
}

#[test]
fn keys_that_execution_takes_one_by_one_stay() {
    check(vec![each(vec![mark(0)])], &[site_mark(FIXED, true)], "(0)");
}

#[test]
fn marks_of_somebody_else_stay() {
    check(vec![each(vec![mark(OWN_MARK)])], &[site_mark(FIXED, false)], "(own)");
}
