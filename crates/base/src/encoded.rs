//! Values that are kept as bytes which stand in their order: addresses of networks and of devices,
//! bit strings, times of day with a zone.
//!
//! Role         what a column, a key and an expression need of such a type is what they have for
//!              bytea: only who reads texts, writes them, or computes knows what the bytes say
//! Invariants   I1 of two values of one type, or of two that become each other as they are
//!                 ([`EncodedType::is_kept_like`]), the bytes compare as the values do
//!              I2 reading is total: whatever bytes a racing reader meets, a value comes out
//! Source       PostgreSQL 15, manual 8.5, 8.9 and 8.10, whose order this is

mod bits;
mod call;
mod clock;
mod device;
mod network;

#[cfg(test)]
mod tests;

use std::fmt;

pub use bits::Bits;
pub use call::{EncodedFunction, call};
pub use clock::ZonedTime;
pub use device::Device;
pub use network::Network;

use crate::types::{DataType, TIME_DIGITS};
use crate::value::{Value, ValueError};

/// The types of addresses.
pub const ADDRESSES: [EncodedType; 4] =
    [EncodedType::Inet, EncodedType::Cidr, EncodedType::MacAddr, EncodedType::MacAddr8];

type Result<T> = std::result::Result<T, ValueError>;

/// A type whose values are kept so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EncodedType {
    /// `inet`, a host's address and how much of it names the network
    Inet,
    /// `cidr`, a network
    Cidr,
    /// `macaddr`, a device's address of six bytes
    MacAddr,
    /// `macaddr8`, of eight
    MacAddr8,
    /// `bit(n)`; 0: of any length, which expressions have
    Bit(u32),
    /// `bit varying(n)`, n bits at most; 0: of any length
    VarBit(u32),
    /// `time(precision) with time zone`, rounded to that many digits of a second
    TimeTz(u8),
}

impl EncodedType {
    /// The types, without a length, and with all digits.
    pub const ALL: [Self; 7] = [
        Self::Inet,
        Self::Cidr,
        Self::MacAddr,
        Self::MacAddr8,
        Self::Bit(0),
        Self::VarBit(0),
        Self::TimeTz(TIME_DIGITS),
    ];

    /// The type without a length, and with all digits.
    #[must_use]
    pub const fn bare(self) -> Self {
        match self {
            Self::Bit(_) => Self::Bit(0),
            Self::VarBit(_) => Self::VarBit(0),
            Self::TimeTz(_) => Self::TimeTz(TIME_DIGITS),
            other => other,
        }
    }

    /// The place of its bare type among [`Self::ALL`].
    pub const fn place(self) -> usize {
        match self {
            Self::Inet => 0,
            Self::Cidr => 1,
            Self::MacAddr => 2,
            Self::MacAddr8 => 3,
            Self::Bit(_) => 4,
            Self::VarBit(_) => 5,
            Self::TimeTz(_) => 6,
        }
    }

