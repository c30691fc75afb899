//! The binary as its users meet it: output, errors, exit codes.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn hotrow(words: &[&str]) -> Output {
    hotrow_with_input(words, "")
}

fn hotrow_with_input(words: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hotrow"))
        .args(words)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A command that fails early does not read its input.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is text")
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder.join(format!("{}-{name}", std::process::id()))
}

#[test]
fn bench_reports_runs_whose_checks_hold() {
    let json = scratch("runs.json");
    let path = json.to_str().expect("the folder's name is text");
    let words = ["bench", "tpcc", "--set", "items=100", "--set", "customers=30"];
    let more = ["--engine", "all", "--warehouses", "1,2", "--transactions", "300", "--json", path];
    let output = hotrow(&[&words[..], &more[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("tpcc 2w") && text.contains("Look at: "), "{text}");
    assert!(!text.contains('\x1b'), "output that is no terminal is plain: {text}");
    let json = std::fs::read_to_string(json).expect("the runs were written");
    let runs: Vec<serde_json::Value> = serde_json::from_str(&json).expect("it is a list");
    let variants = |entry: &hotrow::EngineEntry| {
        entry.variants.len() * [1, 2].into_iter().filter(|&n| entry.runs_with(n)).count()
    };
    let expected: usize = hotrow::engines().iter().map(variants).sum();
    assert_eq!(runs.len(), expected * 2);
    for run in runs {
        let checks = run["checks"].as_array().expect("checks are a list");
        assert!(checks.len() > 10, "{run}");
        assert!(checks.iter().all(|check| check["holds"] == true), "{run}");
        let ended = run["committed"].as_u64().zip(run["user_aborts"].as_u64());
        assert_eq!(ended.map(|(committed, aborted)| committed + aborted), Some(300));
    }
}

#[test]
fn a_figure_is_run_and_written_in_all_forms() {
    let listed = stdout(&hotrow(&["bench", "figure", "--list"]));
    assert!(listed.contains("orthrus-4") && listed.contains("hot-row"), "{listed}");
    let files = ["json", "csv", "svg"].map(|kind| scratch(&format!("figure.{kind}")));
    let [json, csv, svg] = files.each_ref().map(|path| path.to_str().expect("it is text"));
    let words = ["bench", "figure", "orthrus-1", "--size", "0.001", "--transactions", "50"];
    let written = ["--json", json, "--csv", csv, "--svg", svg];
    let output = hotrow(&[&words[..], &written[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("Claim: "), "{}", stdout(&output));
    let read = |path: &str| std::fs::read_to_string(path).expect("it was written");
    let figure: serde_json::Value = serde_json::from_str(&read(json)).expect("it is JSON");
    let points = figure["panels"][0]["points"].as_array().expect("it has points").len();
    assert_eq!(read(csv).lines().count(), points + 1);
    assert!(read(svg).starts_with("<svg"));
    let told = stdout(&output);
    assert!(told.contains("\nVerdicts, ") && told.contains(" not to be seen here\n"), "{told}");
    let verdict = figure["claims"][0]["verdict"].as_str().expect("each claim has one");
    assert!(["shown", "contrary", "not to be seen here"].contains(&verdict), "{verdict}");
    let unknown = hotrow(&["bench", "figure", "chess-1"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("orthrus-1"), "{}", stderr(&unknown));
}

#[test]
fn verdicts_are_kept_and_written_into_the_document() {
    let folder = scratch("figures");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let [records, page] = ["figures-verdicts.json", "figures.md"].map(|name| folder.join(name));
    let [records_name, page_name] = [&records, &page].map(|p| p.to_str().expect("it is text"));
    let _ = std::fs::remove_file(&records);
    let words = ["bench", "figure", "hot-row", "--transactions", "50", "--repeat", "2", "--quiet"];
    let kept = ["--record", records_name, "--commit", "abc1234"];
    let output = hotrow(&[&words[..], &kept].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("Provisional: from 2 repeats only"), "{}", stdout(&output));
    let document = include_str!("../../../docs/figures.md");
    std::fs::write(&page, document).expect("the folder can be written");
    let output = hotrow(&["bench", "figure", "--document", page_name]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written = std::fs::read_to_string(&page).expect("it was written");
    let command =
        "    hotrow bench figure hot-row --transactions 50 --repeat 2 --size 1 --seed 42\n";
    assert!(
        written.contains("real cores, at commit abc1234") && written.contains(command),
        "{written}"
    );
    let no_commit = hotrow(&["bench", "figure", "hot-row", "--record", records_name]);
    assert_eq!(no_commit.status.code(), Some(2));
    assert!(stderr(&no_commit).contains("--commit"), "{}", stderr(&no_commit));
    std::fs::write(&page, "no marks").expect("the folder can be written");
    let output = hotrow(&["bench", "figure", "--document", page_name]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the document has no line"), "{}", stderr(&output));
}

#[test]
fn a_page_is_written_of_what_was_run_once() {
    let folder = scratch("paper");
    let _ = std::fs::remove_dir_all(&folder);
    let report = folder.to_str().expect("it is text");
    let words = ["bench", "paper", "dora-7b", "--quick", "--report", report, "--commit", "abc1234"];
    let no_simulator = ["--simulator", "/nonexistent/hotrow"];
    let first = hotrow(&[&words[..], &no_simulator].concat());
    assert_eq!(first.status.code(), Some(1), "{}", stderr(&first));
    let told = stderr(&first);
    assert!(told.contains("dora-7b, real cores") && told.contains("/nonexistent/hotrow"), "{told}");
    let kept = folder.join("real/dora-7b.verdicts.json");
    let verdicts = std::fs::read_to_string(&kept).expect("it was kept before");
    assert!(verdicts.contains("abc1234"), "{verdicts}");

    // A program that ends badly: the page says what is not there.
    let second = hotrow(&[&words[..], &["--simulator", "/bin/false"]].concat());
    assert_eq!(second.status.code(), Some(1), "{}", stderr(&second));
    let told = stderr(&second);
    assert!(told.contains("could not be simulated: dora-7b"), "{told}");
    assert!(!told.contains("real cores"), "it is there already: {told}");
    let page = std::fs::read_to_string(folder.join("index.html")).expect("it was written");
    assert!(page.contains("<h2 id=\"dora-7b\">") && page.contains("abc1234"), "a page");
    assert!(page.contains("were not held against real runs"), "no predictions");

    let unknown = hotrow(&["bench", "paper", "chess-1", "--report", report]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("orthrus-1"), "{}", stderr(&unknown));
}

#[test]
fn functions_are_listed_described_and_written_down() {
    let all = stdout(&hotrow(&["functions"]));
    assert!(all.contains("Numbers\n    abs(number)") && all.contains("generate_series("), "{all}");
    let told = stdout(&hotrow(&["functions", "gen_random"]));
    assert!(told.contains("gen_random_uuid() -> uuid") && told.contains("volatile"), "{told}");
    let none = hotrow(&["functions", "nosuch"]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    let page = scratch("functions.md");
    let written = hotrow(&["functions", "--document", page.to_str().expect("it is text")]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    let page = std::fs::read_to_string(&page).expect("it was written");
    assert_eq!(page, include_str!("../../../docs/functions.md"));
}

#[test]
fn json_on_stdout_is_nothing_but_json() {
    let words = ["bench", "ycsb", "--set", "records=100", "--transactions", "50", "--json", "-"];
    let output = hotrow(&words);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let runs: Vec<serde_json::Value> =
        serde_json::from_str(&stdout(&output)).expect("it is a list");
    assert!(runs.iter().all(|run| run["committed"] == 50));
    assert!(stderr(&output).contains("txn/s"));
}

#[test]
fn histories_are_clean_and_written() {
    let file = scratch("history.edn");
    let path = file.to_str().expect("the folder's name is text");
    let engine = format!("{}:", hotrow::engines()[0].name);
    let words = ["bench", "history", "--format", "elle", "--transactions", "300"];
    let output = hotrow(&[&words[..], &["--engine", &engine, "--out", path][..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("strictly serializable"), "{}", stdout(&output));
    let edn = std::fs::read_to_string(file).expect("the history was written");
    assert!(edn.contains(":append"), "{edn}");
}

#[test]
fn wrong_usage_is_2() {
    for words in [
        &["bench", "chess"][..],
        &["bench", "--engine", "steam"],
        &["bench", "--set", "colour=red"],
        &["bench", "--set", "colour"],
        &["bench", "--warehouses", "0"],
        &["bench", "history", "--out", "x"],
        &["sql"],
        &["sql", "-", "--engine", "all"],
        &["frobnicate"],
    ] {
        let output = hotrow(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn a_script_shows_rows_and_its_error_s_place() {
    let good = "CREATE TABLE t (id bigint PRIMARY KEY);\nINSERT INTO t VALUES (7);\n";
    let output = hotrow_with_input(&["sql", "-"], &format!("{good}SELECT id FROM t;"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "CREATE TABLE\nINSERT 0 1\n id\n----\n  7\n(1 row)\n");

    let output = hotrow_with_input(&["sql", "-"], &format!("{good}SELECT x FROM t;"));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--> stdin:3:8\n3 | SELECT x FROM t;"), "{}", stderr(&output));

    let output = hotrow(&["sql", "no such file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no such file"), "{}", stderr(&output));
}

const BUMP: &str = "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL CHECK (n < 2));
CREATE FUNCTION bump(p_id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v_n bigint;
BEGIN
    UPDATE t SET n = n + 1 WHERE id = p_id RETURNING n INTO v_n;
    RETURN v_n;
END $$;
INSERT INTO t VALUES (1, 0);
";

#[test]
fn explain_tells_what_is_known() {
    let file = scratch("bump.sql");
    std::fs::write(&file, BUMP).expect("the folder can be written");
    let path = file.to_str().expect("the folder's name is text");
    let output = hotrow(&["explain", path, "bump"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("update t"), "{}", stdout(&output));
    assert_eq!(hotrow(&["explain", path, "bumps"]).status.code(), Some(1));
}

#[test]
fn the_shell_takes_statements_over_lines_and_goes_on_after_errors() {
    let typed = format!(
        "{BUMP}CALL bump(1);\nCALL bump(1);\nSELECT n\nFROM t;\n\\d t\n\\df\n\\nothing\n\\q\n"
    );
    let output = hotrow_with_input(&["shell"], &typed);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let (text, errors) = (stdout(&output), stderr(&output));
    assert!(text.contains("CREATE FUNCTION") && text.contains("Table \"t\""), "{text}");
    assert!(text.contains("bump(p_id bigint) -> bigint"), "{text}");
    assert!(errors.contains("ERROR 23514") && errors.contains("no command \\nothing"), "{errors}");
    let place = " |     UPDATE t SET n = n + 1 WHERE id = p_id RETURNING n INTO v_n;\n";
    assert!(errors.contains(place), "the error points into the procedure: {errors}");
}

#[test]
fn completions_and_engines_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let output = hotrow(&["completions", shell]);
        assert!(output.status.success() && stdout(&output).contains("hotrow"), "{shell}");
    }
    let text = stdout(&hotrow(&["engines"]));
    assert!(hotrow::engines().iter().all(|entry| text.contains(entry.name)), "{text}");
}

#[test]
fn every_command_has_help() {
    for words in [
        &["--help"][..],
        &["bench", "--help"],
        &["bench", "history", "--help"],
        &["sql", "--help"],
        &["shell", "--help"],
        &["explain", "--help"],
        &["check", "--help"],
        &["serve", "--help"],
        &["config", "print", "--help"],
        &["completions", "--help"],
        &["top", "--help"],
    ] {
        let output = hotrow(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert!(stdout(&output).contains("Example"), "{words:?}: {}", stdout(&output));
    }
}

const SHOP: &str = "
CREATE TABLE product (id integer PRIMARY KEY, stock integer NOT NULL);
CREATE FUNCTION buy(p integer, n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE v integer;
BEGIN
  UPDATE product SET stock = stock - n WHERE id = p RETURNING stock INTO v;
  RETURN v;
END $$;
INSERT INTO product VALUES (1, 100);
CALL buy(1, 3);
";

#[test]
fn a_data_directory_is_kept_checked_dumped_and_checkpointed() {
    let folder = scratch("data");
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_str().expect("the folder's name is text");
    let made = hotrow_with_input(&["sql", "-", "--data", path], SHOP);
    assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
    let again = hotrow_with_input(&["sql", "-", "--data", path, "-q"], "CALL buy(1, 4)");
    assert!(stdout(&again).contains("93"), "{}{}", stdout(&again), stderr(&again));
    assert!(stderr(&again).contains("4 transactions repeated"), "{}", stderr(&again));

    let dumped = stdout(&hotrow(&["log", "dump", path]));
    let lines: Vec<_> = dumped.lines().filter(|line| line.contains("worker")).collect();
    assert_eq!(lines.len(), 5, "{dumped}");
    assert!(lines[0].contains("definition") && lines[2].contains("statement"), "{dumped}");
    assert!(lines[3].contains("CALL buy(1, 3)") && lines[4].contains("CALL buy(1, 4)"), "{dumped}");

    let verified = hotrow(&["verify", path]);
    assert_eq!(verified.status.code(), Some(0), "{}", stderr(&verified));
    assert!(stdout(&verified).contains("product: 1 rows, each in all indexes"));
    assert!(stdout(&verified).ends_with("All is well.\n"), "{}", stdout(&verified));

    let taken = hotrow(&["checkpoint", path]);
    assert!(stdout(&taken).starts_with("1 rows, "), "{}{}", stdout(&taken), stderr(&taken));
    let verified = stdout(&hotrow(&["verify", path]));
    assert!(verified.contains("checkpoint  1 rows") && verified.contains(" 0 transactions"));
    let last = hotrow_with_input(&["sql", "-", "--data", path, "-q"], "CALL buy(1, 1)");
    assert!(stdout(&last).contains("92"), "{}", stdout(&last));
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn damage_in_a_data_directory_is_told_with_file_and_offset() {
    let folder = scratch("damaged");
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_str().expect("the folder's name is text");
    hotrow_with_input(&["sql", "-", "--data", path], SHOP);
    let log = std::fs::read_dir(folder.join("log")).expect("there is a log");
    let log = log.map(|file| file.expect("it can be listed").path()).min().expect("a file");
    let mut bytes = std::fs::read(&log).expect("it can be read");
    bytes[2 * 4096 + 70] ^= 1; // in the second block
    std::fs::write(&log, bytes).expect("it can be written");
    for words in [&["verify", path][..], &["log", "dump", path], &["sql", "-", "--data", path]] {
        let output = hotrow(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let told = stderr(&output);
        assert!(told.contains("is damaged at byte 8192"), "{words:?}: {told}");
        assert!(told.contains(log.to_str().expect("text")), "{words:?}: {told}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn what_is_no_data_directory_is_not_made_one_by_looking() {
    let folder = scratch("nothing");
    let path = folder.to_str().expect("the folder's name is text");
    for words in [&["verify", path][..], &["log", "dump", path], &["checkpoint", path]] {
        let output = hotrow(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(stderr(&output).contains("is not a data directory"), "{}", stderr(&output));
        assert!(!folder.exists(), "{words:?}");
    }
}

const CHECKED: &str = "\
\\set ON_ERROR_STOP on
CREATE TABLE account (id bigint PRIMARY KEY, owner bigint NOT NULL, balance bigint NOT NULL);
CREATE TABLE entry (account bigint, number bigint, amount bigint, PRIMARY KEY (account, number));
CREATE PROCEDURE deposit(p_id bigint, p_amount bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = balance + p_amount WHERE id = p_id;
END $$;
";

const RECONNOITRED: &str = "\
CREATE FUNCTION owner_of(p_id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v account%ROWTYPE;
BEGIN
  SELECT * INTO v FROM account WHERE id = p_id;
  UPDATE account SET owner = owner + 1 WHERE id = v.owner;
  RETURN v.owner;
END $$;
";

fn written(name: &str, text: &str) -> String {
    let file = scratch(name);
    std::fs::write(&file, text).expect("the folder can be written");
    file.to_str().expect("the folder's name is text").to_owned()
}

#[test]
fn check_shows_what_each_call_would_hold() {
    let [schema, more] = [("schema.sql", CHECKED), ("more.sql", RECONNOITRED)]
        .map(|(name, text)| written(&format!("check-{name}"), text));
    let output = hotrow(&["check", &schema, &more]);
    let (text, told) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("\\set ON_ERROR_STOP on is a command of psql, and skipped"), "{told}");
    assert!(text.contains("deposit(p_id bigint, p_amount bigint)"), "{text}");
    assert!(text.contains("X account_pkey (id = p_id)  by update 6\n"), "{text}");
    assert!(text.contains("    reconnoitred\n"), "{text}");
    let doubt = "line 5: v.owner is read from a row\n        to have it planned, ";
    assert!(text.contains(doubt), "{text}");
    assert!(text.contains("2 procedures: 1 planned, 1 reconnoitred, 0 may run alone"), "{text}");

    let output = hotrow(&["check", "--planned", &schema]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = hotrow(&["check", "--planned", &schema, &more]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("more.sql:1:1: error: owner_of(p_id bigint) -> bigint is not"), "{told}");

    let output = hotrow(&["check", "--json", &schema, &more]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("it is JSON");
    let [deposit, owner_of] = [0, 1].map(|at| &document["procedures"][at]);
    assert_eq!(deposit["name"], "deposit(bigint, bigint)");
    assert_eq!(deposit["holds"][0]["key"][0]["value"], "p_id");
    assert_eq!(owner_of["planning"], "reconnoitred");
    assert_eq!(document["warnings"][0]["line"], 1);
}

#[test]
fn check_tells_each_statement_that_is_refused() {
    let text = "CREATE TABLE t (a integer PRIMARY KEY);\nSELECT b FROM t;\nINSERT INTO t\n  \
                VALUES ('x');\nCREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$\n\
                BEGIN\n  RETURN (SELECT a FROM missing);\nEND $$;\nSELECT 1 FRM t WHERE;\n";
    let file = written("check-refused.sql", text);
    let output = hotrow(&["check", &file]);
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    let wanted = ["2:8: error 42703: ", "4:11: error 22P02: ", "7:25: error 42P01: ", "9:"];
    for (line, wanted) in told.lines().filter(|line| !line.starts_with(' ')).zip(wanted) {
        assert!(line.starts_with(&format!("{file}:{wanted}")), "{wanted}: {told}");
    }
    assert!(stdout(&output).contains("4 statements refused"), "{}", stdout(&output));
    assert_eq!(hotrow(&["check", "there-is-no-such-file.sql"]).status.code(), Some(1));
    assert_eq!(hotrow(&["check"]).status.code(), Some(2));
}

#[test]
fn check_tells_what_another_version_holds_more() {
    let old = written("check-old.sql", &(CHECKED.to_owned() + RECONNOITRED));
    let deposit = "UPDATE account SET balance = balance + p_amount WHERE id = p_id;";
    let insert = format!("{deposit}\n  INSERT INTO entry VALUES (p_id, 1, p_amount);");
    let new = written("check-new.sql", &CHECKED.replace(deposit, &insert));
    let output = hotrow(&["check", &new, "--against", &old]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = "deposit(bigint, bigint): holds more\n    + X entry_pkey (account, number)\n\
                    owner_of(bigint): gone\n";
    assert_eq!(stdout(&output), expected);
    let output = hotrow(&["check", &new, "--against", &new]);
    assert_eq!(stdout(&output), "Calls hold what they held before.\n");
    let back = hotrow(&["check", "--json", &old, "--against", &new]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&back)).expect("it is JSON");
    assert_eq!(document["differences"][0]["is"], serde_json::json!(["holds less"]));
    assert_eq!(document["differences"][1]["is"], serde_json::json!(["new"]));
}
