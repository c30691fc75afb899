//! Functions and operators of addresses, bit strings and times with a zone.

use hotrow_base::encoded::{EncodedFunction as E, EncodedType};
use hotrow_base::types::{DataType, SqlType, TIME_DIGITS};
use hotrow_transaction::program::Function as F;

use super::row::Evaluation::{Program, Syntax, Time};
use super::row::{FunctionGroup, FunctionRow, SyntaxForm as S, Volatility, functions};
use super::signature::{
    Argument, BIGINT, BOOLEAN, Count, DOUBLE, INTEGER, INTERVAL, NUMERIC, TEXT, Type, opt,
};

const fn of(kind: EncodedType) -> Argument {
    Argument { of: Type::Is(SqlType::Scalar(DataType::Encoded(kind))), count: Count::Once }
}

pub(super) const INET: Argument = of(EncodedType::Inet);
const CIDR: Argument = of(EncodedType::Cidr);
const MACADDR: Argument = of(EncodedType::MacAddr);
const MACADDR8: Argument = of(EncodedType::MacAddr8);
const BIT: Argument = of(EncodedType::Bit(0));
const VARBIT: Argument = of(EncodedType::VarBit(0));
const TIMETZ: Argument = of(EncodedType::TimeTz(TIME_DIGITS));

