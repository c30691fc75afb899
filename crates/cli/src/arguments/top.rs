//! The arguments of `hotrow top`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use hotrow_bench::ServerAddress;

const TOP_EXAMPLES: &str = "\
Examples:
  hotrow top                                     a server on this machine, port 5433
  hotrow top 'host=db.example user=me' --every 5
  hotrow top --once | head                       one page of text

Figures are of the time between two looks, but those that say otherwise. Keys: q, Esc or Ctrl-C
ends it, s sorts the procedures by something else, space holds the picture. To something that is
no terminal one page is written.";

#[derive(Args, Debug)]
#[command(after_help = TOP_EXAMPLES)]
pub(crate) struct TopArguments {
    /// The server: 'host=... port=... user=...' or postgresql://user@host:port/, with the password
    /// in PGPASSWORD
    #[arg(value_name = "CONNECTION", default_value = "host=127.0.0.1")]
    pub(crate) server: ServerAddress,
    /// Seconds between two looks
    #[arg(long, value_name = "S", default_value = "1", value_parser = interval)]
    pub(crate) every: Duration,
    /// What procedures are sorted by
    #[arg(long, value_enum, default_value = "time")]
    pub(crate) sort: Sort,
    /// Write one page of text, of the time between two looks, and end
    #[arg(long)]
    pub(crate) once: bool,
}

/// What procedures are sorted by.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    /// the time of all their calls together
    Time,
    /// calls
    Calls,
    /// the mean time of a call
    Mean,
    /// their names
    Name,
}

impl Sort {
    /// The one that comes next where somebody asks for another.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Time => Self::Calls,
            Self::Calls => Self::Mean,
            Self::Mean => Self::Name,
            Self::Name => Self::Time,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Calls => "calls",
            Self::Mean => "mean",
            Self::Name => "name",
        }
    }
}

pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match (0.1..=3_600.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("0.1 to 3600".to_owned()),
    }
}
