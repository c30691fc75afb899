use super::*;
use crate::granule::LOCK_ID_STEP;
use LockMode::{Exclusive, IntentShared, Shared};
use hotrow_base::ids::{IndexId, TableId};

const SPACE: Space = Space::Index(IndexId(3));

fn footprint(claims: &[(u64, LockMode)]) -> Footprint {
    let mut footprint = Footprint::default();
    footprint.clear();
    claims.iter().for_each(|&(lock, mode)| footprint.join(lock, SPACE, mode));
    footprint
}

#[test]
fn requests_ascend_and_name_each_lock_once_in_its_strongest_mode() {
    let claims = [(40, Shared), (8, Exclusive), (40, Exclusive), (8, Shared), (24, IntentShared)];
    let mut requests = vec![LockRequest::new(0, Shared)];
    footprint(&claims).requests(&mut requests);
    let told: Vec<_> = requests.iter().map(|request| (request.lock(), request.mode())).collect();
    assert_eq!(told, [(8, Exclusive), (24, IntentShared), (40, Exclusive)]);
}

#[test]
fn footprints_find_what_they_hold_beyond_their_first_cells() {
    let locks = || (0..500_u64).map(|i| i * 64 * LOCK_ID_STEP);
    let footprint = footprint(&locks().map(|lock| (lock, Shared)).collect::<Vec<_>>());
    assert_eq!(footprint.granules().len(), 500);
    assert!(locks().all(|lock| footprint.covers(lock, IntentShared)));
    assert!(locks().all(|lock| !footprint.covers(lock, Exclusive)));
    assert_eq!(footprint.mode(LOCK_ID_STEP), None);
}

#[test]
fn a_cleared_footprint_holds_nothing() {
    let mut footprint = footprint(&[(8, Shared)]);
    footprint.clear();
    assert_eq!(footprint.mode(8), None);
    assert!(footprint.granules().is_empty());
}

#[test]
fn identities_leave_room_for_modes_and_tell_spaces_apart() {
    let spaces = [Space::Table(TableId(3)), SPACE, Space::Index(IndexId(4))];
    let ids = spaces.map(|space| space.lock_id(b"key"));
    assert!(ids.iter().all(|id| id.is_multiple_of(LOCK_ID_STEP)));
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}
