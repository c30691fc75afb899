//! `hotrow bench paper`: all figures on real and on virtual cores, and one page of what came of it.
//!
//! Role         runs what is not there yet in a directory, each figure once on this machine's cores
//!              and once, in a program that can simulate, on those of its paper's machine; then
//!              writes the page. Stopped, it goes on where it was

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hotrow_base::clock::Ticks;
use hotrow_base::thread::available_cores;
use hotrow_bench::{
    Cores, Evidence, EvidenceByFigure, Figure, HERE, PageHead, Record, Records, calibrate,
    figure_named, figures, virtual_machines, write_page,
};

use crate::arguments::{FigureRunArguments, PaperArguments};
use crate::failure::Failure;
use crate::figure;

/// The file of what this machine cost just before a figure was run on it.
const COSTS: &str = "machine.toml";

pub(crate) fn run(arguments: &PaperArguments) -> Result<(), Failure> {
    let wanted = match arguments.names.iter().any(|name| name == figure::ALL) {
        true => figures(),
        false => arguments.names.iter().map(|name| figure_named(name)).collect::<Result<_, _>>()?,
    };
    for cores in Cores::ALL {
        create_directory(&arguments.report.join(cores.name()))?;
    }
    if arguments.simulate {
        return wanted.iter().try_for_each(|figure| keep(arguments, figure, Cores::Virtual));
    }
    let simulator = simulator(arguments);
    let on_real: Vec<_> = missing(arguments, &wanted, Cores::Real)?;
    let on_virtual = match &simulator {
        Some(_) => missing(arguments, &wanted, Cores::Virtual)?,
        None => Vec::new(),
    };
    let mut progress = Progress::new(on_real.len() + on_virtual.len());
    for figure in &on_real {
        keep(arguments, figure, Cores::Real)?;
        progress.tell(figure, Cores::Real);
    }
    let is_whole = match &simulator {
        Some(simulator) => simulate(arguments, simulator, &on_virtual, &mut progress)?,
        None => true,
    };
    let page = arguments.report.join("index.html");
    figure::write(&page, page_of(arguments)?.as_bytes())?;
    println!("{}", page.display());
    if simulator.is_none() {
        println!(
            "without virtual cores: `scripts/machine.sh` builds a program that can simulate; name \
             it with --simulator"
        );
    }
    if is_whole { Ok(()) } else { Err(Failure::Told) }
}

/// The program that can simulate, if one was named or stands where the script builds it.
fn simulator(arguments: &PaperArguments) -> Option<PathBuf> {
    if arguments.simulator.is_some() {
        return arguments.simulator.clone();
    }
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let built = Path::new("target/machine").join(target).join("quick/hotrow");
    built.is_file().then_some(built)
}

/// What has no record yet of this commit and configuration.
fn missing(
    arguments: &PaperArguments,
    wanted: &[Figure],
    cores: Cores,
) -> Result<Vec<Figure>, Failure> {
    let mut found = Vec::new();
    for figure in wanted {
        if cores == Cores::Virtual && figure.at_scale.because.is_some() {
            continue;
        }
        let path = file(arguments, figure, cores, "verdicts.json");
        let configuration = figure::configuration(&run_arguments(arguments, figure, cores));
        let commit = Some(arguments.commit.as_str());
        if !figure::read_records(&path)?.has(&figure.name, commit, &configuration) {
            found.push(figure.clone());
        }
    }
    Ok(found)
}

/// Runs a figure and keeps what came of it.
fn keep(arguments: &PaperArguments, figure: &Figure, cores: Cores) -> Result<(), Failure> {
    if cores == Cores::Real && figure.is_held_against_here() {
        // Just before: where a virtual machine runs, neighbours and places of its cores change.
        let costs = calibrate(|_| ()).write_toml(HERE);
        figure::write(&file(arguments, figure, cores, COSTS), costs.as_bytes())?;
    }
    let mut how = run_arguments(arguments, figure, cores);
    let report = figure::run_figure(figure, &how)?;
    let path = |kind| file(arguments, figure, cores, kind);
    (how.csv, how.json) = (Some(path("csv")), Some(path("json")));
    how.svg = (!report.panels.is_empty()).then(|| path("svg"));
    figure::write_files(&how, &report)?;
    let mut records = Records::default();
    records.keep(Record::new(&report, &arguments.commit, &figure::configuration(&how)));
    // The last file: where it is, the others are.
    figure::write(&path("verdicts.json"), records.write()?.as_bytes())
}

/// How a figure is run for the page.
fn run_arguments(arguments: &PaperArguments, figure: &Figure, cores: Cores) -> FigureRunArguments {
    let (seconds, warm_up, repeat) = match (cores, arguments.quick) {
        (Cores::Real, true) => (0.06, 0.03, 1),
        (Cores::Real, false) => (0.12, 0.05, 5),
        (Cores::Virtual, true) => (0.002, 0.002, 1),
        (Cores::Virtual, false) => (0.002, 0.002, 4), // and once for each cost of coherence
    };
    let coherence = match (cores, arguments.quick) {
        (Cores::Virtual, false) => vec![75, 125],
        _ => Vec::new(),
    };
    FigureRunArguments {
        machine: (cores == Cores::Virtual).then(|| figure::OF_PAPER.to_owned()),
        machines: (cores == Cores::Virtual && figure.is_held_against_here())
            .then(|| file(arguments, figure, Cores::Real, COSTS)),
        coherence,
        seconds,
        warm_up,
        quick: true,
        transactions: None,
        // Where calls are fast, so many say as much as more of them.
        enough: (cores == Cores::Virtual).then_some(3_000),
        repeat,
        size: 0.1, // on both kinds of cores, since predictions are held against real runs
        threads: Vec::new(),
        data: arguments.data.clone(),
        seed: arguments.seed,
        json: None,
        csv: None,
        svg: None,
        quiet: true,
        memory: 16,
    }
}

