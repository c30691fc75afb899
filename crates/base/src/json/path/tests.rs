use super::*;

fn like(_: &Like, _: &str) -> Result<bool> {
    Ok(true)
}

/// The items that a path gives, or an error's code.
fn ask(json: &str, path: &str) -> String {
    let target = PathTarget { json, variables: "{\"x\": 2}", is_silent: false };
    let asked = Path::read(path)
        .and_then(|path| evaluate(PathFunction::QueryArray, &path, target, &mut like));
    match asked {
        Ok(values) => values.iter().map(ToString::to_string).collect(),
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn paths_are_shown_as_postgresql_shows_them() {
    for (path, expected) in [
        (
            "$.a[*] ? (@.b > 1 && !(@.c == \"x\") || exists(@.d)).size()",
            "$.\"a\"[*]?(@.\"b\" > 1 && !(@.\"c\" == \"x\") || exists (@.\"d\")).size()",
        ),
        (
            "strict $[0 to last, 3].**{1 to 2}.type() + -1 * 2",
            "strict ($[0 to last,3].**{1 to 2}.type() + -1 * 2)",
        ),
        (
            "$ ? (@.a like_regex \"^a\" flag \"qi\" && (@.b starts with \"x\") is unknown)",
            "$?(@.\"a\" like_regex \"^a\" flag \"iq\" && (@.\"b\" starts with \"x\") is unknown)",
        ),
        ("$var[*] == 1.50e1", "($\"var\"[*] == 15.0)"),
        ("(1+2)*3", "((1 + 2) * 3)"),
        ("$.**{last}", "$.**{last}"),
        (".5", "0.5"),
        ("1.", "1"),
    ] {
        let shown = normal_path(path).expect("it is one").to_string();
        assert_eq!(shown, expected, "{path}");
    }
}

#[test]
fn paths_are_evaluated_as_postgresql_does() {
    for (json, path, expected) in [
        ("{\"a\": [1, 2, 3]}", "$.a[*] ? (@ > 1)", "[2, 3]"),
        ("{\"a\": [1, 2, 3]}", "$.a[last]", "[3]"),
        ("{\"a\": [1, 2, 3]}", "$.a[0 to 1]", "[1, 2]"),
        ("{\"a\": [1, 2, 3]}", "$.a.size()", "[3]"),
        ("{\"a\": [1, 2, 3]}", "$.b", "[]"),
        ("{\"a\": [1, 2, 3]}", "strict $.b", "2203A"),
        ("[{\"a\": 1}, {\"a\": 2}]", "$.a", "[1, 2]"),
        ("[{\"a\": 1}, {\"a\": 2}]", "strict $.a", "2203A"),
        ("[3, 1, [2, 5]]", "$.**", "[[3, 1, [2, 5]], 3, 1, [2, 5], 2, 5]"),
        ("[3, 1, [2, 5]]", "strict $.**{2}", "[2, 5]"),
        ("[1.50, 2]", "$[0] * $x", "[3.00]"),
        ("[7, 3]", "$[0] / $[1]", "[2.3333333333333333]"),
        ("[7, 0]", "$[0] / $[1]", "22012"),
        ("[-1.5, 1.5]", "$[*].floor()", "[-2, 1]"),
        ("[-1.5, 1.5]", "$[*].ceiling()", "[-1, 2]"),
        ("[-1.5]", "-$[*]", "[1.5]"),
        ("\"1e3\"", "$.double()", "[1000]"),
        ("{\"a\": 1}", "$.keyvalue().key", "[\"a\"]"),
        ("[1, \"a\", null]", "$[*] ? (@ != null)", "[1, \"a\"]"),
        ("[1, \"a\"]", "$[*] ? ((@ > 0) is unknown)", "[\"a\"]"),
        ("[\"ab\", \"b\"]", "$[*] ? (@ starts with \"a\")", "[\"ab\"]"),
        ("1", "$y", "42704"),
        ("1", "$.", "42601"),
        ("1", "@", "42601"),
        ("1", "last", "42601"),
        ("1", "1 == 1 == 1", "42601"),
        ("1", "$.datetime()", "0A000"),
    ] {
        assert_eq!(ask(json, path), expected, "{path} of {json}");
    }
}

#[test]
fn deep_and_long_paths_are_refused_or_answered() {
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(ask("1", &deep), "54001");
    assert_eq!(ask("1", &"-".repeat(100_000)), "54001");
    assert_eq!(ask("1", &format!("$ ? ({}(@ == 1))", "!".repeat(100_000))), "42601");
    assert_eq!(ask("1", &format!("$ ? ({}@ == 1)", "exists(".repeat(100_000))), "54001");
    let sum = format!("1{}", "+1".repeat(900));
    assert_eq!(ask("1", &sum), "[901]");
    assert_eq!(ask("1", &format!("1{}", "+1".repeat(5_000))), "54001");
    let fields = format!("${}", ".a".repeat(1_500));
    assert_eq!(ask("{}", &fields), "[]");
    let array = format!("{}1{}", "[".repeat(128), "]".repeat(128));
    assert_eq!(ask(&array, "strict $.**.size() ? (@ > 1)"), "[]");
    assert_eq!(ask(&array, "$.**{last}"), "[1]");
}
