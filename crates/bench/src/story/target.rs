//! Where a story is run.

use hotrow::Database;
use postgres::Client;

use super::connection::{Connection, Embedded, Wire};
use crate::error::BenchError;
use crate::remote::ServerAddress;

/// Where a story is run: an empty database.
pub struct Target<'a> {
    name: String,
    place: Place<'a>,
    /// it promises that no call must be repeated
    repeats_itself: bool,
}

enum Place<'a> {
    Database(&'a Database),
    Server(Box<AtServer>),
}

struct AtServer {
    address: ServerAddress,
    _made: Option<Made>,
}

/// A database of its own that a server has made for a run, dropped at its end.
struct Made {
    name: String,
    at: ServerAddress,
}

impl<'a> Target<'a> {
    /// A database in this process, through its sessions.
    pub fn database(name: impl Into<String>, database: &'a Database) -> Self {
        Self { name: name.into(), place: Place::Database(database), repeats_itself: true }
    }

    /// A server, over the wire: in a database of its own, which is dropped at the end, where the
    /// server makes such, else in the one that the address names.
    ///
    /// # Errors
    ///
    /// [`BenchError::Server`]: nobody is there, or the database is not empty.
    pub fn server(name: impl Into<String>, address: &ServerAddress) -> Result<Self, BenchError> {
        let name = name.into();
        let mut client = address.connect()?;
        let own = format!("hotrow_story_{}", std::process::id());
        let (address, made) = match client.batch_execute(&format!("CREATE DATABASE {own}")) {
            Ok(()) => {
                let made = Made { name: own.clone(), at: address.clone() };
                (address.of_database(&own), Some(made))
            }
            Err(_) => {
                refuse_occupied(&mut client, &name)?;
                (address.clone(), None)
            }
        };
        let at = AtServer { address, _made: made };
        Ok(Self { name, place: Place::Server(Box::new(at)), repeats_itself: false })
    }

    /// The same, of whom it is a failure if a client must repeat a call: who promises that it need
    /// not, as an engine of Hotrow does.
    #[must_use]
    pub fn that_repeats_itself(self) -> Self {
        Self { repeats_itself: true, ..self }
    }

    pub(super) fn repeats_itself(&self) -> bool {
        self.repeats_itself
    }

    /// What reports call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a server, called over the wire.
    pub fn is_server(&self) -> bool {
        matches!(self.place, Place::Server(_))
    }

    pub(super) fn connect(&self) -> Result<Box<dyn Connection>, BenchError> {
        Ok(match &self.place {
            Place::Database(database) => Box::new(Embedded::new(database.session())),
            Place::Server(at) => Box::new(Wire::new(at.address.connect()?)),
        })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Ok(mut client) = self.at.connect() {
            // Best effort: it has a name of its own and hurts nobody.
            let _ = client.batch_execute(&format!("DROP DATABASE {}", self.name));
        }
    }
}

/// Fails where there are tables: a story would meet them, or be met by them.
fn refuse_occupied(client: &mut Client, name: &str) -> Result<(), BenchError> {
    let query = "SELECT tablename FROM pg_catalog.pg_tables \
                 WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1";
    let tables = client.query(query, &[]);
    let tables =
        tables.map_err(|error| BenchError::server(&format!("looking at {name}"), &error))?;
    let Some(first) = tables.first() else { return Ok(()) };
    let first: String = first.get(0);
    let reason = format!(
        "its database is not empty (there is a table {first}), and it makes no other: give a story \
         an empty one"
    );
    Err(BenchError::Server { what: name.to_owned(), reason })
}
