use super::*;

const PLAIN: Style = Style { colored: false };

fn error_of(text: &str) -> SqlError {
    let config = hotrow::Config::default().threads(1);
    let db = hotrow::Database::open_in_memory_without_engine(config).expect("it opens");
    let error = db.session().execute(text).expect_err("the text is wrong");
    error.as_sql().expect("the text is wrong SQL").clone()
}

#[test]
fn an_error_points_at_its_place() {
    let text = "CREATE TABLE t (id bigint PRIMARY KEY);\n\tSELECT idd FROM t;\n";
    let described = Script::of_file("a.sql", text).describe(&error_of(text), PLAIN);
    assert!(described.starts_with("ERROR 42703: "), "{described}");
    assert!(described.contains("--> a.sql:2:9\n"), "{described}");
    assert!(described.contains("2 | \tSELECT idd FROM t;\n  | \t       ^\n"), "{described}");
}

#[test]
fn an_error_in_a_shell_has_no_line_number() {
    let text = "SELECT 1 FROM nowhere";
    let mut script = Script::default();
    script.append(None, text);
    let described = script.describe(&error_of(text), PLAIN);
    assert!(described.contains("\n | SELECT 1 FROM nowhere\n"), "{described}");
}

#[test]
fn a_shell_s_text_is_found_again_with_its_origin() {
    let mut script = Script::default();
    assert_eq!(script.append(None, "SELECT 1;\n"), "SELECT 1;\n");
    let second = script.append(Some("b.sql"), "\nSELECT 1 FROM nowhere");
    assert_eq!(second, "\n\nSELECT 1 FROM nowhere");
    assert_eq!(script.append(None, "SELECT 2;"), "\n\n\nSELECT 2;");
    let described = script.describe(&error_of(&second), PLAIN);
    assert!(described.contains("--> b.sql:2:15\n2 | SELECT 1 FROM nowhere\n"), "{described}");
}

#[test]
fn rows_look_as_in_psql() {
    let config = hotrow::Config::default().threads(1);
    let db = hotrow::Database::open_in_memory_without_engine(config).expect("it opens");
    let results = db.session().execute(
        "CREATE TABLE t (id bigint PRIMARY KEY, name text);
         INSERT INTO t VALUES (1, 'one'), (20, NULL);
         SELECT id, name FROM t ORDER BY id",
    );
    let mut out = Vec::new();
    write_rows(&results.expect("it is right")[2].rows, &mut out).expect("memory takes everything");
    let text = String::from_utf8(out).expect("rows are text");
    assert_eq!(text, " id | name\n----+------\n  1 | one\n 20 |\n(2 rows)\n");
}
