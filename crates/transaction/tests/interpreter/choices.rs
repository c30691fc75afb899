//! CASE that chooses among columns: loads happen where the value is used.

use hotrow_transaction::program::*;

use crate::build::*;

#[test]
fn a_case_over_integers_reads_the_column_it_chooses() {
    let choices = [(1, "o2"), (2, "two"), (3, "else"), (4, "four"), (5, "five"), (0, "else")];
    let choices = choices.map(|(value, expected)| (int(value), expected));
    for (value, expected) in choices.into_iter().chain([(null(INT), "else")]) {
        let mut build = Build::new();
        let (n, visits) = (build.slot(INT), build.slot(INT));
        let (owner, out) = (build.slot(TEXT), build.slot(TEXT));
        build.say(StatementKind::Assign { slot: n, value });
        let arm = |wanted: i32, value: Expr| (equal(build.read(n), int(wanted)), value);
        let arms = vec![
            arm(1, build.read(owner)),
            arm(5, text("five")),
            arm(2, text("two")),
            arm(2, text("never")),
            arm(4, text("four")),
        ];
        let case = ExprKind::Case { arms, otherwise: Some(Box::new(text("else"))) };
        let effect = Effect::Update {
            set: vec![(VISITS, int(7))],
            consume: into(vec![(out, typed(case, TEXT))]),
        };
        build.say(StatementKind::Access(Box::new(Access {
            table: ACCOUNT,
            path: account_at(int(2)),
            bind: vec![(VISITS, visits), (OWNER, owner)],
            filter: None,
            effect,
        })));
        build.show(&[out]);
        let mut world = World::with_accounts(2);
        assert_eq!(world.rows(&build.procedure, &[]), expected);
    }
}
