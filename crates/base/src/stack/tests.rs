use super::{Exhausted, ROOM_BYTES, SEGMENT_BYTES, SEGMENTS_MAX, deeper, with_room};

/// Goes as deep as it may; how deep that was.
fn dive(level: usize) -> usize {
    let page = std::hint::black_box([level as u8; 4096]);
    match deeper(|| dive(level + 1)) {
        Ok(deepest) => deepest + usize::from(page[0] != level as u8),
        Err(Exhausted) => level,
    }
}

fn on_thread_of<T: Send>(bytes: usize, body: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(bytes);
        builder.spawn_scoped(scope, body).expect("a thread").join().expect("it ends by itself")
    })
}

#[test]
fn endless_recursion_ends_with_an_error_on_a_stack_of_any_size() {
    let segments = SEGMENTS_MAX as usize * (SEGMENT_BYTES - ROOM_BYTES);
    for bytes in [64 << 10, 2 << 20, 8 << 20] {
        let (first, second) = on_thread_of(bytes, || (dive(0), dive(0)));
        assert!(first * 4096 > segments / 2, "{first} levels on {bytes} bytes");
        assert!(first * 4096 < segments + bytes, "{first} levels on {bytes} bytes");
        assert_eq!(first, second, "segments are given back");
    }
}

/// Half of the room in one frame, which must not become part of its caller's.
#[inline(never)]
fn half_of_the_room() -> usize {
    std::hint::black_box([1_u8; ROOM_BYTES / 2]).iter().map(|byte| usize::from(*byte)).sum()
}

#[test]
fn there_is_room_where_it_was_asked_for() {
    let used = on_thread_of(64 << 10, || with_room(half_of_the_room));
    assert_eq!(used, ROOM_BYTES / 2);
}

#[test]
fn a_panic_gives_segments_back() {
    on_thread_of(64 << 10, || {
        for _ in 0..2 * SEGMENTS_MAX {
            let panicked = std::panic::catch_unwind(|| deeper(|| panic!("as the test has it")));
            assert!(panicked.is_err());
        }
        assert_eq!(deeper(|| 1), Ok(1));
    });
}
