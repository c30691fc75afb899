use super::{NUMBERS_MAX, sort_numbers};

/// Numbers that are in no order, without a generator of them.
fn scrambled(count: u32) -> Vec<u32> {
    (0..count).map(|n| n.wrapping_mul(2_654_435_761) % count.max(1)).collect()
}

#[test]
fn sorts_as_the_standard_library_does() {
    for count in [0, 1, 2, 3, 100, 8192, 8193, 50_000, 100_001] {
        let keys = scrambled(count);
        let mut numbers: Vec<u32> = (0..count).collect();
        let mut expected = numbers.clone();
        let key = |number: u32| keys[number as usize] / 3;
        sort_numbers(&mut numbers, |_| 8, |a, b| key(a).cmp(&key(b)), || Ok::<_, ()>(()))
            .expect("nobody interrupts");
        expected.sort_by_key(|number| key(*number));
        assert_eq!(numbers, expected, "{count}");
    }
}

#[test]
fn large_rows_are_sorted_in_short_runs() {
    let mut numbers: Vec<u32> = (0..64).rev().collect();
    let mut looks = 0;
    let look = || {
        looks += 1;
        Ok::<_, ()>(())
    };
    sort_numbers(&mut numbers, |_| 1 << 20, |a, b| a.cmp(&b), look).expect("it goes on");
    assert!(numbers.is_sorted() && numbers.len() == 64);
    assert!(looks > 100, "a look for each row in each pass: {looks}");
}

#[test]
fn ends_when_it_is_told_to() {
    let mut numbers = scrambled(10 * NUMBERS_MAX as u32);
    let mut left = 12;
    let look = || {
        left -= 1;
        if left == 0 { Err("enough") } else { Ok(()) }
    };
    assert_eq!(sort_numbers(&mut numbers, |_| 8, |a, b| a.cmp(&b), look), Err("enough"));
}
