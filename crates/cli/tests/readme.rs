//! The README's commands of `hotrow` are run as they are printed, on less than they would take.

use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../README.md");
const SHOP: &str = "crates/database/examples/shop.sql";

/// The commands of the README's indented lines that begin so, without their comments.
fn commands(beginning: &str) -> Vec<Vec<&'static str>> {
    let lines = README.lines().filter_map(|line| line.strip_prefix("    "));
    let lines = lines.map(|line| line.split(" # ").next().unwrap_or_default());
    let rest = lines.filter_map(|line| line.strip_prefix(beginning));
    rest.map(|rest| rest.split_whitespace().collect()).collect()
}

/// Runs a command in the repository's root.
fn run(words: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_hotrow"))
        .args(words)
        .current_dir(root)
        .output()
        .expect("the binary was built for this test");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "hotrow {}: {said}", words.join(" "));
    String::from_utf8(output.stdout).expect("output is text")
}

#[test]
fn the_first_command_shows_three_engines() {
    let first = commands("cargo run --profile quick -- ");
    assert_eq!(first, [["bench", "tpcc"]]);
    let small = ["--set", "items=100", "--set", "customers=30", "--transactions", "200"];
    let shown = run(&[&first[0][..], &small].concat());
    for engine in ["serial", "two_phase_locking", "silo"] {
        assert!(shown.contains(engine), "{shown}");
    }
}

#[test]
fn the_commands_on_the_example_run() {
    let all = commands("hotrow ");
    let of_files: Vec<_> = all.iter().filter(|words| words.contains(&SHOP)).collect();
    assert!(of_files.len() >= 2, "{all:?}");
    for words in of_files {
        run(words);
    }
}

#[test]
fn a_script_with_serial_columns_and_rows_is_explained() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{}-serial.sql", std::process::id()));
    let script = "CREATE TABLE note (id serial PRIMARY KEY, text text NOT NULL);
        INSERT INTO note (text) VALUES ('one'), ('two');
        CREATE FUNCTION write(p_text text) RETURNS integer AS $$
        DECLARE v_id integer;
        BEGIN
            INSERT INTO note (text) VALUES (p_text) RETURNING id INTO v_id;
            RETURN v_id;
        END $$ LANGUAGE plpgsql;
        SELECT write('three');";
    std::fs::write(&file, script).expect("the folder can be written");
    let shown = run(&["explain", file.to_str().expect("the folder's name is text"), "write"]);
    assert!(shown.contains("insert into note"), "{shown}");
}
