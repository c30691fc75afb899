//! What PostgreSQL 15 answers.

use super::{
    DEPTH_MAX, JsonFunction as F, JsonRecords, JsonRows, call, check, normal, records, rows,
};
use crate::types::DataType;
use crate::value::Value;

fn jsonb(text: &str) -> Value {
    Value::Jsonb(normal(text).expect("it is one"))
}

fn json(text: &str) -> Value {
    Value::Json(text.to_owned())
}

fn text(text: &str) -> Value {
    Value::from(text)
}

#[test]
fn normal_forms_are_those_of_postgresql() {
    for (written, expected) in [
        (" {\"b\":1,\"a\" : [1,2 ] } ", r#"{"a": [1, 2], "b": 1}"#),
        (
            r#"{"a":1,"a":2,"bb":1,"c":{"z":[]},"":{}}"#,
            r#"{"": {}, "a": 2, "c": {"z": []}, "bb": 1}"#,
        ),
        ("-0", "0"),
        ("-0.00", "0.00"),
        ("1.50e1", "15.0"),
        ("1e2", "100"),
        ("1E-3", "0.001"),
        ("-12.5e+1", "-125"),
        ("123456789012345678901234567890.10", "123456789012345678901234567890.10"),
        (r#""\u00e9\n\u001f\/\ud83d\ude00""#, "\"é\\n\\u001f/😀\""),
        (" null ", "null"),
        ("[]", "[]"),
    ] {
        let found = normal(written).expect(written);
        assert_eq!(found, expected);
        assert_eq!(normal(&found).expect("it is one"), found, "a normal form stays as it is");
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for (written, code) in [
        ("", "22P02"),
        ("foo", "22P02"),
        ("{\"a\":}", "22P02"),
        ("{\"a\":1} x", "22P02"),
        ("01", "22P02"),
        ("'a'", "22P02"),
        ("\"a\nb\"", "22P02"),
        ("\"\\ud800\"", "22P02"),
        ("\"\\u0000\"", "22P05"),
        ("{\"\\u0000\":1}", "22P05"),
        ("1e131072", "22003"),
        ("1e-16384", "22003"),
        ("1e99999999999999999999", "22003"),
    ] {
        assert_eq!(normal(written).expect_err(written).code(), code, "{written}");
    }
    // A json is not looked into as far.
    for written in ["\"\\ud800\"", "\"\\u0000\"", "1e131072", "{\"a\":1,\"a\":2}"] {
        check(written).expect(written);
    }
    let error = check("{\"a\":}").expect_err("no value");
    assert_eq!(error.message(), "invalid input syntax for type json");
    assert_eq!(error.detail(), Some("Expected value at line 1 column 6."));
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(normal(&nested(DEPTH_MAX)).expect("as deep as may be"), nested(DEPTH_MAX));
    for deep in [nested(DEPTH_MAX + 1), "[".repeat(1 << 20)] {
        assert_eq!(check(&deep).expect_err("too deep").code(), "54001");
    }
    // Brackets in texts are no levels.
    check(&format!("[\"{}\\\"[\"]", "[".repeat(1000))).expect("a text");
}

#[test]
fn long_numbers_are_bounded() {
    let many = format!("[{}1]", "1e131071,".repeat(1000));
    assert_eq!(normal(&many).expect_err("too long").code(), "54000");
}

fn ask(function: F, arguments: &[Value]) -> Value {
    let gives = match function {
        F::BuildObject | F::BuildArray | F::ToJson => DataType::Json,
        _ => DataType::Jsonb,
    };
    call(function, arguments, gives).expect("it has a value")
}

#[test]
fn parts_are_found() {
    let written = json("{\"a\" : [1,  2], \"a\":[3,  4], \"t\":\"x\", \"n\":null}");
    assert_eq!(ask(F::Get, &[written.clone(), text("a")]), json("[3,  4]"));
    assert_eq!(ask(F::Path, &[written.clone(), text("a"), text("-1")]), json("4"));
    assert_eq!(ask(F::GetText, &[written.clone(), text("t")]), text("x"));
    assert_eq!(ask(F::GetText, &[written.clone(), text("n")]), Value::Null);
    assert_eq!(ask(F::Get, &[written.clone(), text("n")]), json("null"));
    assert_eq!(ask(F::Get, &[written.clone(), text("z")]), Value::Null);
    assert_eq!(ask(F::Get, &[written.clone(), Value::Int(0)]), Value::Null);
    assert_eq!(ask(F::Get, &[Value::Null, text("a")]), Value::Null);
    assert_eq!(ask(F::Get, &[jsonb("[1,2,3]"), Value::Int(-1)]), jsonb("3"));
    assert_eq!(ask(F::Get, &[jsonb("[1,2,3]"), Value::Int(3)]), Value::Null);
    assert_eq!(ask(F::Get, &[jsonb("\"a\""), Value::Int(0)]), jsonb("\"a\""));
    assert_eq!(ask(F::Get, &[json("\"a\""), Value::Int(0)]), Value::Null);
    assert_eq!(ask(F::PathText, &[jsonb("\"x\"")]), text("x"));
}

#[test]
fn containment() {
    for (own, other, expected) in [
        ("[1,2,[1,3]]", "[1]", true),
        ("[\"a\"]", "\"a\"", true),
        ("\"a\"", "[\"a\"]", false),
        ("[1,2,[1,3]]", "[[1]]", true),
        ("{\"a\":1,\"b\":2}", "{\"a\":1}", true),
        ("[[1,2]]", "[1]", false),
        ("1", "1.0", true),
        ("100", "1", false),
        ("{}", "[]", false),
        ("[1,2]", "[1,1,1]", true),
        ("{\"a\":[1,2]}", "{\"a\":[2]}", true),
        ("{\"a\":[1,2]}", "{\"a\":2}", false),
        ("[{\"a\":1,\"b\":2}]", "[{\"a\":1}]", true),
        ("null", "null", true),
    ] {
        let found = ask(F::Contains, &[jsonb(own), jsonb(other)]);
        assert_eq!(found, Value::Bool(expected), "{own} @> {other}");
    }
    for (own, key, expected) in [
        ("[\"a\",\"b\"]", "a", true),
        ("{\"a\":1}", "a", true),
        ("\"a\"", "a", true),
        ("[1]", "1", false),
        ("{\"b\":\"a\"}", "a", false),
    ] {
        assert_eq!(ask(F::HasKey, &[jsonb(own), text(key)]), Value::Bool(expected), "{own}");
    }
    let own = || jsonb("{\"a\":1}");
    assert_eq!(ask(F::HasAnyKey, &[own(), text("a"), text("c")]), Value::Bool(true));
    assert_eq!(ask(F::HasAllKeys, &[own(), text("a"), text("c")]), Value::Bool(false));
}

#[test]
fn changes() {
    for (left, right, expected) in [
        ("[1]", "2", "[1, 2]"),
        ("{\"a\":1}", "{\"b\":2,\"a\":3}", r#"{"a": 3, "b": 2}"#),
        ("{\"a\":1}", "[1]", r#"[{"a": 1}, 1]"#),
        ("1", "2", "[1, 2]"),
    ] {
        assert_eq!(ask(F::Concat, &[jsonb(left), jsonb(right)]), jsonb(expected));
    }
    for (own, key, expected) in [
        ("{\"a\":1}", text("a"), "{}"),
        ("[\"a\",\"b\",\"a\"]", text("a"), "[\"b\"]"),
        ("[1,2,3]", Value::Int(1), "[1, 3]"),
        ("[1,2,3]", Value::Int(-1), "[1, 2]"),
        ("[1,2,3]", Value::Int(7), "[1, 2, 3]"),
    ] {
        assert_eq!(ask(F::Delete, &[jsonb(own), key]), jsonb(expected));
    }
    for (own, path, expected) in [
        ("{\"a\":[1,{\"b\":2}]}", vec!["a", "1", "b"], "{\"a\": [1, {}]}"),
        ("{\"a\":1}", vec!["b"], "{\"a\": 1}"),
        ("{\"a\":1}", vec![], "{\"a\": 1}"),
    ] {
        let path = path.into_iter().map(text);
        let arguments: Vec<_> = std::iter::once(jsonb(own)).chain(path).collect();
        assert_eq!(ask(F::DeletePath, &arguments), jsonb(expected));
    }
}

#[test]
fn values_are_set_and_inserted() {
    let change = |function, own: &str, path: &[&str], new: &str, flag: bool| {
        let mut arguments = vec![jsonb(own), jsonb(new), Value::Bool(flag)];
        arguments.extend(path.iter().map(|step| text(step)));
        ask(function, &arguments).to_string()
    };
    for (own, path, flag, expected) in [
        (r#"{"a":[1,2]}"#, &["a", "0"][..], true, r#"{"a": [9, 2]}"#),
        (r#"{"a":1}"#, &["b"], true, r#"{"a": 1, "b": 9}"#),
        (r#"{"a":1}"#, &["b"], false, r#"{"a": 1}"#),
        (r#"{"a":1}"#, &["b", "c"], true, r#"{"a": 1}"#),
        ("[1,2]", &["5"], true, "[1, 2, 9]"),
        ("[1,2]", &["-5"], true, "[9, 1, 2]"),
        ("[1,2]", &["-1"], true, "[1, 9]"),
        (r#"{"a":1}"#, &[], true, r#"{"a": 1}"#),
    ] {
        assert_eq!(change(F::Set, own, path, "9", flag), expected, "{own} {path:?}");
    }
    for (own, path, after, expected) in [
        (r#"{"a":[0,1,2]}"#, &["a", "1"][..], false, r#"{"a": [0, 9, 1, 2]}"#),
        (r#"{"a":[0,1,2]}"#, &["a", "1"], true, r#"{"a": [0, 1, 9, 2]}"#),
        (r#"{"a":1}"#, &["b"], false, r#"{"a": 1, "b": 9}"#),
        ("[0,1]", &["-1"], false, "[0, 9, 1]"),
        ("[0,1]", &["-1"], true, "[0, 1, 9]"),
        ("[0,1]", &["7"], false, "[0, 1, 9]"),
        ("[0,1]", &["-7"], false, "[9, 0, 1]"),
    ] {
        assert_eq!(change(F::Insert, own, path, "9", after), expected, "{own} {path:?}");
    }
}

#[test]
fn errors_are_those_of_postgresql() {
    for (function, arguments, code, message) in [
        (F::Delete, vec![jsonb("1"), text("a")], "22023", "cannot delete from scalar"),
        (
            F::Delete,
            vec![jsonb("{}"), Value::Int(1)],
            "22023",
            "cannot delete from object using integer index",
        ),
        (F::DeletePath, vec![jsonb("1"), text("a")], "22023", "cannot delete path in scalar"),
        (
            F::DeletePath,
            vec![jsonb("[1]"), text("a")],
            "22P02",
            "path element at position 1 is not an integer: \"a\"",
        ),
        (
            F::Insert,
            vec![jsonb("{\"a\":1}"), jsonb("2"), Value::Bool(false), text("a")],
            "22023",
            "cannot replace existing key",
        ),
        (F::ArrayLength, vec![json("{}")], "22023", "cannot get array length of a non-array"),
        (F::ArrayLength, vec![json("1")], "22023", "cannot get array length of a scalar"),
        (F::BuildObject, vec![Value::Null, Value::Int(1)], "22023", "argument 1 cannot be null"),
        (
            F::GetText,
            vec![json("{\"a\":\"\\u0000\"}"), text("a")],
            "22P05",
            "unsupported Unicode escape sequence",
        ),
    ] {
        let error = call(function, &arguments, DataType::Json).expect_err(message);
        assert_eq!((error.code(), error.message()), (code, message));
    }
}

#[test]
fn values_become_json() {
    let values = [
        Value::Int(1),
        text("x\"y"),
        Value::Null,
        Value::Bool(true),
        Value::Double(1.5),
        Value::Double(f64::NAN),
        Value::parse(DataType::Date, "2020-01-02").expect("a date"),
        Value::parse(DataType::TIMESTAMP, "2020-01-02 03:04:05.6").expect("a time"),
        Value::parse(DataType::TIMESTAMPTZ, "0044-03-15 BC").expect("a time"),
        Value::Array(vec![Value::Int(1), Value::Null]),
        json("{\"x\" : 1}"),
        Value::Bytea(vec![0, 255]),
    ];
    let expected = [
        "[1, \"x\\\"y\", null, true, 1.5, \"NaN\", \"2020-01-02\", \"2020-01-02T03:04:05.6\"",
        "\"0044-03-15T00:00:00+00:00 BC\", [1,null], {\"x\" : 1}, \"\\\\x00ff\"]",
    ]
    .join(", ");
    let expected = expected.as_str();
    assert_eq!(ask(F::BuildArray, &values), json(expected));
    let fields = [text("a"), Value::Int(1), Value::Int(2), text("b")];
    assert_eq!(ask(F::BuildObject, &fields), json(r#"{"a" : 1, "2" : "b"}"#));
    let made = call(F::BuildObject, &fields, DataType::Jsonb).expect("an object");
    assert_eq!(made, jsonb(r#"{"2": "b", "a": 1}"#));
    assert_eq!(ask(F::ToJson, &[text("a")]), json("\"a\""));
    assert_eq!(ask(F::ToJson, &[Value::Null]), Value::Null);
}

#[test]
fn forms() {
    let own = json(r#"{"a":null,"b":[null, {"c":null,"d" : 1}]}"#);
    assert_eq!(ask(F::StripNulls, &[own]), json(r#"{"b":[null,{"d":1}]}"#));
    let own = jsonb(r#"{"a":null,"b":[null,{"c":null}]}"#);
    assert_eq!(ask(F::StripNulls, &[own]), jsonb(r#"{"b": [null, {}]}"#));
    let pretty = ask(F::Pretty, &[jsonb(r#"{"a":[1,{}],"d":"x"}"#)]);
    let lines = [
        "{",
        "    \"a\": [",
        "        1,",
        "        {",
        "        }",
        "    ],",
        "    \"d\": \"x\"",
        "}",
    ];
    assert_eq!(pretty, text(&lines.join("\n")));
    for (own, kind) in [("1", "number"), ("null", "null"), ("[]", "array"), ("true", "boolean")] {
        assert_eq!(ask(F::TypeOf, &[json(own)]), text(kind));
    }
}

#[test]
fn rows_of_values() {
    let of = |function, value: &Value| rows(function, value).expect("rows");
    let list = json("[1, \"a\", null, {\"a\" : 1}]");
    let all: Vec<_> = of(JsonRows::Elements, &list).concat();
    assert_eq!(all, ["1", "\"a\"", "null", "{\"a\" : 1}"].map(json));
    let all: Vec<_> = of(JsonRows::ElementsText, &list).concat();
    assert_eq!(all, [text("1"), text("a"), Value::Null, text("{\"a\" : 1}")]);
    let object = jsonb(r#"{"b":1,"a":"x"}"#);
    assert_eq!(of(JsonRows::EachText, &object), [[text("a"), text("x")], [text("b"), text("1")]]);
    let keys: Vec<_> = of(JsonRows::Keys, &json(r#"{"b":1,"a":2,"b":1}"#)).concat();
    assert_eq!(keys, ["b", "a", "b"].map(text));
    assert!(of(JsonRows::Keys, &Value::Null).is_empty());
    for (function, value, message) in [
        (JsonRows::Elements, jsonb("{}"), "cannot extract elements from an object"),
        (JsonRows::Elements, json("1"), "cannot call json_array_elements on a scalar"),
        (JsonRows::Each, jsonb("1"), "cannot call jsonb_each on a non-object"),
        (JsonRows::Each, json("[]"), "cannot deconstruct an array as an object"),
        (JsonRows::Keys, jsonb("[]"), "cannot call jsonb_object_keys on an array"),
    ] {
        let error = rows(function, &value).expect_err(message);
        assert_eq!((error.code(), error.message()), ("22023", message));
    }
}

#[test]
fn objects_as_rows() {
    let columns = ["a", "text", "b", "json", "c", "array", "d", "text"].map(text);
    let object = json(r#"{"a":1,"a":"x","b":"y","c":[1,"q,",null],"d":null}"#);
    let row = records(JsonRecords::One, &object, &columns).expect("it is one");
    assert_eq!(row, [[text("x"), text("\"y\""), text("{1,\"q,\",NULL}"), Value::Null]]);
    let list = jsonb(r#"[{"a":1},{}]"#);
    let rows = records(JsonRecords::Each, &list, &columns[..2]).expect("there are two");
    assert_eq!(rows, [[text("1")], [Value::Null]]);
    assert_eq!(records(JsonRecords::One, &Value::Null, &columns).expect("one").len(), 1);
    for (function, value) in [
        (JsonRecords::One, jsonb("[1]")),
        (JsonRecords::Each, jsonb("{}")),
        (JsonRecords::Each, json("[1]")),
    ] {
        let error = records(function, &value, &columns).expect_err("no object");
        assert_eq!(error.code(), "22023");
    }
}

#[test]
fn objects_of_texts_and_rows() {
    let array = |texts: &[&str]| Value::Array(texts.iter().map(|one| text(one)).collect());
    let made = call(F::Object, &[array(&["a", "1"])], DataType::Json).expect("an object");
    assert_eq!(made, json(r#"{"a" : "1"}"#));
    let pairs = [array(&["a", "b"]), array(&["1", "2"])];
    let made = call(F::Object, &pairs, DataType::Jsonb).expect("an object");
    assert_eq!(made, jsonb(r#"{"a": "1", "b": "2"}"#));
    for (keys, values, code) in [
        (array(&["a"]), None, "2202E"),
        (array(&["a"]), Some(array(&[])), "2202E"),
        (Value::Array(vec![Value::Null, text("1")]), None, "22004"),
    ] {
        let given: Vec<_> = std::iter::once(keys).chain(values).collect();
        let error = call(F::Object, &given, DataType::Json).expect_err("no object");
        assert_eq!(error.code(), code);
    }
    let row = call(F::Row, &[text("f1"), Value::Null], DataType::Json).expect("a row");
    assert_eq!(row, json(r#"{"f1":null}"#));
}

#[test]
fn values_stand_in_postgresqls_order() {
    // As `ORDER BY` of PostgreSQL 15 gives them.
    let ascending = [
        "[]",
        "null",
        r#""""#,
        r#""a""#,
        r#""a b""#,
        r#""aa""#,
        r#""b""#,
        "-1e3",
        "-10.5",
        "-10.25",
        "-2",
        "-0.5",
        "-0.25",
        "0",
        "0.001",
        "0.25",
        "0.5",
        "1",
        "1.5",
        "2",
        "10",
        "10.25",
        "100",
        "12e20",
        "false",
        "true",
        "[null]",
        "[1]",
        "[[]]",
        "[{}]",
        "[1, 2]",
        "[2, 1]",
        "{}",
        r#"{"a": 1}"#,
        r#"{"a": 2}"#,
        r#"{"aa": 0}"#,
        r#"{"b": 0}"#,
        r#"{"a": 1, "b": 0}"#,
        r#"{"a": 1, "c": -1}"#,
    ];
    let keys: Vec<_> =
        ascending.iter().map(|raw| super::order::order_key(raw).expect("it is json")).collect();
    for (at, pair) in keys.windows(2).enumerate() {
        assert!(pair[0] < pair[1], "{} and {}", ascending[at], ascending[at + 1]);
    }
    for [one, other] in [["0", "-0.00"], ["1", "1.000"], ["10", "1e1"], ["0.5", "5e-1"]] {
        let key = |raw| super::order::order_key(raw).expect("it is json");
        assert_eq!(key(one), key(other), "{one} and {other}");
    }
}

#[test]
fn assignments_make_what_is_missing() {
    let assign = |own: Value, steps: &[&str], is_array: bool| {
        let given = [own, jsonb("9"), Value::Bool(is_array)];
        let steps = steps.iter().map(|step| text(step));
        let given: Vec<_> = given.into_iter().chain(steps).collect();
        call(F::Assign, &given, DataType::Jsonb).map_err(|e| (e.code(), e.to_string()))
    };
    for (own, steps, expected) in [
        ("{}", &["a"][..], r#"{"a": 9}"#),
        (r#"{"a":[1]}"#, &["a", "3", "b"], r#"{"a": [1, null, null, {"b": 9}]}"#),
        (r#"{"a":[1,2]}"#, &["a", "-1"], r#"{"a": [1, 9]}"#),
        ("{}", &["a", "-5"], r#"{"a": [9]}"#),
        ("{}", &["a", "1x"], r#"{"a": {"1x": 9}}"#),
        ("[]", &["2"], "[null, null, 9]"),
    ] {
        assert_eq!(assign(jsonb(own), steps, false), Ok(jsonb(expected)), "{own} {steps:?}");
    }
    assert_eq!(assign(Value::Null, &["1"], true), Ok(jsonb("[null, 9]")));
    assert_eq!(assign(Value::Null, &["1"], false), Ok(jsonb(r#"{"1": 9}"#)));
    let deep = vec!["a"; DEPTH_MAX + 1];
    for (own, steps, code) in [
        ("5", &["a"][..], "22023"),
        (r#"{"a":"x"}"#, &["a", "b"], "22023"),
        ("[1]", &["-2"], "22023"),
        ("[1]", &["x"], "22P02"),
        ("[1]", &["1 "], "22P02"),
        ("[]", &["2000000000"], "54000"),
        ("{}", &deep, "54001"),
    ] {
        let found = assign(jsonb(own), steps, false).map_err(|(code, _)| code);
        assert_eq!(found, Err(code), "{own} {} steps", steps.len());
    }
}
