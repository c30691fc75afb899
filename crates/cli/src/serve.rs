//! `hotrow serve`: a database behind PostgreSQL's protocol.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hotrow::Database;
use hotrow_base::thread::ThreadOptions;
use hotrow_server::{Plain, Server, ServerOptions, TlsIdentity};
use rustix::process::{Resource, getrlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing::{info, warn};

use crate::arguments::ServeArguments;
use crate::data;
use crate::failure::Failure;
use crate::settings::{PASSWORD, Serving, Settings};

/// Open transactions at a time: few connections have no fewer than an embedded program.
const OPEN_MIN: usize = 64;
/// The most that a database can have.
const OPEN_MAX: usize = 1024;
/// What a server opens beside its connections: log, checkpoint, listeners, requests over HTTP.
const OTHER_FILES: u64 = 128;

pub(crate) fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    if hotrow_machine::can_simulate() {
        // Its chance is the same in every run: salts and keys would be known to everybody.
        let what = "this binary was built to simulate machines, and its secrets would be none; \
            serve with an ordinary build";
        return Err(Failure::Usage(what.to_owned()));
    }
    let settings = Settings::choose(arguments)?;
    settings.check()?;
    let serving = settings.serving;
    let options = options(&serving)?;
    let password = match &serving.user {
        Some(name) => Some((name, password(serving.password_file.as_deref())?)),
        None => None,
    };
    serving.logging.start();
    make_room(options.connections_max, options.half_open_max);
    // Each connection may have a transaction open, as far as there can be so many.
    let open_max = options.connections_max.clamp(OPEN_MIN, OPEN_MAX);
    let config = serving.config.open_transactions_max(open_max);
    let db = match (&serving.directory, serving.memory) {
        (Some(path), _) => data::recover(path, config)?,
        (None, true) => Database::open_in_memory(config)?,
        (None, false) => {
            let what = "where is the database? Give DIR or --memory; HOTROW_DATA, or data in a \
                file of settings, say the same";
            return Err(Failure::Usage(what.to_owned()));
        }
    };
    if let Some(report) = db.recovery() {
        report.notices.iter().for_each(|notice| warn!("{notice}"));
        let (rows, transactions) = (report.checkpoint_rows, report.transactions);
        info!(rows, transactions, duration = ?report.duration, "recovered");
    }
    if let Some((name, password)) = password {
        set_user(&db, name, &password)?;
    }
    let failed = |error: io::Error| Failure::Failed(error.to_string());
    let server =
        Server::bind(db.clone(), options).map_err(|error| Failure::Failed(error.to_string()))?;
    let stopper = server.stopper();
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
    let handle = signals.handle();
    let thread = ThreadOptions::named("signals").spawn(move || {
        for signal in &mut signals {
            let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
            info!("{name}: connections finish what they are at");
            stopper.stop();
        }
    });
    let thread = thread.map_err(failed)?;
    if !db.asks_for_passwords() {
        warn!(
            "no user has a password, so any program of this machine is let in as anybody; CREATE \
             USER name PASSWORD '...' ends that"
        );
    } else if serving.server.asks_nobody {
        warn!("insecure_no_passwords is set: any program of this machine is let in as anybody");
    }
    if let Some(address) = server.http_address() {
        info!("/metrics, /live and /ready on {address}");
    }
    if let Some(path) = server.socket() {
        info!("listening on the socket {}", path.display());
    }
    let memory = crate::allocator::give_back().map_err(failed)?;
    info!("listening on {}", server.address());
    server.run();
    drop(memory);
    db.shutdown();
    handle.close();
    let _ = thread.join(); // it has nothing to tell
    info!("stopped");
    Ok(())
}

/// Lets the process open as many files as its connections need, those included that are told they
/// are too many. Shells and service managers mostly give 1,024, and allow more to who asks.
fn make_room(connections: usize, half_open: usize) {
    let needed = (connections + 2 * half_open) as u64 + OTHER_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    let is_enough = |most: Option<u64>| most.is_none_or(|most| most >= needed);
    if is_enough(limit.current) {
        return;
    }
    limit.current = Some(limit.maximum.map_or(needed, |most| most.min(needed)));
    if setrlimit(Resource::Nofile, limit).is_err() {
        limit = getrlimit(Resource::Nofile);
    }
    if !is_enough(limit.current) {
        let may = limit.current.unwrap_or_default();
        warn!(
            "{connections} connections may need {needed} file descriptors and this process gets \
             {may}: raise its limit (ulimit -n, LimitNOFILE) or lower connections"
        );
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// How to serve, certificate and key read.
fn options(serving: &Serving) -> Result<ServerOptions, Failure> {
    let plain = match (serving.tls_required, serving.insecure_no_tls) {
        (true, _) => Plain::Nobody,
        (false, true) => Plain::Anybody,
        (false, false) => Plain::OwnMachine,
    };
    Ok(ServerOptions { tls: identity(serving)?, plain, ..serving.server.clone() })
}

/// What to encrypt with.
fn identity(serving: &Serving) -> Result<Option<TlsIdentity>, Failure> {
    let (Some(certificates), Some(key)) = (&serving.tls_cert, &serving.tls_key) else {
        return Ok(None);
    };
    refuse_open_key(key)?;
    Ok(Some(TlsIdentity { certificates: read(certificates)?, key: read(key)? }))
}

/// Fails where others could read a private key: who has it can pass for this server. As PostgreSQL
/// has it, the group may read one that belongs to root.
fn refuse_open_key(key: &Path) -> Result<(), Failure> {
    let found = std::fs::metadata(key)
        .map_err(|error| Failure::Failed(format!("{}: {error}", key.display())))?;
    let allowed = if found.uid() == 0 { 0o640 } else { 0o600 };
    let mode = found.mode() & 0o777;
    if mode & !allowed & 0o077 == 0 {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the private key {} could be read by others (mode {mode:03o}): chmod 600 it, or chmod \
         640 if \
         it belongs to root and the group of this server's user",
        key.display()
    )))
}

/// The password that was given, which is on no command line: others could read it there.
fn password(file: Option<&Path>) -> Result<String, Failure> {
    let text = match file {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?,
        None => std::env::var(PASSWORD).map_err(|_| {
            let what = "the user needs a password, in HOTROW_PASSWORD or --password-file FILE";
            Failure::Failed(what.to_owned())
        })?,
    };
    let first = text.lines().next().unwrap_or_default();
    match first.is_empty() {
        true => Err(Failure::Failed("the password is empty".to_owned())),
        false => Ok(first.to_owned()),
    }
}

/// Makes a user, or gives it another password, unless it has this one.
fn set_user(db: &Database, name: &str, password: &str) -> Result<(), Failure> {
    if db.verifier_of(name).is_some_and(|verifier| verifier.is_of(password)) {
        return Ok(());
    }
    let (name, password) = (name.replace('"', "\"\""), password.replace('\'', "''"));
    let session = db.session();
    let change = |verb: &str, options: &str| {
        session.execute(&format!("{verb} ROLE \"{name}\" {options} PASSWORD '{password}'"))
    };
    // Who has the server's machine may do everything, and so may the user that it makes.
    match change("CREATE", "SUPERUSER LOGIN") {
        Err(error) if error.sqlstate() == Some("42710") => change("ALTER", "LOGIN")?,
        done => done?,
    };
    Ok(())
}
