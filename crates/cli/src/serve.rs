//! `hotrow serve`: a database behind PostgreSQL's protocol.

use std::io;

use hotrow::Database;
use hotrow_base::thread::ThreadOptions;
use hotrow_server::{Server, ServerOptions};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arguments::ServeArguments;
use crate::data;
use crate::failure::Failure;
use crate::sql;

pub(crate) fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let config = sql::config(&arguments.choice)?;
    let db = match &arguments.directory {
        None => Database::open_in_memory(config)?,
        Some(path) => data::open(path, config.durability(arguments.durability))?,
    };
    let options = ServerOptions {
        address: arguments.listen,
        connections_max: arguments.connections as usize,
        ..ServerOptions::default()
    };
    let failed = |error: io::Error| Failure::Failed(error.to_string());
    let server =
        Server::bind(db.clone(), options).map_err(|error| Failure::Failed(error.to_string()))?;
    let stopper = server.stopper().map_err(failed)?;
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
    let handle = signals.handle();
    let thread = ThreadOptions::named("signals").spawn(move || {
        for signal in &mut signals {
            let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
            eprintln!("hotrow: {name}: connections finish what they are at");
            stopper.stop();
        }
    });
    let thread = thread.map_err(failed)?;
    eprintln!("hotrow: listening on {}", server.address().map_err(failed)?);
    server.run();
    db.shutdown();
    handle.close();
    let _ = thread.join(); // it has nothing to tell
    eprintln!("hotrow: stopped");
    Ok(())
}
