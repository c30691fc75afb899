//! Where clients come from: an address of the network, and a socket in a directory.
//!
//! Invariants   I1 a socket's name belongs to one server at a time, who has locked the file beside
//!                 it; what a server that was killed has left behind is taken away
//!              I2 who listens waits on all places at once, in one thread, and for no client that
//!                 has gone again

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::server::ServerError;

/// Connections that wait to be accepted; the system may have a lower limit (somaxconn).
const BACKLOG: i32 = 4096;
/// Bytes of a socket's path, as far as systems agree on `sun_path`.
const PATH_BYTES_MAX: usize = 103;

/// Where a client is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// somewhere in the network
    Network(SocketAddr),
    /// at the socket in the directory
    Local,
}

impl Origin {
    /// On the server's own machine.
    pub(crate) fn is_near(self) -> bool {
        match self {
            Self::Network(address) => address.ip().is_loopback(),
            Self::Local => true,
        }
    }

    /// The address, if it has one.
    pub(crate) fn address(self) -> Option<std::net::IpAddr> {
        match self {
            Self::Network(address) => Some(address.ip()),
            Self::Local => None,
        }
    }

    /// What is said passes through no network, not even this machine's own.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::Local)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(address) => address.fmt(f),
            Self::Local => f.write_str("local"),
        }
    }
}

/// All places at which clients are waited for.
pub(crate) struct Listening {
    network: Socket,
    address: SocketAddr,
    local: Option<Local>,
}

/// A socket in a directory.
struct Local {
    socket: Socket,
    path: PathBuf,
    /// locked as long as this server is there (I1)
    lock: File,
}

impl Listening {
    /// Listens at an address, port 0 for any that is free, and in a directory on the socket that
    /// PostgreSQL's clients look for there by the port's number.
    pub(crate) fn start(
        address: SocketAddr,
        directory: Option<&Path>,
    ) -> Result<Self, ServerError> {
        let refused = |error| ServerError::Listen { address, error };
        // As the standard library does it: an address that was in use a moment ago may be taken.
        let network = Socket::from(TcpListener::bind(address).map_err(refused)?);
        network.set_nonblocking(true).map_err(refused)?; // I2
        network.listen(BACKLOG).map_err(refused)?;
        let here = network.local_addr().map_err(refused)?;
        let address = here.as_socket().unwrap_or(address);
        let local = directory.map(|directory| Local::start(directory, address.port()));
        Ok(Self { network, address, local: local.transpose()? })
    }

    /// The address, with its port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The socket's path.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.local.as_ref().map(|local| local.path.as_path())
    }

    /// Waits for somebody to come, and lets all in who have.
    pub(crate) fn accept(&self, mut enter: impl FnMut(Socket, Origin)) -> io::Result<()> {
        let local = self.local.as_ref().map(|local| &local.socket);
        let sockets = [Some(&self.network), local];
        let mut waiting: Vec<_> =
            sockets.iter().flatten().map(|socket| PollFd::new(*socket, PollFlags::IN)).collect();
        poll(&mut waiting, None)?;
        for (place, socket) in sockets.iter().flatten().enumerate() {
            if waiting[place].revents().is_empty() {
                continue;
            }
            let (stream, from) = match socket.accept() {
                Ok(come) => come,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue, // I2
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(false)?;
            enter(stream, from.as_socket().map_or(Origin::Local, Origin::Network));
        }
        Ok(())
    }
}

impl Local {
    fn start(directory: &Path, port: u16) -> Result<Self, ServerError> {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        let refused = |error: io::Error| ServerError::Socket { path: path.clone(), error };
        if path.as_os_str().len() > PATH_BYTES_MAX {
            let what = format!("the path is longer than {PATH_BYTES_MAX} bytes");
            return Err(refused(io::Error::new(ErrorKind::InvalidInput, what)));
        }
        let lock = File::create(path.with_added_extension("lock")).map_err(refused)?;
        lock.try_lock().map_err(|error| {
            let in_use = io::Error::new(ErrorKind::AddrInUse, "another server listens there");
            refused(match error {
                fs::TryLockError::WouldBlock => in_use,
                fs::TryLockError::Error(error) => error,
            })
        })?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(refused(error)),
            _ => {} // I1
        }
        let listen = || {
            let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
            socket.bind(&SockAddr::unix(&path)?)?;
            // Who may enter the directory may connect, as PostgreSQL has it.
            fs::set_permissions(&path, Permissions::from_mode(0o777))?;
            socket.set_nonblocking(true)?; // I2
            socket.listen(BACKLOG)?;
            Ok(socket)
        };
        let socket = listen().map_err(refused)?;
        Ok(Self { socket, path, lock })
    }
}

impl Drop for Local {
    /// The name goes while the lock is held (I1). The file that is locked stays, since another
    /// server may have opened it; a process that was forked off may have, too, so that closing it
    /// would not be enough.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = self.lock.unlock();
    }
}
