use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::temporal::TimeZone;

fn read(of: EncodedType, text: &str) -> Encoded {
    of.parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shown(of: EncodedType, text: &str) -> String {
    read(of, text).to_string()
}

fn refused(of: EncodedType, text: &str) -> &'static str {
    of.parse(text).expect_err(text).code()
}

fn is_below(of: EncodedType, texts: &[&str]) {
    for pair in texts.windows(2) {
        let [one, other] = [read(of, pair[0]), read(of, pair[1])];
        assert_eq!(one.bytes().cmp(other.bytes()), Ordering::Less, "{} < {}", pair[0], pair[1]);
    }
}

#[test]
fn addresses_are_read_and_written_as_postgresql_does() {
    use EncodedType::{Cidr, Inet};
    for (of, text, wanted) in [
        (Inet, "192.168.1.5", "192.168.1.5"),
        (Inet, " 192.168.1.5/24 ", "192.168.1.5/24"),
        (Inet, "10/8", "10.0.0.0/8"),
        (Inet, "10.1.2.3/32", "10.1.2.3"),
        (Cidr, "10", "10.0.0.0/8"),
        (Cidr, "192.168.1", "192.168.1.0/24"),
        (Cidr, "224", "224.0.0.0/4"),
        (Cidr, "10.1.2.3", "10.1.2.3/32"),
        (Inet, "::1", "::1"),
        (Inet, "2001:DB8:0:0:1::/64", "2001:db8:0:0:1::/64"),
        (Inet, "::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        (Inet, "::10.2.3.4", "::10.2.3.4"),
        (Inet, "::", "::"),
        (Inet, "::f0f0", "::f0f0"),
    ] {
        assert_eq!(shown(of, text), wanted, "{text}");
    }
    for (of, text) in [
        (Inet, ""),
        (Inet, "10"),
        (Inet, "1.2.3.256"),
        (Inet, "1.2.3.4/33"),
        (Inet, "1.2.3.4.5"),
        (Inet, "1.2.3.4/"),
        (Inet, ":::"),
        (Inet, "::1/129"),
        (Cidr, "10.1.2.3/8"),
        (Cidr, "+1"),
    ] {
        assert_eq!(refused(of, text), "22P02", "{text}");
    }
    let network = read(Inet, "10.1.2.3/8").become_one_of(Cidr).expect("it has a network");
    assert_eq!(network.to_string(), "10.0.0.0/8");
    assert_eq!(read(Inet, "10.1.2.3").cast_to_text(), "10.1.2.3/32");
}

#[test]
fn networks_stand_before_what_lies_in_them() {
    let texts = [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "10.1.2.3/8",
        "10.0.0.0/9",
        "10.0.0.0",
        "10.1.0.0/16",
        "10.1.2.3/16",
        "11.0.0.0",
        "::/0",
        "::1",
        "2001:db8::/32",
        "2001:db8::1",
    ];
    is_below(EncodedType::Inet, &texts);
}

#[test]
fn addresses_of_devices_come_in_many_forms() {
    use EncodedType::{MacAddr, MacAddr8};
    for text in [
        "08:00:2b:01:02:03",
        "08-00-2B-01-02-03",
        "8:0:2b:1:2:3",
        "08002b:010203",
        "08002b-010203",
        "0800.2b01.0203",
        "0800-2b01-0203",
        "08002b010203",
    ] {
        assert_eq!(shown(MacAddr, text), "08:00:2b:01:02:03", "{text}");
        assert_eq!(shown(MacAddr8, text), "08:00:2b:ff:fe:01:02:03", "{text}");
    }
    for text in ["", "08:00:2b:01:02", "08:00-2b:01:02:03", "08002b01020", "g8:00:2b:01:02:03"] {
        assert_eq!(refused(MacAddr, text), "22P02", "{text}");
    }
    let eight = read(MacAddr8, "08:00:2b:01:02:03:04:05");
    assert_eq!(eight.become_one_of(MacAddr).expect_err("no six").code(), "22003");
    let six = read(MacAddr8, "08002bfffe010203").become_one_of(MacAddr).expect("it was six");
    assert_eq!(six.to_string(), "08:00:2b:01:02:03");
}

#[test]
fn bits_are_kept_as_they_are_and_fit_or_not() {
    use EncodedType::{Bit, VarBit};
    for text in ["", "1", "1010101", "10101010", "000000000000000"] {
        assert_eq!(shown(VarBit(0), text), text);
    }
    assert_eq!(shown(Bit(0), "x1F"), "00011111");
    assert_eq!(shown(Bit(3), "b101"), "101");
    assert_eq!(refused(Bit(3), "10"), "22026");
    assert_eq!(refused(VarBit(3), "1011"), "22001");
    assert_eq!(refused(VarBit(3), "12"), "22P02");
    is_below(VarBit(0), &["", "0", "00", "0000000", "00000000", "01", "1", "10", "1000000001"]);
}

#[test]
fn times_with_a_zone_stand_in_the_order_of_greenwich() {
    let of = EncodedType::TimeTz(6);
    let _zone = TimeZone::fixed(7_200).expect("an offset").enter();
    assert_eq!(shown(of, "10:20:30.5"), "10:20:30.5+02");
    assert_eq!(shown(of, "10:20 PST"), "10:20:00-08");
    assert_eq!(shown(of, "2003-04-12 04:05:06 America/New_York"), "04:05:06-04");
    assert_eq!(shown(EncodedType::TimeTz(0), "10:20:30.5+05:30"), "10:20:31+05:30");
    assert_eq!(refused(of, "10:20 America/New_York"), "22007");
    assert_eq!(refused(of, "25:20"), "22008");
    is_below(of, &["10:20+05", "10:20+02", "09:20+01", "10:20+00", "24:00+00", "23:00-08"]);
}

proptest! {
    #[test]
    fn the_bytes_of_bits_compare_as_the_bits(
        one in prop::collection::vec(any::<bool>(), 0..30),
        other in prop::collection::vec(any::<bool>(), 0..30),
    ) {
        let of = EncodedType::VarBit(0);
        let bytes = |bits: &[bool]| Bits(bits.to_vec()).encoded(of);
        prop_assert_eq!(bytes(&one).bytes().cmp(bytes(&other).bytes()), one.cmp(&other));
        prop_assert_eq!(Bits::read(bytes(&one).bytes()).0, one);
    }

    #[test]
    fn whatever_bytes_there_are_a_value_is_read_and_shown(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        place in 0..7_usize,
    ) {
        let value = EncodedType::ALL[place].read(&bytes);
        prop_assert!(!value.cast_to_text().is_empty() || matches!(place, 4 | 5));
    }
}
