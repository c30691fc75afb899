//! What happens meanwhile, as `hotrow serve` tells it: events, a line each, on stderr. Other
//! commands tell only of trouble, such as a checkpoint that failed.

use std::io;

use tracing::level_filters::LevelFilter;

/// How a line looks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum LogFormat {
    /// time, level, what happened, and its fields
    #[default]
    Text,
    /// an object of JSON
    Json,
}

/// What is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logging {
    pub(crate) format: LogFormat,
    pub(crate) level: LevelFilter,
}

impl Default for Logging {
    fn default() -> Self {
        Self { format: LogFormat::default(), level: LevelFilter::INFO }
    }
}

impl Logging {
    /// What commands tell that a person runs, and that tell their results themselves.
    pub(crate) fn of_trouble() -> Self {
        Self { format: LogFormat::Text, level: LevelFilter::WARN }
    }

    /// From now on events are told.
    pub(crate) fn start(self) {
        let lines = tracing_subscriber::fmt()
            .with_writer(io::stderr)
            .with_max_level(self.level)
            .with_target(false);
        match self.format {
            LogFormat::Text => lines.init(),
            LogFormat::Json => lines.json().flatten_event(true).init(),
        }
    }
}
