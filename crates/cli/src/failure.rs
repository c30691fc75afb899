//! Why a command failed, and the exit code that says so.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use hotrow_bench::BenchError;

/// Writes a file anew.
pub(crate) fn write_file(
    path: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), BenchError>,
) -> Result<(), Failure> {
    let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.flush().map_err(|error| Failure::file(path, &error))
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// asked for something that there is not
    Usage(String),
    /// something went wrong
    Failed(String),
    /// something went wrong, and stderr says so already
    Told,
    /// stdout could not be written
    Output(io::Error),
}

impl Failure {
    /// A file that cannot be read or written.
    pub(crate) fn file(path: &str, error: &io::Error) -> Self {
        Self::Failed(format!("{path}: {error}"))
    }

    /// Writes it to stderr and gives the exit code.
    pub(crate) fn tell(self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (message, 2),
            Self::Failed(message) => (message, 1),
            Self::Told => return ExitCode::from(1),
            // Whoever read the output has seen enough: `hotrow bench | head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Output(error) => (format!("output: {error}"), 1),
        };
        eprintln!("hotrow: {message}");
        if code == 2 {
            eprintln!("Try: hotrow --help");
        }
        ExitCode::from(code)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let message = error.to_string();
        if error.is_usage() { Self::Usage(message) } else { Self::Failed(message) }
    }
}

impl From<hotrow::Error> for Failure {
    fn from(error: hotrow::Error) -> Self {
        BenchError::from(error).into()
    }
}