/// A simulation that runs, of which figure.
struct Simulation<'a> {
    figure: &'a Figure,
    child: Child,
}

/// Simulates the figures, as many side by side as there are cores: their time is no real one. First
/// those with the longest runs: of one that begins last, most would pass with the other cores idle.
/// Whether all of them could be.
fn simulate(
    arguments: &PaperArguments,
    simulator: &Path,
    figures: &[Figure],
    progress: &mut Progress,
) -> Result<bool, Failure> {
    let mut waiting: Vec<&Figure> = figures.iter().collect();
    waiting.sort_by(|one, other| one.at_scale.seconds_min.total_cmp(&other.at_scale.seconds_min));
    let mut running: Vec<Simulation<'_>> = Vec::new();
    let mut failed = Vec::new();
    loop {
        while running.len() < available_cores().len()
            && let Some(figure) = waiting.pop()
        {
            let child = start(arguments, simulator, figure)?;
            running.push(Simulation { figure, child });
        }
        if running.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut at = 0;
        while at < running.len() {
            let ended = running[at].child.try_wait();
            match ended.map_err(|error| Failure::Failed(error.to_string()))? {
                None => at += 1,
                Some(status) => {
                    let of = running.swap_remove(at);
                    progress.tell(of.figure, Cores::Virtual);
                    if !status.success() {
                        failed.push(format!("{} ({status})", of.figure.name));
                    }
                }
            }
        }
    }
    if !failed.is_empty() {
        // What others gave stands; the page says of these that they were not run.
        eprintln!("could not be simulated: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

fn start(arguments: &PaperArguments, simulator: &Path, figure: &Figure) -> Result<Child, Failure> {
    let mut command = Command::new(simulator);
    command.args(["bench", "paper", &figure.name, "--simulate", "--report"]);
    command.arg(&arguments.report).args(["--commit", &arguments.commit]);
    command.args(["--seed", &arguments.seed.to_string()]);
    if arguments.quick {
        command.arg("--quick");
    }
    if let Some(data) = &arguments.data {
        command.arg("--data").arg(data);
    }
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    started.map_err(|error| Failure::file(&simulator.display().to_string(), &error))
}

/// How far it has come.
struct Progress {
    done: usize,
    all: usize,
    since: Ticks,
}

impl Progress {
    fn new(all: usize) -> Self {
        Self { done: 0, all, since: Ticks::now() }
    }

    /// One more has ended.
    fn tell(&mut self, figure: &Figure, cores: Cores) {
        self.done += 1;
        let Self { done, all, since } = *self;
        let left = since.elapsed().as_secs() * (all - done) as u64 / done as u64;
        let name = &figure.name;
        eprintln!("[{done}/{all}] {name}, {cores}; about {left} s left");
    }
}

/// The page of all that the directory holds.
fn page_of(arguments: &PaperArguments) -> Result<String, Failure> {
    let all = figures();
    let real = evidence(arguments, &all, Cores::Real)?;
    let simulated = evidence(arguments, &all, Cores::Virtual)?;
    let machines = virtual_machines().into_iter().filter(|machine| !machine.of.is_empty());
    let head = PageHead {
        commit: arguments.commit.clone(),
        machine: format!("{} cores, {}", available_cores().len(), processor()),
        machines: machines.map(|machine| (machine.name, machine.what)).collect(),
    };
    Ok(write_page(&all, &real, &simulated, &head)?)
}

fn evidence(
    arguments: &PaperArguments,
    all: &[Figure],
    cores: Cores,
) -> Result<EvidenceByFigure, Failure> {
    let mut found = EvidenceByFigure::new();
    for figure in all {
        let path = |kind| file(arguments, figure, cores, kind);
        let records = figure::read_records(&path("verdicts.json"))?;
        let Some(record) = records.records.into_iter().next() else { continue };
        let svg = fs::read_to_string(path("svg")).ok();
        let csv = fs::read_to_string(path("csv")).unwrap_or_default();
        found.insert(figure.name.clone(), Evidence { record, svg, csv });
    }
    Ok(found)
}

/// What the system calls its processor.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    let name = line.and_then(|line| line.split_once(": ")).map(|(_, name)| name.to_owned());
    name.unwrap_or_else(|| "a processor that does not tell its name".to_owned())
}

fn file(arguments: &PaperArguments, figure: &Figure, cores: Cores, kind: &str) -> PathBuf {
    arguments.report.join(cores.name()).join(format!("{}.{kind}", figure.name))
}

fn create_directory(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| Failure::file(&path.display().to_string(), &error))
}
