//! Addresses of hosts and of networks.
//!
//! ```text
//! byte 0     | 4 or 6
//! network    | 4 or 16 bytes: the address, zeros behind the bits that name the network
//! bits       | one byte: how many name the network
//! address    | 4 or 16 bytes
//! ```
//!
//! So networks stand before what lies in them, and wider ones first, as in PostgreSQL.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Encoded, EncodedType, Result};
use crate::value::ValueError;

/// An address, and how many of its bits name the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// the address
    pub address: IpAddr,
    /// bits of it that name the network: 32 or 128 at most
    pub bits: u8,
}

/// The bits of an address.
const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl Network {
    /// An address and bits of it; none: there are too many of them.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        (bits <= width(address)).then_some(Self { address, bits })
    }

    /// The address of a text: of a network, nothing may stand behind the bits that name it.
    pub(super) fn parse(text: &str, of: EncodedType) -> Result<Self> {
        let trimmed = text.trim_ascii();
        let is_network = of == EncodedType::Cidr;
        let read = match trimmed.contains(':') {
            true => read_six(trimmed),
            false => read_four(trimmed, is_network),
        };
        let read = read.ok_or_else(|| ValueError::syntax(of.into(), text))?;
        if is_network && read.network() != read {
            return Err(ValueError::network_with_host(text));
        }
        Ok(read)
    }

    /// The value as it is kept.
    pub fn encoded(self, of: EncodedType) -> Encoded {
        let mut bytes = Vec::with_capacity(34);
        let octets = |address: IpAddr, bytes: &mut Vec<u8>| match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        };
        bytes.push(if self.is_four() { 4 } else { 6 });
        octets(self.network().address, &mut bytes);
        bytes.push(self.bits);
        octets(self.address, &mut bytes);
        of.read(&bytes)
    }

    /// What bytes stand for.
    pub fn read(bytes: &[u8]) -> Self {
        let four = || -> Option<Self> {
            let address: [u8; 4] = bytes.get(6..10)?.try_into().ok()?;
            Self::new(address.into(), *bytes.get(5)?)
        };
        let six = || -> Option<Self> {
            let address: [u8; 16] = bytes.get(18..34)?.try_into().ok()?;
            Self::new(address.into(), *bytes.get(17)?)
        };
        let read = if bytes.first() == Some(&4) { four() } else { six() };
        read.unwrap_or(Self { address: Ipv4Addr::UNSPECIFIED.into(), bits: 0 })
    }

    pub(super) const fn is_four(self) -> bool {
        self.address.is_ipv4()
    }

    pub(super) const fn width(self) -> u8 {
        width(self.address)
    }

    /// The address as a number.
    pub(super) const fn number(self) -> u128 {
        match self.address {
            IpAddr::V4(address) => address.to_bits() as u128,
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    /// An address of the same kind, of which all bits name the network.
    pub(super) const fn host_of(self, number: u128) -> Self {
        self.with_number(number, self.width())
    }

    pub(super) const fn with_number(self, number: u128, bits: u8) -> Self {
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(number)),
        };
        Self { address, bits }
    }

    /// Ones where the address names a host.
    pub(super) const fn host_mask(self) -> u128 {
        let hosts = self.width() - self.bits;
        if hosts == 128 { u128::MAX } else { (1 << hosts) - 1 }
    }

    /// The network that it lies in.
    #[must_use]
    pub const fn network(self) -> Self {
        self.with_number(self.number() & !self.host_mask(), self.bits)
    }

    /// Whether another one lies in this network, or is it.
    pub(super) fn includes(self, other: Self) -> bool {
        self.is_four() == other.is_four()
            && self.bits <= other.bits
            && (self.number() ^ other.number()) & !self.host_mask() == 0
    }

    pub(super) fn host_text(self) -> String {
        match self.address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => text_of_six(address),
        }
    }

    pub(super) fn whole_text(self) -> String {
        format!("{}/{}", self.host_text(), self.bits)
    }

    /// A network without the zeros that its bits say.
    pub(super) fn short_text(self) -> String {
        let IpAddr::V4(address) = self.address else { return self.whole_text() };
        let count = usize::from(self.bits.div_ceil(8)).max(1);
        let shown: Vec<_> = address.octets()[..count].iter().map(u8::to_string).collect();
        format!("{}/{}", shown.join("."), self.bits)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits == self.width() {
            true => f.write_str(&self.host_text()),
            false => f.write_str(&self.whole_text()),
        }
    }
}

/// As PostgreSQL writes it: the last 32 bits as those of an older address, where nothing else but a
/// mark stands before them.
fn text_of_six(address: Ipv6Addr) -> String {
    let words = address.segments();
    let is_within = words[..6] == [0; 6] && words[6] != 0 || words[..6] == [0, 0, 0, 0, 0, 0xFFFF];
    if !is_within {
        return address.to_string();
    }
    let last = Ipv4Addr::from_bits(u32::from(words[6]) << 16 | u32::from(words[7]));
    let mark = if words[5] == 0 { "" } else { "ffff:" };
    format!("::{mark}{last}")
}

/// `a.b.c.d[/bits]`; with bits, fewer bytes, and zeros behind them. Of a network the bits may be
/// left out: what class it was of says how many there are.
fn read_four(text: &str, is_network: bool) -> Option<Network> {
    let (address, bits) = split_bits(text)?;
    let mut octets = Vec::with_capacity(4);
    for part in address.split('.') {
        octets.push(decimal(part, 255)?);
    }
    let count = octets.len();
    let first = *octets.first().filter(|_| count <= 4)?;
    let bits = match bits {
        Some(bits) => bits,
        None if count == 4 => 32,
        None if is_network => match of_class(first).max(count as u8 * 8) {
            8 if first == 224 => 4,
            bits => bits,
        },
        None => return None,
    };
    if usize::from(bits / 8) > count && !is_network {
        return None;
    }
    octets.resize(4, 0);
    let address: [u8; 4] = octets.try_into().ok()?;
    Network::new(address.into(), bits)
}

/// The bits that named a network before they were written.
const fn of_class(first: u8) -> u8 {
    match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    }
}

fn read_six(text: &str) -> Option<Network> {
    let (address, bits) = split_bits(text)?;
    let address: Ipv6Addr = address.parse().ok()?;
    Network::new(address.into(), bits.unwrap_or(128))
}

fn split_bits(text: &str) -> Option<(&str, Option<u8>)> {
    match text.split_once('/') {
        None => Some((text, None)),
        Some((address, bits)) => Some((address, Some(decimal(bits, 128)?))),
    }
}

fn decimal(text: &str, most: u8) -> Option<u8> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= most)
}
