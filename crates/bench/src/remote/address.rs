//! Where a server is and how to be let in.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};

use crate::error::BenchError;

/// The port that `hotrow serve` listens on where nobody says otherwise.
const PORT: u16 = 5433;
/// Longest wait for a connection where the text says no other.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server of PostgreSQL's protocol, as a connection string names it: `host=... port=... user=...`
/// or `postgresql://user@host:port/`. What it leaves out is this machine, port 5433, and who is
/// logged in here; the password may stand in the environment variable PGPASSWORD.
///
/// ```
/// use hotrow_bench::ServerAddress;
///
/// let address: ServerAddress = "host=db.example user=me".parse()?;
/// assert_eq!(address.to_string(), "db.example:5433");
/// assert!("host=db.example sslmode=require".parse::<ServerAddress>().is_err());
/// # Ok::<(), hotrow_bench::BenchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServerAddress {
    config: Config,
}

impl FromStr for ServerAddress {
    type Err = BenchError;

    fn from_str(text: &str) -> Result<Self, BenchError> {
        let refused = |error: postgres::Error| {
            let why = std::error::Error::source(&error)
                .map_or_else(String::new, |why| format!(": {why}"));
            BenchError::Selection(format!("\"{text}\" names no server: {error}{why}"))
        };
        let mut config: Config = text.parse().map_err(refused)?;
        if config.get_ssl_mode() == SslMode::Require {
            let message = "connections to a server are not encrypted yet: leave sslmode=require \
                           out, and let the server take plain connections";
            return Err(BenchError::Selection(message.to_owned()));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("127.0.0.1");
        }
        if config.get_ports().is_empty() {
            config.port(PORT);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("hotrow");
        }
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        Ok(Self { config })
    }
}

/// Host and port; nothing that is secret.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        match (self.config.get_hosts().first(), self.config.get_hostaddrs().first()) {
            (Some(Host::Tcp(name)), _) => write!(f, "{name}:{port}"),
            #[cfg(unix)]
            (Some(Host::Unix(path)), _) => write!(f, "{}:{port}", path.display()),
            (_, Some(address)) => write!(f, "{address}:{port}"),
            (_, None) => write!(f, "port {port}"),
        }
    }
}

impl ServerAddress {
    /// The same server, and another of its databases.
    #[must_use]
    pub fn of_database(&self, name: &str) -> Self {
        let mut config = self.config.clone();
        config.dbname(name);
        Self { config }
    }

    /// Connects. Not encrypted.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]: nobody is there, or lets us in.
    pub fn connect(&self) -> Result<Client, BenchError> {
        let client = self.config.connect(NoTls);
        client.map_err(|error| BenchError::server(&format!("connecting to {self}"), &error))
    }
}
