//! The table of settings.

use std::path::PathBuf;
use std::time::Duration;

use hotrow::Durability;
use tracing::level_filters::LevelFilter;

use super::Form::{Size, Span, Switch, Text, Whole};
use super::Otherwise::{Nothing, Value};
use super::{Setting, is_not};
use crate::logging::LogFormat;
use crate::sql;

const DATABASE: &str = "Database";
const CONNECTIONS: &str = "Connections and users";
const ENCRYPTION: &str = "Encryption";
const LIMITS: &str = "Limits";
const OVERLOAD: &str = "Overload";
const WATCHING: &str = "Watching";
const CHECKPOINTS: &str = "Checkpoints";

const ADDRESS: &str = "an address and a port, such as 127.0.0.1:5433 or [::]:5433";
const MODE: &str = "durable or buffered";
const FORMAT: &str = "text or json";
const LEVEL: &str = "error, warn, info, debug or off";
const PATH: &str = "a path";
const NAME: &str = "a name";

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
const PIB: u64 = 1 << 50;
const BILLION: u64 = 1_000_000_000;

/// All settings, under their headings, in the order in which they are shown.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting {
        name: "data",
        value_name: "DIR",
        otherwise: Nothing("none; give one, or memory"),
        heading: DATABASE,
        about: "Keep the database in this directory, which is made if it is not there",
        form: Text(PATH, |to, text| path(&mut to.directory, text)),
    },
    Setting {
        name: "memory",
        value_name: "BOOL",
        otherwise: Value("false"),
        heading: DATABASE,
        about: "Keep the database in memory only: it is gone when the server stops",
        form: Switch(|to, is_on| to.memory = is_on),
    },
    Setting {
        name: "durability",
        value_name: "MODE",
        otherwise: Value("durable"),
        heading: DATABASE,
        about: "What the end of a transaction waits for: durable (the disk has it) or buffered \
            (the system has it)",
        form: Text(MODE, |to, text| match text.parse() {
            Ok(mode) if mode != Durability::Memory => {
                to.config.durability = mode;
                Ok(())
            }
            _ => Err(is_not(text, MODE)),
        }),
    },
    Setting {
        name: "engine",
        value_name: "ENGINE",
        otherwise: Nothing("the one that plans first and locks in order"),
        heading: DATABASE,
        about: "What runs calls: NAME or NAME:setting=value,... as `hotrow engines` lists them",
        form: Text("an engine, NAME or NAME:setting=value,...", |to, text| {
            sql::choose_engine(&mut to.config, text)
        }),
    },
    Setting {
        name: "threads",
        value_name: "N",
        otherwise: Nothing("one per core, or as many as it can use"),
        heading: DATABASE,
        about: "Threads of the engine",
        form: Whole(1..=1024, |to, threads| to.config.threads = Some(threads as usize)),
    },
    Setting {
        name: "split",
        value_name: "PARTS",
        otherwise: Value("1"),
        heading: DATABASE,
        about: "Split each index into so many parts, by routing fields that its keys begin with",
        form: Whole(1..=256, |to, parts| to.config.split_indexes = parts as u16),
    },
    Setting {
        name: "memory-bytes",
        value_name: "SIZE",
        otherwise: Value("4GiB"),
        heading: DATABASE,
        about: "Memory that rows and indexes may take together; then inserts fail with 53200",
        form: Size(1 << 20..=PIB, |to, bytes| to.config.memory_bytes = bytes),
    },
    Setting {
        name: "listen",
        value_name: "ADDRESS",
        otherwise: Value("127.0.0.1:5433"),
        heading: CONNECTIONS,
        about: "Where to listen; port 0: any that is free",
        form: Text(ADDRESS, |to, text| {
            to.server.address = text.parse().map_err(|_| is_not(text, ADDRESS))?;
            Ok(())
        }),
    },
    Setting {
        name: "socket-directory",
        value_name: "DIR",
        otherwise: Nothing("none"),
        heading: CONNECTIONS,
        about: "Listen in this directory, too, for programs of this machine: on the socket \
            .s.PGSQL.PORT, which PostgreSQL's clients find by host=DIR",
        form: Text(PATH, |to, text| path(&mut to.server.socket_directory, text)),
    },
    Setting {
        name: "connections",
        value_name: "N",
        otherwise: Value("100"),
        heading: CONNECTIONS,
        about: "Connections at a time; others are refused with 53300",
        form: Whole(1..=100_000, |to, most| to.server.connections_max = most as usize),
    },
    Setting {
        name: "superuser-reserved-connections",
        value_name: "N",
        otherwise: Value("3"),
        heading: CONNECTIONS,
        about: "Of the connections those that only administrators get; a quarter at most",
        form: Whole(0..=1000, |to, reserved| to.server.reserved_connections = reserved as usize),
    },
    Setting {
        name: "administrators",
        value_name: "NAMES",
        otherwise: Value("postgres,hotrow"),
        heading: CONNECTIONS,
        about: "Users who get the reserved connections, with commas between them",
        form: Text("names, with commas between them", |to, text| {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            to.server.administrators = names.map(str::to_owned).collect();
            Ok(())
        }),
    },
    Setting {
        name: "half-open-max",
        value_name: "N",
        otherwise: Value("128"),
        heading: CONNECTIONS,
        about: "Connections at a time that have not begun a session, beside those that have; of \
            more the oldest is told so (53300) and closed",
        form: Whole(1..=100_000, |to, most| to.server.half_open_max = most as usize),
    },
    Setting {
        name: "tcp-keepalives-idle",
        value_name: "SPAN",
        otherwise: Value("60s"),
        heading: CONNECTIONS,
        about: "Silence after which a client's machine is asked whether it is there any more",
        form: Span(1000..=DAY_MS, |to, span| to.server.keepalive.idle = span),
    },
    Setting {
        name: "tcp-keepalives-interval",
        value_name: "SPAN",
        otherwise: Value("10s"),
        heading: CONNECTIONS,
        about: "Between two such questions",
        form: Span(1000..=DAY_MS, |to, span| to.server.keepalive.interval = span),
    },
    Setting {
        name: "tcp-keepalives-count",
        value_name: "N",
        otherwise: Value("6"),
        heading: CONNECTIONS,
        about: "Unanswered ones after which a connection is given up",
        form: Whole(1..=127, |to, count| to.server.keepalive.count = count as u32),
    },
    Setting {
        name: "insecure-no-passwords",
        value_name: "BOOL",
        otherwise: Value("false"),
        heading: CONNECTIONS,
        about: "Ask nobody for a password, though users have some: any program of this machine is \
            let in as anybody",
        form: Switch(|to, is_on| to.server.asks_nobody = is_on),
    },
    Setting {
        name: "user",
        value_name: "NAME",
        otherwise: Nothing("users stay as they are"),
        heading: CONNECTIONS,
        about: "A user to make, or to give another password: that of HOTROW_PASSWORD or \
            password-file",
        form: Text(NAME, |to, text| {
            to.user = Some(text.to_owned());
            if text.is_empty() { Err(is_not(text, NAME)) } else { Ok(()) }
        }),
    },
    Setting {
        name: "password-file",
        value_name: "FILE",
        otherwise: Nothing("HOTROW_PASSWORD has it"),
        heading: CONNECTIONS,
        about: "A file whose first line is the user's password",
        form: Text(PATH, |to, text| path(&mut to.password_file, text)),
    },
    Setting {
        name: "tls-cert",
        value_name: "FILE",
        otherwise: Nothing("nothing is encrypted"),
        heading: ENCRYPTION,
        about: "Encrypt connections: the certificate, as PEM, behind it those that vouch for it",
        form: Text(PATH, |to, text| path(&mut to.tls_cert, text)),
    },
    Setting {
        name: "tls-key",
        value_name: "FILE",
        otherwise: Nothing("nothing is encrypted"),
        heading: ENCRYPTION,
        about: "The certificate's private key, as PEM",
        form: Text(PATH, |to, text| path(&mut to.tls_key, text)),
    },
    Setting {
        name: "tls-required",
        value_name: "BOOL",
        otherwise: Value("false"),
        heading: ENCRYPTION,
        about: "Refuse connections that are not encrypted, also from this machine",
        form: Switch(|to, is_on| to.tls_required = is_on),
    },
    Setting {
        name: "insecure-no-tls",
        value_name: "BOOL",
        otherwise: Value("false"),
        heading: ENCRYPTION,
        about: "Let other machines in without encryption: whoever is on the way reads all, and may \
            change it",
        form: Switch(|to, is_on| to.insecure_no_tls = is_on),
    },
    Setting {
        name: "message-bytes-max",
        value_name: "SIZE",
        otherwise: Value("16MiB"),
        heading: LIMITS,
        about: "Bytes of one message of a client: a statement, or a statement's values (08P01)",
        form: Size(16 << 10..=1 << 30, |to, bytes| to.server.message_bytes_max = bytes as usize),
    },
    Setting {
        name: "result-bytes-max",
        value_name: "SIZE",
        otherwise: Value("256MiB"),
        heading: LIMITS,
        about: "Bytes of the rows of a statement, and of each step of a query (54000, 53200)",
        form: Size(64 << 10..=PIB, |to, bytes| to.config.result_bytes_max = bytes as usize),
    },
    Setting {
        name: "work-memory-bytes",
        value_name: "SIZE",
        otherwise: Nothing("a quarter of the machine's"),
        heading: LIMITS,
        about: "Memory that the work of all sessions may take, beside rows and indexes (53200)",
        form: Size(16 << 20..=PIB, |to, bytes| to.config.work_memory_bytes = bytes),
    },
    Setting {
        name: "session-memory-bytes",
        value_name: "SIZE",
        otherwise: Nothing("an eighth of the machine's"),
        heading: LIMITS,
        about: "Of that, what one session may take (53200)",
        form: Size(1 << 20..=PIB, |to, bytes| to.config.session_memory_bytes = bytes),
    },
    Setting {
        name: "statement-memory-bytes",
        value_name: "SIZE",
        otherwise: Nothing("a sixteenth of the machine's, 512 MiB at most"),
        heading: LIMITS,
        about: "Of that, what one statement or call may take (53200); a session may SET its own",
        form: Size(1 << 20..=PIB, |to, bytes| to.config.statement_memory_bytes = bytes),
    },
    Setting {
        name: "report-attempt",
        value_name: "SPAN",
        otherwise: Value("10ms"),
        heading: LIMITS,
        about: "How long a statement that reads whole tables is tried under locks, before it runs \
            on a snapshot",
        form: Span(0..=DAY_MS, |to, span| to.config.report_attempt = span),
    },
    Setting {
        name: "snapshot-bytes-max",
        value_name: "SIZE",
        otherwise: Value("1GiB"),
        heading: LIMITS,
        about: "Bytes of all snapshots together; beyond them reports run under locks",
        form: Size(0..=PIB, |to, bytes| to.config.snapshot_bytes_max = bytes),
    },
    Setting {
        name: "changes-max",
        value_name: "N",
        otherwise: Value("16777216"),
        heading: LIMITS,
        about: "Changes of a transaction of several statements; some 32 bytes each (54000)",
        form: Whole(1..=10 * BILLION, |to, changes| to.config.changes_max = changes as usize),
    },
    Setting {
        name: "step-budget",
        value_name: "N",
        otherwise: Value("10000000"),
        heading: LIMITS,
        about: "Turns of loops and visited rows of a call (54000)",
        form: Whole(1..=1000 * BILLION, |to, steps| to.config.step_budget = steps),
    },
    Setting {
        name: "idle-in-transaction",
        value_name: "SPAN",
        otherwise: Value("60s"),
        heading: LIMITS,
        about: "How long a transaction may be idle between two statements (25P03); 0s: for ever",
        form: Span(0..=30 * DAY_MS, |to, span| to.config.idle_in_transaction = unless_zero(span)),
    },
    Setting {
        name: "idle-while-awaited",
        value_name: "SPAN",
        otherwise: Value("10s"),
        heading: LIMITS,
        about: "The same, all in all, while others wait for what it holds; 0s: no such limit",
        form: Span(0..=30 * DAY_MS, |to, span| to.config.idle_while_awaited = unless_zero(span)),
    },
    Setting {
        name: "startup-patience",
        value_name: "SPAN",
        otherwise: Value("10s"),
        heading: LIMITS,
        about: "How long a client may take to begin a session, TLS and password included (08006)",
        form: Span(1..=DAY_MS, |to, span| to.server.startup_patience = span),
    },
    Setting {
        name: "send-patience",
        value_name: "SPAN",
        otherwise: Value("60s"),
        heading: LIMITS,
        about: "How long a client may leave an answer unread before it is cut off",
        form: Span(1..=DAY_MS, |to, span| to.server.send_patience = span),
    },
    Setting {
        name: "drain-patience",
        value_name: "SPAN",
        otherwise: Value("10s"),
        heading: LIMITS,
        about: "How long connections may take to finish what they are at when the server stops",
        form: Span(1..=DAY_MS, |to, span| to.server.drain_patience = span),
    },
    Setting {
        name: "queue-capacity",
        value_name: "N",
        otherwise: Value("1024"),
        heading: OVERLOAD,
        about: "Calls of one priority that wait for a thread before others wait for room",
        form: Whole(1..=1 << 20, |to, calls| to.config.queue_capacity = calls as usize),
    },
    Setting {
        name: "call-deadline",
        value_name: "SPAN",
        otherwise: Value("0s"),
        heading: OVERLOAD,
        about: "Within which a thread must take a call, else it fails with 53300 and has done \
            nothing; 0s: calls wait. Sessions have their own: SET hotrow.call_deadline",
        form: Span(0..=DAY_MS, |to, span| to.config.call_deadline = unless_zero(span)),
    },
    Setting {
        name: "calls-per-key-max",
        value_name: "N",
        otherwise: Value("0"),
        heading: OVERLOAD,
        about: "Calls that may wait for a key that they write before others fail with 53300; 0: as \
            many as there are",
        form: Whole(0..=1 << 20, |to, calls| {
            to.config.calls_per_key_max = (calls > 0).then_some(calls as u32);
        }),
    },
    Setting {
        name: "http",
        value_name: "ADDRESS",
        otherwise: Nothing("nowhere"),
        heading: WATCHING,
        about: "Where /metrics, /live and /ready are answered, to anybody, such as 127.0.0.1:9433",
        form: Text(ADDRESS, |to, text| {
            to.server.http = Some(text.parse().map_err(|_| is_not(text, ADDRESS))?);
            Ok(())
        }),
    },
    Setting {
        name: "log-format",
        value_name: "FORMAT",
        otherwise: Value("text"),
        heading: WATCHING,
        about: "How events are told on stderr, a line each: text or json",
        form: Text(FORMAT, |to, text| {
            to.logging.format = match text {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                _ => return Err(is_not(text, FORMAT)),
            };
            Ok(())
        }),
    },
    Setting {
        name: "log-level",
        value_name: "LEVEL",
        otherwise: Value("info"),
        heading: WATCHING,
        about: "Which events: error, warn, info, debug (each connection) or off",
        form: Text(LEVEL, |to, text| {
            to.logging.level = match text {
                "off" => LevelFilter::OFF,
                "error" => LevelFilter::ERROR,
                "warn" => LevelFilter::WARN,
                "info" => LevelFilter::INFO,
                "debug" => LevelFilter::DEBUG,
                _ => return Err(is_not(text, LEVEL)),
            };
            Ok(())
        }),
    },
    Setting {
        name: "slow-statement",
        value_name: "SPAN",
        otherwise: Value("0s"),
        heading: WATCHING,
        about: "Statements that take longer are told, with their text but not their values; \
            0s: none",
        form: Span(0..=DAY_MS, |to, span| to.config.slow_statement = unless_zero(span)),
    },
    Setting {
        name: "checkpoint-log-bytes",
        value_name: "SIZE",
        otherwise: Value("256MiB"),
        heading: CHECKPOINTS,
        about: "Bytes of log after which a checkpoint is taken; 0: only when asked (CHECKPOINT)",
        form: Size(0..=PIB, |to, bytes| {
            to.config.checkpoint_log_bytes = (bytes > 0).then_some(bytes);
        }),
    },
    Setting {
        name: "checkpoint-threads",
        value_name: "N",
        otherwise: Value("2"),
        heading: CHECKPOINTS,
        about: "Threads that copy rows into a checkpoint",
        form: Whole(1..=64, |to, threads| to.config.checkpoint_threads = threads as usize),
    },
];

/// What cannot stand beside what, or not without what.
#[derive(Debug)]
pub(super) enum Rule {
    /// not both
    Excludes(&'static str, &'static str),
    /// the first only with the second
    Needs(&'static str, &'static str),
}

/// Rules between settings, whatever said them.
pub(super) static RULES: &[Rule] = &[
    Rule::Excludes("memory", "data"),
    Rule::Excludes("memory", "durability"),
    Rule::Excludes("tls-required", "insecure-no-tls"),
    Rule::Needs("tls-cert", "tls-key"),
    Rule::Needs("tls-key", "tls-cert"),
    Rule::Needs("tls-required", "tls-cert"),
    Rule::Needs("password-file", "user"),
];

/// A span of time; none: there is to be no such limit.
fn unless_zero(span: Duration) -> Option<Duration> {
    (!span.is_zero()).then_some(span)
}

fn path(to: &mut Option<PathBuf>, text: &str) -> Result<(), String> {
    *to = Some(text.into());
    if text.is_empty() { Err(is_not(text, PATH)) } else { Ok(()) }
}
