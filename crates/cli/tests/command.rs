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
    let more = ["--warehouses", "1,2", "--transactions", "300", "--json", path];
    let output = hotrow(&[&words[..], &more[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("tpcc 2w") && text.contains("Look at: "), "{text}");
    assert!(!text.contains('\x1b'), "output that is no terminal is plain: {text}");
    let json = std::fs::read_to_string(json).expect("the runs were written");
    let runs: Vec<serde_json::Value> = serde_json::from_str(&json).expect("it is a list");
    let variants = |entry: &hotrow::EngineEntry| {
        let threads = if entry.threads_max == Some(1) { 1 } else { 2 };
        entry.variants.len() * threads
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
        &["completions", "--help"],
    ] {
        let output = hotrow(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert!(stdout(&output).contains("Example"), "{words:?}: {}", stdout(&output));
    }
}
