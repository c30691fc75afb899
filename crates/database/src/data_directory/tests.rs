use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::DataDirectory;

/// A path at which nothing is, and nothing will be.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("hotrow-data-directory-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed stays in the system's temporary directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn open_up(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn a_directory_that_others_could_read_is_its_owner_s_alone_once_it_was_opened() {
    let place = Place::new("open");
    let path = &place.0;
    drop(DataDirectory::open(path).expect("it can be made"));
    let parts =
        ["", "log", "checkpoint", "hotrow.lock", "log/some.log"].map(|part| path.join(part));
    let expected = [0o700, 0o700, 0o700, 0o600, 0o600];
    assert_eq!([0, 1, 2, 3].map(|at| mode(&parts[at])), [0o700, 0o700, 0o700, 0o600]);
    fs::write(&parts[4], "rows").expect("it is writable");
    for (part, mode) in parts.iter().zip([0o755, 0o777, 0o750, 0o644, 0o664]) {
        open_up(part, mode);
    }
    drop(DataDirectory::open(path).expect("it is there"));
    assert_eq!(parts.each_ref().map(|part| mode(part)), expected);
}

#[test]
fn a_directory_that_is_not_ours_alone_stays_as_it_is() {
    let place = Place::new("shared");
    let path = &place.0;
    fs::create_dir(path).expect("it is new");
    fs::write(path.join("letter"), "").expect("it is writable");
    open_up(path, 0o755);
    drop(DataDirectory::open(path).expect("others cannot write"));
    assert_eq!((mode(path), mode(&path.join("log"))), (0o755, 0o700));
    open_up(path, 0o777);
    let Err(refused) = DataDirectory::open(path) else { panic!("anybody could replace it") };
    assert!(refused.to_string().contains("(mode 777)"), "{refused}");
}
