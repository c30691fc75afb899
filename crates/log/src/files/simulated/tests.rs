use super::{Fault, SimulatedDisk};
use crate::files::Files;
use std::collections::BTreeSet;

fn content(disk: &SimulatedDisk, name: &str) -> Option<Vec<u8>> {
    disk.content(name).ok()
}

#[test]
fn the_simulated_disk_does_what_every_directory_must() {
    crate::files::tests::check_directory(&SimulatedDisk::new());
}

#[test]
fn only_what_was_synced_is_sure() {
    let disk = SimulatedDisk::new();
    let file = disk.create("a").expect("there is none");
    file.write_at(&[1; 1024], 0).expect("it is writable");
    file.sync_data().expect("it is writable");
    let nameless = disk.crash(disk.operations(), &mut || false);
    assert_eq!(content(&nameless, "a"), None, "the directory was not synced");
    disk.sync_directory().expect("it can be synced");
    file.write_at(&[2; 1024], 512).expect("it is writable");
    let now = disk.operations();
    let lost = content(&disk.crash(now, &mut || false), "a").expect("the name is durable");
    assert_eq!(lost, [1; 1024]);
    let kept = content(&disk.crash(now, &mut || true), "a").expect("the name is durable");
    assert_eq!(kept, [&[1; 512][..], &[2; 1024]].concat());
    // Grown or not, and each of the two sectors or not; the second is lost without growth.
    let mut images = BTreeSet::new();
    let all = disk.every_crash(now, 100, |image| {
        images.insert(content(&image, "a").expect("the name is durable"));
    });
    assert!(all);
    assert_eq!(images.len(), 6);
    assert!(images.contains(&[&[1; 512][..], &[2; 512], &[0; 512]].concat()));
    assert!(!disk.every_crash(now, 3, |_| ()), "three are not all");
    let earlier = disk.crash(1, &mut || true);
    assert_eq!(content(&earlier, "a"), Some(Vec::new()), "only the creation was done");
}

#[test]
fn names_are_there_or_not_until_the_directory_is_synced() {
    let disk = SimulatedDisk::new();
    for name in ["a", "b"] {
        let file = disk.create(name).expect("there is none");
        file.write_at(name.as_bytes(), 0).expect("it is writable");
        file.sync_data().expect("it is writable");
    }
    disk.sync_directory().expect("it can be synced");
    disk.rename("a", "b").expect("there is an a");
    let now = disk.operations();
    let before = disk.crash(now, &mut || false);
    assert_eq!(
        (content(&before, "a"), content(&before, "b")),
        (Some(b"a".into()), Some(b"b".into()))
    );
    let after = disk.crash(now, &mut || true);
    assert_eq!((content(&after, "a"), content(&after, "b")), (None, Some(b"a".into())));
    disk.remove("b").expect("there is a b");
    disk.sync_directory().expect("it can be synced");
    let gone = disk.crash(disk.operations(), &mut || false);
    assert_eq!(gone.list().expect("it can be listed"), [""; 0]);
}

#[test]
fn a_failed_sync_is_not_made_good_by_the_next_one() {
    let disk = SimulatedDisk::new();
    let file = disk.create("a").expect("there is none");
    disk.sync_directory().expect("it can be synced");
    file.write_at(&[1; 512], 0).expect("it is writable");
    disk.fail(1, Fault::Error);
    assert!(!disk.has_failed());
    let error = file.sync_data().expect_err("it is the one to fail");
    assert_eq!(error.raw_os_error(), Some(5));
    assert!(disk.has_failed());
    file.sync_data().expect("only one fails");
    assert_eq!(disk.content("a").expect("there is an a"), [1; 512], "reading still shows it");
    let image = disk.crash(disk.operations(), &mut || false);
    assert_eq!(content(&image, "a"), Some(Vec::new()));
}

#[test]
fn a_short_write_does_a_part() {
    let disk = SimulatedDisk::new();
    let file = disk.create("a").expect("there is none");
    disk.fail(2, Fault::Short);
    file.write_at(&[1; 100], 0).expect("the first one does not fail");
    let error = file.write_at(&[2; 100], 100).expect_err("the second one fails");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(file.length().expect("it is open"), 150);
}