    /// The name of the type, without its length.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inet => "inet",
            Self::Cidr => "cidr",
            Self::MacAddr => "macaddr",
            Self::MacAddr8 => "macaddr8",
            Self::Bit(_) => "bit",
            Self::VarBit(_) => "bit varying",
            Self::TimeTz(_) => "time with time zone",
        }
    }

    /// Whether equal values of both have equal bytes.
    pub fn is_kept_like(self, other: Self) -> bool {
        self.bare() == other.bare() || self.is_network() && other.is_network() || {
            let is_bits = |of| matches!(of, Self::Bit(_) | Self::VarBit(_));
            is_bits(self) && is_bits(other)
        }
    }

    /// The type that values of both become by themselves.
    pub fn common(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::TimeTz(one), Self::TimeTz(other)) => Some(Self::TimeTz(one.max(other))),
            (one, other) if one.bare() == other.bare() => Some(one.bare()),
            (Self::Inet, Self::Cidr) | (Self::Cidr, Self::Inet) => Some(Self::Inet),
            (Self::MacAddr, Self::MacAddr8) | (Self::MacAddr8, Self::MacAddr) => {
                Some(Self::MacAddr8)
            }
            (Self::Bit(_), Self::VarBit(_)) | (Self::VarBit(_), Self::Bit(_)) => {
                Some(Self::VarBit(0))
            }
            _ => None,
        }
    }

    /// Whether each value of this type is one of another, which differs in how long or how precise
    /// its values may be.
    pub fn lies_in(self, other: Self) -> bool {
        match (self, other) {
            (Self::TimeTz(digits), Self::TimeTz(other)) => digits <= other,
            (of, other) => of == other || of.bare() == other,
        }
    }

    const fn is_network(self) -> bool {
        matches!(self, Self::Inet | Self::Cidr)
    }

    /// The value of a text as a literal of this type.
    ///
    /// # Errors
    ///
    /// 22P02, 22007 and the like: it is none; 22026, 22001: it has another number of bits.
    pub fn parse(self, text: &str) -> Result<Encoded> {
        let value = match self {
            Self::Inet | Self::Cidr => Network::parse(text, self)?.encoded(self),
            Self::MacAddr | Self::MacAddr8 => Device::parse(text, self)?.encoded(),
            Self::Bit(_) | Self::VarBit(_) => Bits::parse(text)?.encoded(self),
            Self::TimeTz(_) => ZonedTime::parse(text, self)?.encoded(),
        };
        value.become_one_of(self)
    }

    /// The value that bytes stand for.
    pub fn read(self, bytes: &[u8]) -> Encoded {
        Encoded { of: self.bare(), bytes: bytes.into() }
    }
}

impl fmt::Display for EncodedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bit(bits @ 1..) | Self::VarBit(bits @ 1..) => {
                write!(f, "{}({bits})", self.name())
            }
            Self::TimeTz(digits) if *digits < TIME_DIGITS => {
                write!(f, "time({digits}) with time zone")
            }
            other => f.write_str(other.name()),
        }
    }
}

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    of: EncodedType,
    bytes: Box<[u8]>,
}

impl Encoded {
    /// Its type, without a length.
    pub const fn of(&self) -> EncodedType {
        self.of
    }

    /// The bytes that it is kept as.
    pub const fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The value as one of another type of these, as an assignment makes it.
    ///
    /// # Errors
    ///
    /// 22026, 22001: it has another number of bits; 22003: a device's address of eight bytes that
    /// is none of six; 42846: it becomes none of that type.
    pub fn become_one_of(self, to: EncodedType) -> Result<Self> {
        use EncodedType as T;
        Ok(match (self.of, to) {
            (T::Bit(_) | T::VarBit(_), T::Bit(_) | T::VarBit(_)) => {
                Bits::read(&self.bytes).fitted(to)?.encoded(to)
            }
            (T::TimeTz(_), T::TimeTz(digits)) => {
                ZonedTime::read(&self.bytes).rounded(digits).encoded()
            }
            (of, to) if of == to => self,
            (T::Inet, T::Cidr) => Network::read(&self.bytes).network().encoded(to),
            (T::Cidr, T::Inet) => to.read(&self.bytes),
            (T::MacAddr | T::MacAddr8, T::MacAddr | T::MacAddr8) => {
                Device::read(&self.bytes).become_one_of(to)?.encoded()
            }
            (of, to) => {
                return Err(ValueError::no_cast(of.name(), to.name()));
            }
        })
    }

    /// What a cast to text gives: of an address, with how much of it names the network.
    pub fn cast_to_text(&self) -> String {
        match self.of {
            EncodedType::Inet => Network::read(&self.bytes).whole_text(),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            EncodedType::Inet => write!(f, "{}", Network::read(&self.bytes)),
            EncodedType::Cidr => f.write_str(&Network::read(&self.bytes).whole_text()),
            EncodedType::MacAddr | EncodedType::MacAddr8 => {
                write!(f, "{}", Device::read(&self.bytes))
            }
            EncodedType::Bit(_) | EncodedType::VarBit(_) => {
                write!(f, "{}", Bits::read(&self.bytes))
            }
            EncodedType::TimeTz(_) => write!(f, "{}", ZonedTime::read(&self.bytes)),
        }
    }
}

impl From<EncodedType> for DataType {
    fn from(of: EncodedType) -> Self {
        Self::Encoded(of)
    }
}

impl From<Encoded> for Value {
    fn from(value: Encoded) -> Self {
        Self::Encoded(value)
    }
}