pub(super) const ADDRESSES: FunctionGroup = functions! { "Addresses":
    host(INET) -> TEXT, Immutable, Program(F::Encoded(E::Host)),
        "the address as text", "host(inet '10.1.2.3/8')", "10.1.2.3";
    abbrev(CIDR) -> TEXT, Immutable, Program(F::Encoded(E::Abbreviation)),
        "the network as a short text", "abbrev(cidr '10.1.0.0/16')", "10.1/16";
    abbrev(INET) -> TEXT, Immutable, Program(F::Encoded(E::Abbreviation)),
        "the address as text, with its mask where it has one", "abbrev(inet '10.1.0.0/16')",
        "10.1.0.0/16";
    family(INET) -> INTEGER, Immutable, Program(F::Encoded(E::Family)),
        "4 or 6", "family(inet '::1')", "6";
    masklen(INET) -> INTEGER, Immutable, Program(F::Encoded(E::MaskLength)),
        "how many bits name the network", "masklen(inet '10.1.2.3/8')", "8";
    set_masklen(CIDR, INTEGER) -> CIDR, Immutable, Program(F::Encoded(E::SetMaskLength)),
        "the network of so many bits", "set_masklen(cidr '10.1.2.0/24', 16)", "10.1.0.0/16";
    set_masklen(INET, INTEGER) -> INET, Immutable, Program(F::Encoded(E::SetMaskLength)),
        "the address in a network of so many bits; -1: of all", "set_masklen(inet '10.1.2.3', 16)",
        "10.1.2.3/16";
    netmask(INET) -> INET, Immutable, Program(F::Encoded(E::NetMask)),
        "ones where the network is named", "netmask(inet '10.1.2.3/8')", "255.0.0.0/32";
    hostmask(INET) -> INET, Immutable, Program(F::Encoded(E::HostMask)),
        "ones where the host is named", "hostmask(inet '10.1.2.3/8')", "0.255.255.255/32";
    network(INET) -> CIDR, Immutable, Program(F::Encoded(E::Network)),
        "the network that it lies in", "network(inet '10.1.2.3/8')", "10.0.0.0/8";
    broadcast(INET) -> INET, Immutable, Program(F::Encoded(E::Broadcast)),
        "the address of all in its network", "broadcast(inet '10.1.2.3/8')", "10.255.255.255/8";
    inet_same_family(INET, INET) -> BOOLEAN, Immutable, Program(F::Encoded(E::IsSameFamily)),
        "whether both are of 4, or both of 6", "inet_same_family('10.0.0.1', '::1')", "false";
    inet_merge(INET, INET) -> CIDR, Immutable, Program(F::Encoded(E::Merge)),
        "the smallest network that both lie in", "inet_merge('10.1.2.3', '10.1.3.4')",
        "10.1.2.0/23";
    "<<"(INET, INET) -> BOOLEAN, Immutable, Program(F::Encoded(E::IsWithin)),
        "whether it lies in the other, and is smaller", "inet '10.1.2.3' << inet '10.1.0.0/16'",
        "true";
    "<<="(INET, INET) -> BOOLEAN, Immutable, Program(F::Encoded(E::IsWithinOrEqual)),
        "whether it lies in the other, or is as large",
        "inet '10.1.0.0/16' <<= inet '10.1.0.0/16'", "true";
    ">>"(INET, INET) -> BOOLEAN, Immutable, Program(F::Encoded(E::Includes)),
        "whether the other lies in it, and is smaller", "inet '10.1.0.0/16' >> inet '10.2.0.1'",
        "false";
    ">>="(INET, INET) -> BOOLEAN, Immutable, Program(F::Encoded(E::IncludesOrEqual)),
        "whether the other lies in it, or is as large",
        "inet '10.1.0.0/16' >>= inet '10.1.2.3'", "true";
    "&&"(INET, INET) -> BOOLEAN, Immutable, Program(F::Encoded(E::Overlaps)),
        "whether one lies in the other", "inet '10.1.2.3' && inet '10.1.0.0/16'", "true";
    "~"(INET) -> INET, Immutable, Program(F::Encoded(E::Not)),
        "the bits that it has not", "~ inet '10.1.2.3'", "245.254.253.252/32";
    "&"(INET, INET) -> INET, Immutable, Program(F::Encoded(E::And)),
        "the bits that both have", "inet '10.1.2.3' & inet '255.255.0.0'", "10.1.0.0/32";
    "|"(INET, INET) -> INET, Immutable, Program(F::Encoded(E::Or)),
        "the bits that one of them has", "inet '10.1.0.0' | inet '0.0.2.3'", "10.1.2.3/32";
    "~"(MACADDR) -> MACADDR, Immutable, Program(F::Encoded(E::Not)),
        "the bits that it has not", "~ macaddr '08:00:2b:01:02:03'", "f7:ff:d4:fe:fd:fc";
    "&"(MACADDR, MACADDR) -> MACADDR, Immutable, Program(F::Encoded(E::And)),
        "the bits that both have", "macaddr '08:00:2b:01:02:03' & macaddr 'ff:ff:ff:00:00:00'",
        "08:00:2b:00:00:00";
    "|"(MACADDR, MACADDR) -> MACADDR, Immutable, Program(F::Encoded(E::Or)),
        "the bits that one of them has",
        "macaddr '08:00:2b:00:00:00' | macaddr '00:00:00:01:02:03'", "08:00:2b:01:02:03";
    "~"(MACADDR8) -> MACADDR8, Immutable, Program(F::Encoded(E::Not)),
        "the bits that it has not", "~ macaddr8 '08:00:2b:01:02:03:04:05'",
        "f7:ff:d4:fe:fd:fc:fb:fa";
    "&"(MACADDR8, MACADDR8) -> MACADDR8, Immutable, Program(F::Encoded(E::And)),
        "the bits that both have",
        "macaddr8 '08:00:2b:01:02:03:04:05' & macaddr8 'ff:ff:ff:ff:00:00:00:00'",
        "08:00:2b:01:00:00:00:00";
    "|"(MACADDR8, MACADDR8) -> MACADDR8, Immutable, Program(F::Encoded(E::Or)),
        "the bits that one of them has",
        "macaddr8 '08:00:2b:01:00:00:00:00' | macaddr8 '00:00:00:00:02:03:04:05'",
        "08:00:2b:01:02:03:04:05";
    trunc(MACADDR) -> MACADDR, Immutable, Program(F::Encoded(E::Maker)),
        "its maker's part, and zeros", "trunc(macaddr '08:00:2b:01:02:03')", "08:00:2b:00:00:00";
    trunc(MACADDR8) -> MACADDR8, Immutable, Program(F::Encoded(E::Maker)),
        "its maker's part, and zeros", "trunc(macaddr8 '08:00:2b:01:02:03:04:05')",
        "08:00:2b:00:00:00:00:00";
    macaddr8_set7bit(MACADDR8) -> MACADDR8, Immutable, Program(F::Encoded(E::SetSeventhBit)),
        "with its seventh bit set, as addresses of IPv6 have it",
        "macaddr8_set7bit(macaddr8 '00:34:56:ab:cd:ef')", "02:34:56:ff:fe:ab:cd:ef";
};

