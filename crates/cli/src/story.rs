//! `hotrow bench story`: workloads written in SQL, on engines and at servers.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use hotrow::{Config, Database};
use hotrow_base::thread::ThreadOptions;
use hotrow_bench::{
    Progress, RunDirectory, ServerAddress, Story, StoryOptions, StoryReport, Target, Variant,
    run_story, select_engines, stories, story_named, write_stories, write_stories_json,
};
use hotrow_server::{Server, ServerOptions};

use crate::arguments::StoryArguments;
use crate::failure::{Failure, write_file};
use crate::show::Style;

/// Bytes that the rows of a query that checks a run may take.
const CHECKED_BYTES_MAX: usize = 8 << 30;

pub(crate) fn run(arguments: &StoryArguments) -> Result<(), Failure> {
    if arguments.list {
        return list();
    }
    let mut chosen = Vec::new();
    for name in &arguments.stories {
        match name.as_str() {
            "all" => chosen.extend(stories()),
            name => chosen.push(story_named(name)?),
        }
    }
    let engines = engines(&arguments.engine)?;
    let of = chosen.len() * (engines.len() + arguments.remote.len());
    let mut reports = Vec::with_capacity(of);
    for story in &chosen {
        let engines = engines.iter().map(|variant| on_engine(story, variant, arguments));
        let servers = arguments.remote.iter().map(|address| at_server(story, address, arguments));
        for report in engines.chain(servers) {
            let report = report?;
            if !arguments.quiet {
                let (number, held) = (reports.len() + 1, report.checks_hold());
                let held = if held { "all holds" } else { "NOT ALL HOLDS" };
                let StoryReport { story, target, good_per_s, .. } = &report;
                eprintln!("[{number}/{of}] {story} on {target}: {good_per_s:.0} calls/s, {held}");
            }
            reports.push(report);
        }
    }
    show(&reports, arguments)?;
    if reports.iter().all(StoryReport::checks_hold) { Ok(()) } else { Err(Failure::Told) }
}

fn list() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for Story { name, what, .. } in stories() {
        writeln!(out, "{name:<14}{what}")?;
    }
    Ok(())
}

/// The variants that texts name, of `all` and of a bare name the first one; `none`: none.
fn engines(texts: &[String]) -> Result<Vec<Variant>, Failure> {
    let mut variants: Vec<Variant> = Vec::new();
    for text in texts.iter().filter(|text| *text != "none") {
        let is_one = text.contains(':');
        for variant in select_engines(text)? {
            let is_known = |known: &Variant| known.entry.name == variant.entry.name;
            if is_one || !variants.iter().any(is_known) {
                variants.push(variant);
            }
        }
    }
    Ok(variants)
}

fn options(arguments: &StoryArguments) -> StoryOptions {
    StoryOptions {
        clients: arguments.clients.into(),
        warm_up: Duration::from_secs_f64(arguments.warm_up),
        measured: Duration::from_secs_f64(arguments.seconds),
        seed: arguments.seed,
        progress: if arguments.quiet { Progress::Off } else { Progress::Bar },
    }
}

/// Runs a story on an engine, in a new database.
fn on_engine(
    story: &Story,
    variant: &Variant,
    arguments: &StoryArguments,
) -> Result<StoryReport, Failure> {
    let threads = variant.entry.threads_near(arguments.threads.into());
    let mut config = Config::default().engine(variant.entry.name).threads(threads);
    config.settings.clone_from(&variant.settings);
    // Queries that look at all that the clients have left, of whatever length the run was.
    config.result_bytes_max = CHECKED_BYTES_MAX;
    let all = config.work_memory_bytes;
    (config.session_memory_bytes, config.statement_memory_bytes) = (all, all);
    let directory = match &arguments.data {
        Some(around) => Some(RunDirectory::new(around)?),
        None => None,
    };
    let db = match &directory {
        Some(directory) => Database::open(directory.path(), config)?,
        None => Database::open_in_memory(config)?,
    };
    let report = match arguments.wire {
        true => over_the_wire(story, variant, &db, arguments)?,
        false => {
            run_story(story, &Target::database(variant.to_string(), &db), &options(arguments))?
        }
    };
    db.shutdown();
    Ok(report)
}

/// Runs a story through a server that is there for as long.
fn over_the_wire(
    story: &Story,
    variant: &Variant,
    db: &Database,
    arguments: &StoryArguments,
) -> Result<StoryReport, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string());
    let options_of_server = ServerOptions {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        // Each client's, and those that load and look.
        connections_max: usize::from(arguments.clients) + 16,
        ..ServerOptions::default()
    };
    let server = Server::bind(db.clone(), options_of_server).map_err(|error| failed(&error))?;
    let (address, stopper) = (server.address(), server.stopper());
    let serving = ThreadOptions::named("server").spawn(move || server.run());
    let serving = serving.map_err(|error| failed(&error))?;
    let run = || {
        let address: ServerAddress =
            format!("host=127.0.0.1 port={} user=hotrow dbname=hotrow", address.port()).parse()?;
        let target = Target::server(variant.to_string(), &address)?.that_repeats_itself();
        run_story(story, &target, &options(arguments))
    };
    let report = run();
    stopper.stop();
    let _ = serving.join(); // it has nothing to tell
    Ok(report?)
}

fn at_server(
    story: &Story,
    address: &ServerAddress,
    arguments: &StoryArguments,
) -> Result<StoryReport, Failure> {
    Ok(run_story(story, &Target::server(address.to_string(), address)?, &options(arguments))?)
}

/// Shows the reports, beside those of the first server.
fn show(reports: &[StoryReport], arguments: &StoryArguments) -> Result<(), Failure> {
    let beside = arguments.remote.first().map(ToString::to_string);
    let table = |style: Style, out: &mut dyn Write| {
        write_stories(reports, beside.as_deref(), style.table(), out)
    };
    match arguments.json.as_deref() {
        Some("-") => {
            table(Style::of(&io::stderr()), &mut io::stderr())?;
            return Ok(write_stories_json(reports, io::stdout().lock())?);
        }
        Some(path) => write_file(path, |file| write_stories_json(reports, file))?,
        None => {}
    }
    Ok(table(Style::of(&io::stdout()), &mut io::stdout().lock())?)
}
