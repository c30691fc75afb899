use super::{Directory, Files};
use crate::error::LogError;
use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering};
use std::path::{Path, PathBuf};

/// A fresh directory, removed with all it holds when dropped.
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
}

impl TemporaryDirectory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hotrow-log-test-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the temporary directory is writable");
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn files(&self) -> Directory {
        Directory::open(&self.path).expect("it exists")
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What cannot be removed stays in the system's temporary directory.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What every directory must do.
pub(super) fn check_directory(files: &dyn Files) {
    let file = files.create("a").expect("there is no a");
    assert!(files.create("a").is_err(), "there is one now");
    file.write_at(b"hello", 3).expect("it is open for writing");
    assert_eq!(file.length().expect("it is open"), 8);
    let mut bytes = [9; 10];
    assert_eq!(file.read_at(&mut bytes, 0).expect("it is open"), 8);
    assert_eq!(&bytes[..8], b"\0\0\0hello");
    assert_eq!(file.read_at(&mut bytes, 100).expect("it is open"), 0);
    file.set_length(5).expect("it is open for writing");
    file.set_length(7).expect("it is open for writing");
    file.allocate(8, 200_000).expect("it is open for writing");
    file.sync_data().expect("it is open");
    assert_eq!(file.length().expect("it is open"), 200_008);
    let again = files.open("a").expect("there is an a");
    assert_eq!(again.read_at(&mut bytes, 3).expect("it is open"), 10);
    assert_eq!(&bytes, b"he\0\0\0\0\0\0\0\0");
    files.create("b").expect("there is no b");
    files.rename("a", "b").expect("there is an a");
    files.create("c").expect("there is no c");
    files.remove("c").expect("there is a c");
    files.sync_directory().expect("it can be synced");
    assert_eq!(files.list().expect("it can be listed"), ["b"]);
    assert_eq!(
        files.open_writable("b").and_then(|b| b.length()).expect("it is the former a"),
        200_008
    );
    assert!(files.open("a").is_err() && files.remove("a").is_err());
    let state = files.state("b").expect("there is a b");
    assert_eq!(state.length, 200_008);
    files.rename("b", "d").expect("there is a b");
    assert_eq!(files.state("d").expect("it is the former b"), state);
    let gone = files.state("b").expect_err("there is none any more");
    assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
    files.create("b").expect("there is no b");
    assert_ne!(files.state("b").expect("there is a b").identity, state.identity);
    files.remove("b").and_then(|()| files.rename("d", "b")).expect("as it was");
}

#[test]
fn a_directory_that_is_not_at_its_path_any_more_holds_no_files() {
    let directory = TemporaryDirectory::new();
    let path = directory.path().join("log");
    let files = Directory::create(&path).expect("it can be made");
    files.create("a").expect("there is no a");
    files.state("a").expect("there is an a");
    let aside = directory.path().join("aside");
    std::fs::rename(&path, &aside).expect("it can be renamed");
    assert!(files.state("a").is_err());
    std::fs::create_dir(&path).expect("the name is free");
    std::fs::write(path.join("a"), "").expect("it is writable");
    assert!(files.state("a").is_err(), "it is another a");
    std::fs::remove_dir_all(&path)
        .and_then(|()| std::fs::rename(&aside, &path))
        .expect("as before");
    files.state("a").expect("it is back");
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TemporaryDirectory::new();
    let path = directory.path().join("log");
    let files = Directory::create(&path).expect("it can be made");
    files.create("a").expect("there is no a");
    let _lock = Directory::lock(&path, "lock").expect("nobody holds it");
    let modes = [path.clone(), path.join("a"), path.join("lock")].map(|path| {
        let found = std::fs::metadata(path).expect("it is there");
        found.permissions().mode() & 0o777
    });
    assert_eq!(modes, [0o700, 0o600, 0o600]);
}

#[test]
fn the_real_directory_does_what_every_one_must() {
    let directory = TemporaryDirectory::new();
    check_directory(&directory.files());
    let path = directory.files().path("b");
    assert_eq!(path, directory.path().join("b").display().to_string());
}

#[test]
fn a_directory_is_made_once_and_must_be_one() {
    let directory = TemporaryDirectory::new();
    let inside = directory.path().join("log");
    assert!(matches!(Directory::open(&inside), Err(LogError::Io { .. })));
    Directory::create(&inside).expect("it can be made");
    Directory::create(&inside).expect("it is there");
    let missing = Directory::create(directory.path().join("x/y")).expect_err("x is missing");
    assert!(missing.to_string().starts_with("cannot make "), "{missing}");
    directory.files().create("file").expect("it can be made");
    assert!(Directory::open(directory.path().join("file")).is_err());
}

#[test]
fn a_lock_is_held_by_one_and_names_its_holder() {
    let directory = TemporaryDirectory::new();
    let lock = Directory::lock(directory.path(), "hotrow.lock").expect("nobody holds it");
    let refused = Directory::lock(directory.path(), "hotrow.lock").expect_err("it is held");
    let pid = std::process::id();
    assert!(matches!(refused, LogError::Locked { holder: Some(holder), .. } if holder == pid));
    assert!(refused.to_string().contains(&format!("(pid {pid})")), "{refused}");
    drop(lock);
    Directory::lock(directory.path(), "hotrow.lock").expect("it was let go");
}
