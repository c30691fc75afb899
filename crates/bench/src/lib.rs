//! The benchmark driver: workloads run on engines, measured, checked and reported.
//!
//! Should I be using this? To run a benchmark, use `hotrow bench`. Use this crate to run one from
//! Rust: a [`Driver`] loads a workload, runs it on chosen engines and thread counts, checks what
//! is left behind and gives a [`RunReport`] for each run. [`record_history`] records what
//! concurrent clients saw instead, for checkers of isolation.
//!
//! ```
//! use hotrow_bench::{Driver, Length, select_engines};
//!
//! let mut workload = hotrow_workloads::workload_named("ycsb").expect("it is there");
//! workload.parameters_mut().set("records", "1000")?;
//! let driver = Driver { length: Length::Calls(500), ..Driver::default() };
//! for variant in select_engines("all")? {
//!     let report = driver.run(&*workload, &variant, variant.entry.threads_near(1))?;
//!     assert!(report.checks_hold() && report.committed == 500);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading order: [`select_engines`], [`Driver`] (what one run does), `source` and `clients` (where
//! calls come from), `books`, `load`, `check`, [`RunReport`], `table`, `remote` (the same runs at a
//! server), [`Figure`] (experiments of papers, out of such runs), [`EngineMap`] (engines side by
//! side on a grid of workloads) and [`advise`], which looks it up, [`record_history`], then
//! [`run_story`] (workloads that are written in SQL alone).
//!
//! Architecture invariants: this crate knows engines only through the engine table; it makes no
//! transaction of its own but those of recorded histories, which are SQL text like all others.

#![forbid(unsafe_code)]

mod advice;
mod books;
mod check;
mod clients;
mod data;
mod driver;
mod error;
mod figure;
mod history;
mod load;
mod map;
mod phase;
mod progress;
mod remote;
mod report;
mod selection;
mod source;
mod story;
mod table;
mod virtual_machine;

pub use advice::{Advice, Alike, Candidate, IfKnown, Observed, advise, write_advice};
pub use data::{LogSettings, RunDirectory};
pub use driver::{Driver, Length, Population};
pub use error::BenchError;
pub use figure::{
    AtScale, Axis, ClaimReport, Comparison, Cores, Evidence, EvidenceByFigure, Expect, Figure,
    FigureReport, FigureRunner, LogDevice, Metric, Names, Outcome, PageHead, Panel, Part, Place,
    Point, REPEATS_MIN, Record, RecordedClaim, Records, RecordsByCores, Scale, Series, Setting,
    Varying, Verdict, Way, document, figure_named, figures, write_csv, write_figure,
    write_figure_json, write_page, write_svg, write_verdicts,
};
pub use history::{Format, HistoryKind, HistoryOptions, record_history};
pub use map::{
    EngineMap, Grid, GridAxis, GridValue, MapPoint, MapRunner, Signs, Situation, map_document,
    write_map_svg,
};
pub use progress::Progress;
pub use remote::{
    Existing, RemotePopulation, ServerAddress, ServerCall, ServerLevels, ServerStatus, ServerSums,
    ServerWait,
};
pub use report::{
    CheckReport, KindReport, LatencyReport, LogReport, MemorySummary, RecoveryFigures, RunReport,
    TimeBreakdown, read_json, write_json,
};
pub use selection::{Variant, select_engines};
pub use story::{
    Story, StoryCallReport, StoryOptions, StoryReport, Target, run_story, stories, story_named,
    write_stories, write_stories_json,
};
pub use table::{Style, write_table};
pub use virtual_machine::calibration::{Calibration, calibrate};
pub use virtual_machine::{
    HERE, VirtualMachine, on_virtual_machine, read_virtual_machines, virtual_machine_named,
    virtual_machine_of, virtual_machines,
};
