//! The arguments of `hotrow bench` that send its calls to a server.

use clap::Args;
use hotrow_bench::ServerAddress;

#[derive(Args, Debug)]
pub(crate) struct RemoteArguments {
    /// Call a server over the wire instead of engines in this process: 'host=... port=... user=...'
    /// or postgresql://user@host:port/, with the password in PGPASSWORD. --clients says how many
    /// connections; tables and procedures are dropped at the end, unless --keep is given
    #[arg(long, value_name = "CONNECTION",
        conflicts_with_all = ["engine", "threads", "data", "split", "no_pin", "memory"])]
    pub(crate) remote: Option<ServerAddress>,
    /// Drop tables and procedures of the server that have the names of the workload's
    #[arg(long, requires = "remote")]
    pub(crate) replace: bool,
}
