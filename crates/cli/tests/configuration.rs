//! Settings of the server as its users meet them: sources, origins, errors, the sample file.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use postgres::{Client, NoTls};

/// Runs the command in an environment with these variables of its own and no others.
fn hotrow(words: &[&str], environment: &[(&str, &str)]) -> Output {
    command(words, environment).output().expect("the binary was built for this test")
}

fn command(words: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotrow"));
    command.args(words).env_clear().envs(environment.iter().copied()).stdin(Stdio::null());
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is text")
}

/// A file of settings, and its name.
fn file(name: &str, text: &str) -> (PathBuf, String) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let path = folder.join(format!("{}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("the folder can be written");
    let shown = path.to_str().expect("the folder's name is text").to_owned();
    (path, shown)
}

/// What `hotrow config print` says of a setting: value and origin.
fn printed(setting: &str, words: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let output = hotrow(&[&["config", "print"], words].concat(), environment);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let line = text.lines().find(|line| line.split(' ').next() == Some(setting));
    let rest = &line.expect("every setting is shown")[setting.len()..];
    let (value, origin) = rest.trim().split_once("  ").expect("it has three columns");
    (value.trim().to_owned(), origin.trim().to_owned())
}

/// What a command that must be refused says.
fn refused(words: &[&str], environment: &[(&str, &str)]) -> String {
    let output = hotrow(words, environment);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_flag_goes_before_the_environment_before_the_file_before_the_default() {
    let (_, path) = file("order.toml", "# few\nconnections = 3\nsend_patience = '3s'\n");
    let (flag, named) = (["--connections", "1"], ["--config", &path]);
    let environment = [("HOTROW_CONNECTIONS", "2")];
    let said = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    let all = [flag, named].concat();
    assert_eq!(printed("connections", &all, &environment), said("1", "flag --connections"));
    let told = said("2", "environment HOTROW_CONNECTIONS");
    assert_eq!(printed("connections", &named, &environment), told);
    let line = format!("file {path}:2");
    assert_eq!(printed("connections", &named, &[]), said("3", &line));
    assert_eq!(printed("connections", &[], &[("HOTROW_CONFIG", &path)]), said("3", &line));
    let empty = [("HOTROW_CONNECTIONS", "")];
    assert_eq!(printed("connections", &named, &empty), said("3", &line));
    assert_eq!(printed("connections", &[], &[]), said("100", "default"));
    // Each setting by itself.
    let line = format!("file {path}:3");
    assert_eq!(printed("send_patience", &all, &environment), said("3s", &line));
    assert_eq!(printed("data", &["/x"], &[]), said("/x", "argument DIR"));
    assert_eq!(printed("data", &["--data", "/x"], &[]), said("/x", "flag --data"));
    let threads = said("(one per core, or as many as it can use)", "default");
    assert_eq!(printed("threads", &[], &[]), threads);
}

#[test]
fn a_switch_of_a_file_is_turned_off_by_a_flag() {
    let (_, path) = file("switch.toml", "memory = true\n");
    assert_eq!(printed("memory", &["--config", &path], &[]).0, "true");
    assert_eq!(printed("memory", &["--config", &path, "--memory=false", "/x"], &[]).0, "false");
    assert_eq!(printed("memory", &["--memory"], &[]).0, "true");
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_line_and_column() {
    let (_, path) = file("wrong.toml", "threads = 2\n\n  conections = 5\nsplit = true\n");
    for words in [&["serve", "--memory"][..], &["config", "print"]] {
        let told = refused(&[words, &["--config", &path]].concat(), &[]);
        let first =
            format!("{path}:3:3: there is no setting conections; the nearest is connections");
        let second = "4:9: split: expected a whole number from 1 to 256, found: boolean";
        assert!(told.contains(&first) && told.contains(second), "{told}");
    }
    let missing = hotrow(&["config", "print", "--config", "no such file"], &[]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("no such file"), "{}", stderr(&missing));
}

#[test]
fn what_is_wrong_in_the_environment_is_told_with_the_variable() {
    let told = refused(&["serve", "--memory"], &[("HOTROW_THREADS", "two")]);
    let expected = "environment HOTROW_THREADS: \"two\" is not a whole number from 1 to 1024";
    assert!(told.contains(expected), "{told}");
    let output = hotrow(&["config", "print"], &[("HOTROW_CONECTIONS", "5"), ("HOTROW_X", "1")]);
    assert_eq!(output.status.code(), Some(0));
    let told = stderr(&output);
    assert!(told.contains("HOTROW_CONECTIONS in the environment is no setting"), "{told}");
    assert!(told.contains("the nearest is HOTROW_CONNECTIONS\n"), "{told}");
    assert!(told.contains("HOTROW_X in the environment is no setting\n"), "{told}");
    let known = [("HOTROW_PASSWORD", "x"), ("HOTROW_THREADS", "2"), ("PATH", "/bin")];
    assert_eq!(stderr(&hotrow(&["config", "print"], &known)), "");
}

#[test]
fn flags_are_checked_as_ever() {
    for words in [
        &["--threads", "0"][..],
        &["--listen", "here"],
        &["--durability", "memory"],
        &["--memory-bytes", "1"],
        &["--memory=perhaps"],
        &["--data", "/x", "/y"],
        &["--engine", "all"],
        &["--engine", "steam"],
        &["--password", "x"],
    ] {
        let told = refused(&[&["serve"], words].concat(), &[]);
        assert!(told.contains(words[0].split('=').next().expect("a flag")), "{words:?}: {told}");
    }
    assert!(refused(&["serve"], &[]).contains("HOTROW_DATA"));
}

#[test]
fn settings_that_do_not_go_together_are_told_with_what_said_them() {
    let (_, path) = file("conflict.toml", "data = '/x'\ntls_required = true\n");
    let named = ["serve", "--config", &path];
    let told = refused(&[&named[..], &["--memory"]].concat(), &[]);
    let expected = format!("memory (flag --memory) and data (file {path}:1) exclude each other");
    assert!(told.contains(&expected), "{told}");
    let told = refused(&named, &[("HOTROW_INSECURE_NO_TLS", "true")]);
    let expected = format!(
        "tls_required (file {path}:2) and insecure_no_tls (environment HOTROW_INSECURE_NO_TLS) \
         exclude each other"
    );
    assert!(told.contains(&expected), "{told}");
    let told = refused(&named, &[]);
    assert!(told.contains(&format!("tls_required (file {path}:2) needs tls_cert")), "{told}");
    for (words, needed) in [
        (["--tls-cert", "x"], "tls_key (flag --tls-key, environment HOTROW_TLS_KEY)"),
        (["--tls-key", "x"], "tls_cert"),
        (["--password-file", "x"], "user"),
        (["--durability", "durable"], "memory"),
    ] {
        let told = refused(&[&["serve", "--memory"], &words[..]].concat(), &[]);
        assert!(told.contains(needed), "{told}");
    }
    // What is printed helps to find them, and says the same.
    let output = hotrow(&["config", "print", "--memory", "--config", &path], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("flag --memory"), "{}", stdout(&output));
    assert!(stderr(&output).contains("exclude each other"), "{}", stderr(&output));
}

#[test]
fn a_password_is_never_shown() {
    let environment = [("HOTROW_PASSWORD", "s3cret"), ("HOTROW_PASSWROD", "s3cret")];
    let (_, wrong) = file("secret.toml", "password = 's3cret'\n");
    let (_, broken) = file("broken.toml", "password = s3cret'\n");
    let (_, typed) = file("typed.toml", "user = ['s3cret']\n");
    let named = |path| ["config", "print", "--user", "ann", "--config", path];
    for words in [
        &["config", "print", "--user", "ann"][..],
        &["config", "print", "--user", "ann", "--toml"],
        &named(&wrong),
        &named(&broken),
        &named(&typed),
        &["serve", "--memory", "--user", "ann", "--config", &wrong],
        &["serve", "--memory", "--user", "ann", "--listen", "203.0.113.1:1"],
    ] {
        let output = hotrow(words, &environment);
        let told = stdout(&output) + &stderr(&output);
        assert!(!told.contains("s3cret") && !told.is_empty(), "{words:?}: {told}");
    }
    let told = refused(&named(&wrong), &[]);
    assert!(told.contains("there is no setting password; the nearest is password_file"), "{told}");
}

#[test]
fn what_is_printed_as_a_file_says_the_same_when_it_is_read() {
    let words = ["--memory", "--threads", "02", "--send-patience", "5s", "--listen", "[::1]:7"];
    let more = ["--user", "a \"b\"\\'", "--message-bytes-max", "65536"];
    let words = [&words[..], &more].concat();
    let text = stdout(&hotrow(&[&["config", "print", "--toml"], &words[..]].concat(), &[]));
    let (_, path) = file("again.toml", &text);
    let table = |words: &[&str]| {
        let output = hotrow(&[&["config", "print"], words].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        let columns = |line: &str| {
            let mut parts = line.split("  ").filter(|part| !part.is_empty());
            [parts.next(), parts.next()].map(|part| part.unwrap_or_default().trim().to_owned())
        };
        text.lines().map(columns).collect::<Vec<_>>()
    };
    let plain: Vec<_> = words.iter().map(|word| if *word == "02" { "2" } else { word }).collect();
    assert_eq!(table(&["--config", &path]), table(&plain));
}

#[test]
fn the_sample_file_is_what_is_generated() {
    let output = hotrow(&["config", "print", "--toml", "/var/lib/hotrow"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kept = std::fs::read_to_string(root.join("packaging/hotrow.toml")).expect("it is there");
    let again = "write it anew: hotrow config print --toml /var/lib/hotrow > packaging/hotrow.toml";
    assert!(kept == stdout(&output), "{again}");
    // Where a setting has a default, that is what is commented out.
    let said = kept.lines().map(|line| line.strip_prefix('#').unwrap_or(line));
    let values = said.filter(|line| line.contains(" = ") && !line.starts_with(' '));
    let needs_more = [
        "engine",
        "threads",
        "socket_directory",
        "user",
        "password_file",
        "tls_cert",
        "tls_key",
        "work_memory_bytes",
        "session_memory_bytes",
        "statement_memory_bytes",
        "http",
    ];
    let simple = values.filter(|line| !needs_more.iter().any(|name| line.starts_with(name)));
    let (_, path) = file("said.toml", &simple.collect::<Vec<_>>().join("\n"));
    let said = stdout(&hotrow(&["config", "print", "--config", &path], &[]));
    let by_default = stdout(&hotrow(&["config", "print", "/var/lib/hotrow"], &[]));
    let values = |text: &str| {
        let line = |line: &str| line.split("  ").take(2).collect::<String>();
        text.lines().map(line).collect::<Vec<_>>()
    };
    assert_eq!(values(&said), values(&by_default));
    assert!(said.contains("file "), "{said}");
}

/// A server that ends with the test.
struct Serving {
    child: Child,
    port: u16,
    /// kept open, so that it can write to it
    _errors: BufReader<ChildStderr>,
}

impl Serving {
    fn start(words: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::of(command(words, environment)).0
    }

    /// Starts it; and what it has told until it listened.
    fn of(mut command: Command) -> (Self, String) {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it was built");
        let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut told = String::new();
        let port = loop {
            let start = told.len();
            let read = errors.read_line(&mut told).expect("it is text");
            assert!(read > 0, "it ended: {told}");
            if let Some((_, address)) = told[start..].split_once("listening on ") {
                break address.trim().rsplit(':').next().and_then(|port| port.parse().ok());
            }
        };
        let port = port.expect("an address ends with a port");
        (Self { child, port, _errors: errors }, told)
    }

    fn connect(&self) -> Result<Client, postgres::Error> {
        Client::connect(&format!("host=127.0.0.1 port={} user=a dbname=b", self.port), NoTls)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_does_what_its_file_says() {
    let settings = "memory = true\nlisten = '127.0.0.1:0'\nconnections = 1\nthreads = 1\n\
        memory_bytes = '64MiB'\nresult_bytes_max = '64KiB'\nidle_in_transaction = '200ms'\n";
    let (_, path) = file("serving.toml", settings);
    let server = Serving::start(&["serve", "--config", &path], &[]);
    let mut client = server.connect().expect("it listens where the file says");
    let error = server.connect().map(drop).expect_err("there may be one connection");
    assert_eq!(error.code().map(|code| code.code()), Some("53300"));
    let many = "SELECT n FROM generate_series(1, 100000) AS g (n)";
    let error = client.query(many, &[]).map(drop).expect_err("that is more than 64 KiB");
    assert!(["54000", "53200"].contains(&error.code().map_or("", |code| code.code())), "{error}");
    client.batch_execute("BEGIN").expect("it begins");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let error = client.batch_execute("SELECT 1").expect_err("it was idle for longer");
    assert_eq!(error.code().map(|code| code.code()), Some("25P03"));
}

#[test]
fn a_server_makes_room_for_its_connections() {
    // Soft and hard limit of open files, connections; what the limit is then, and whether it warns.
    for (soft, hard, connections, then, warns) in
        [(64, 4096, "300", 684, false), (64, 500, "300", 500, true), (800, 4096, "300", 800, false)]
    {
        let limits = format!("ulimit -S -n {soft}; ulimit -H -n {hard}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limits, env!("CARGO_BIN_EXE_hotrow"), "serve", "--memory"]);
        command.args(["--listen", "127.0.0.1:0", "--connections", connections]);
        let (server, told) = Serving::of(command);
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.child.id()));
        let limits = limits.expect("it runs");
        let files = limits.lines().find(|line| line.starts_with("Max open files"));
        let words: Vec<_> = files.expect("it is told").split_whitespace().collect();
        assert_eq!(words[3], then.to_string(), "{soft} {hard}");
        let warning = "300 connections may need 684 file descriptors and this process gets 500";
        assert_eq!(told.contains(warning), warns, "{told}");
        server.connect().expect("it serves");
    }
}