pub(super) const BITS: FunctionGroup = functions! { "Bit strings":
    "~"(BIT) -> BIT, Immutable, Program(F::Encoded(E::Not)),
        "the bits that it has not", "~ B'10001'", "01110";
    "&"(BIT, BIT) -> BIT, Immutable, Program(F::Encoded(E::And)),
        "the bits that both have; both are as long", "B'10001' & B'01101'", "00001";
    "|"(BIT, BIT) -> BIT, Immutable, Program(F::Encoded(E::Or)),
        "the bits that one of them has", "B'10001' | B'01101'", "11101";
    "#"(BIT, BIT) -> BIT, Immutable, Program(F::Encoded(E::Xor)),
        "the bits that one of them has and the other has not", "B'10001' # B'01101'", "11100";
    "<<"(BIT, INTEGER) -> BIT, Immutable, Program(F::Encoded(E::ShiftLeft)),
        "the bits moved to the left", "B'10001' << 3", "01000";
    ">>"(BIT, INTEGER) -> BIT, Immutable, Program(F::Encoded(E::ShiftRight)),
        "the bits moved to the right", "B'10001' >> 2", "00100";
    "||"(VARBIT, VARBIT) -> VARBIT, Immutable, Program(F::Encoded(E::Concat)),
        "one behind the other", "B'10001' || B'011'", "10001011";
    length(BIT) -> INTEGER, Immutable, Program(F::Encoded(E::Length)),
        "how many bits it has", "length(B'10001')", "5";
    bit_length(BIT) -> INTEGER, Immutable, Program(F::Encoded(E::Length)),
        "how many bits it has", "bit_length(B'10001')", "5";
    octet_length(BIT) -> INTEGER, Immutable, Program(F::Encoded(E::OctetLength)),
        "how many bytes they take", "octet_length(B'1011111011')", "2";
    bit_count(BIT) -> BIGINT, Immutable, Program(F::Encoded(E::CountOnes)),
        "how many of them are set", "bit_count(B'10111')", "4";
    get_bit(BIT, INTEGER) -> INTEGER, Immutable, Program(F::Encoded(E::GetBit)),
        "a bit, counted from 0 on the left", "get_bit(B'10111', 1)", "0";
    set_bit(BIT, INTEGER, INTEGER) -> BIT, Immutable, Program(F::Encoded(E::SetBit)),
        "with this bit set to 0 or 1", "set_bit(B'10111', 1, 1)", "11111";
    substring(BIT, INTEGER, opt(INTEGER)) -> BIT, Immutable, Program(F::Encoded(E::Substring)),
        "bits from a place on, counted from 1, and how many",
        "substring(B'110010111' FROM 3 FOR 2)", "00";
    strpos(BIT, BIT) -> INTEGER, Immutable, Program(F::Encoded(E::Position)),
        "where bits stand in others; 0: nowhere", "position(B'010' IN B'000001101011')", "8";
    overlay(BIT, BIT, INTEGER, opt(INTEGER)) -> BIT, Immutable, Program(F::Encoded(E::Overlay)),
        "with bits in the place of others", "overlay(B'01010101' PLACING B'11111' FROM 2 FOR 3)",
        "0111110101";
};

pub(super) const ZONED_TIMES: FunctionGroup = functions! { "Times with a zone":
    current_time() -> TIMETZ, Stable, Time(DataType::Encoded(EncodedType::TimeTz(TIME_DIGITS))),
        "the time of day when the call began, with the session's zone",
        "current_time = now()::timetz", "true";
    extract(TEXT, TIMETZ) -> NUMERIC, Immutable, Syntax(S::Extract),
        "a field: hour, minute, second, epoch, timezone ...",
        "extract(hour FROM timetz '10:20:30+02')", "10";
    date_part(TEXT, TIMETZ) -> DOUBLE, Immutable, Syntax(S::Extract),
        "the same as a float", "date_part('hour', timetz '10:20:30+02')", "10";
    timezone(TEXT, TIMETZ) -> TIMETZ, Immutable, Program(F::Encoded(E::InZone)),
        "the time that a clock shows then in a zone, in winter where it has a summer time",
        "timetz '10:20+00' AT TIME ZONE 'PST'", "02:20:00-08";
    timezone(INTERVAL, TIMETZ) -> TIMETZ, Immutable, Program(F::Encoded(E::InZone)),
        "the time that a clock shows then that is so much ahead of UTC",
        "timezone(interval '2 hours', timetz '10:20+00')", "12:20:00+02";
};
