//! Files of a slow disk: every sync of a file takes a while longer.
//!
//! Role         for benchmarks of what waits for the log, and for tests that say when a sync may
//!              end: stands between the log and other files, so that a disk of any latency can be
//!              had. Syncs really happen

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::sync::{EventCount, Latch};
use hotrow_base::thread;

use super::{File, FileState, Files};

/// What a sync waits for before it begins; an error is that of the sync.
type Wait = Arc<dyn Fn() -> io::Result<()> + Send + Sync>;

/// A directory of files whose `sync_data` takes longer than the directory's own.
pub struct SlowFiles {
    files: Arc<dyn Files>,
    wait: Wait,
}

impl SlowFiles {
    /// Slows down the syncs of `files` by `delay`.
    pub fn new(files: Arc<dyn Files>, delay: Duration) -> Self {
        Self::waiting(files, move || {
            thread::sleep(delay);
            Ok(())
        })
    }

    /// Has every sync of `files` wait for whatever `wait` waits for, and fail if that fails.
    pub fn waiting(
        files: Arc<dyn Files>,
        wait: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { files, wait: Arc::new(wait) }
    }

    fn slow(&self, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(SlowFile { file, wait: Arc::clone(&self.wait) })
    }
}

struct SlowFile {
    file: Box<dyn File>,
    wait: Wait,
}

impl Files for SlowFiles {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.files.create(name).map(|file| self.slow(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.files.open(name)
    }

    fn open_writable(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.files.open_writable(name).map(|file| self.slow(file))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn state(&self, name: &str) -> io::Result<FileState> {
        self.files.state(name)
    }

    fn path(&self, name: &str) -> String {
        self.files.path(name)
    }
}

impl File for SlowFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        (self.wait)()?;
        self.file.sync_data()
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.file.allocate(offset, length)
    }
}

/// What the syncs of a disk do, for tests that wait with [`DiskSwitch::pass`]: they go through, are
/// held up, or fail.
#[derive(Default, Debug)]
pub struct DiskSwitch {
    does: Latch<Syncs>,
    changed: EventCount,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Syncs {
    #[default]
    GoThrough,
    AreHeldUp,
    Fail,
}

impl DiskSwitch {
    /// Lets syncs through, those that are held up, too.
    pub fn open(&self) {
        self.set(Syncs::GoThrough);
    }

    /// Holds syncs up from now on.
    pub fn close(&self) {
        self.set(Syncs::AreHeldUp);
    }

    /// Has syncs fail, those that are held up, too.
    pub fn fail(&self) {
        self.set(Syncs::Fail);
    }

    fn set(&self, does: Syncs) {
        *self.does.lock() = does;
        self.changed.notify_all();
    }

    /// Waits as long as a sync is held up.
    ///
    /// # Errors
    ///
    /// The sync's, if it is to fail.
    pub fn pass(&self) -> io::Result<()> {
        let is_held_up = || Some(*self.does.lock()).filter(|does| *does != Syncs::AreHeldUp);
        match self.changed.wait_for(None, is_held_up) {
            Some(Syncs::Fail) => Err(io::Error::other("the disk is broken, for a test")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Directory;
    use hotrow_base::clock::Ticks;

    #[test]
    fn a_sync_takes_the_delay_and_everything_is_the_directory_s() {
        let path = std::env::temp_dir().join(format!("hotrow-slow-{}", std::process::id()));
        let directory = Arc::new(Directory::create(&path).expect("it can be made"));
        let delay = Duration::from_millis(3);
        let slow = SlowFiles::new(directory.clone(), delay);
        let file = slow.create("a").expect("it can be made");
        file.allocate(0, 100).expect("there is room");
        file.write_at(b"word", 7).expect("there is room");
        let before = Ticks::now();
        file.sync_data().expect("the disk works");
        assert!(before.elapsed_nanos() >= delay.as_nanos() as u64);
        let mut read = [0; 4];
        let plain = directory.open("a").expect("it is there");
        assert_eq!((plain.read_at(&mut read, 7).ok(), &read), (Some(4), b"word"));
        slow.open_writable("a").and_then(|file| file.set_length(2)).expect("it can be cut");
        assert_eq!(slow.open("a").and_then(|file| file.length()).ok(), Some(2));
        slow.rename("a", "b").and_then(|()| slow.sync_directory()).expect("it can be named");
        assert_eq!(slow.list().ok(), Some(vec!["b".to_owned()]));
        assert_eq!(slow.path("b"), directory.path("b"));
        slow.remove("b").expect("it is there");
        std::fs::remove_dir(path).expect("it is empty");
    }
}
