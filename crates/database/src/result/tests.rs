use super::tag;
use crate::rows::Rows;

#[test]
fn tags_are_those_of_postgresql() {
    let check = |text: &str, expected: &str| assert_eq!(tag(text, &Rows::default()), expected);
    check("create table t (a int)", "CREATE TABLE");
    check("CREATE UNIQUE INDEX i ON t (a)", "CREATE INDEX");
    check("CREATE OR REPLACE FUNCTION f() RETURNS void AS $$", "CREATE FUNCTION");
    check("DROP TABLE IF EXISTS t", "DROP TABLE");
    check("INSERT INTO t VALUES (1)", "INSERT 0 0");
    check("with x as (select 1) select * from x", "SELECT 0");
    check("delete\nfrom t", "DELETE 0");
    check("CALL f()", "CALL");
    check("", "");
}
