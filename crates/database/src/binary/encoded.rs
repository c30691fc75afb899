//! Addresses, bit strings and times with a zone in binary.
//!
//! ```text
//! inet, cidr     | 2 or 3 for 4 or 16 bytes, bits that name the network, 1 of a cidr, how many
//!                | bytes follow, the address
//! macaddr        | 6 or 8 bytes
//! bit, varbit    | how many bits in 4 bytes, then the bits, the first one highest
//! timetz         | microseconds since midnight in 8 bytes, seconds west of Greenwich in 4
//! ```

use hotrow_base::encoded::{Bits, Device, Encoded, EncodedType, Network, ZonedTime};
use hotrow_base::temporal::MICROS_PER_DAY;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use super::{Buffer, exactly, incorrect};

const FOUR_BYTES: u8 = 2;
const SIXTEEN_BYTES: u8 = 3;
/// Seconds that a zone may be away from Greenwich.
const AWAY_MAX: i32 = 16 * 3_600;

/// Appends a value.
pub(super) fn write(value: &Encoded, out: &mut impl Buffer) {
    match value.of() {
        EncodedType::Inet | EncodedType::Cidr => {
            let network = Network::read(value.bytes());
            let is_cidr = value.of() == EncodedType::Cidr;
            let mut put = |family, address: &[u8]| {
                out.put_slice(&[family, network.bits, is_cidr.into(), address.len() as u8]);
                out.put_slice(address);
            };
            match network.address {
                std::net::IpAddr::V4(address) => put(FOUR_BYTES, &address.octets()),
                std::net::IpAddr::V6(address) => put(SIXTEEN_BYTES, &address.octets()),
            }
        }
        EncodedType::MacAddr | EncodedType::MacAddr8 => out.put_slice(value.bytes()),
        EncodedType::Bit(_) | EncodedType::VarBit(_) => {
            let Bits(bits) = Bits::read(value.bytes());
            out.put_slice(&(bits.len() as i32).to_be_bytes());
            for group in bits.chunks(8) {
                let byte = group.iter().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
                out.put_u8(byte << (8 - group.len()));
            }
        }
        EncodedType::TimeTz(_) => {
            let time = ZonedTime::read(value.bytes());
            out.put_slice(&time.micros.to_be_bytes());
            out.put_slice(&(-time.offset).to_be_bytes());
        }
    }
}

/// Reads a value.
///
/// # Errors
///
/// 22P03: it is none. 22026, 22001: it has another number of bits. 22008, 22009: no such time.
pub(super) fn read(bytes: &[u8], of: EncodedType) -> Result<Value, SqlError> {
    let read = match of {
        EncodedType::Inet | EncodedType::Cidr => read_network(bytes, of)?.encoded(of),
        EncodedType::MacAddr | EncodedType::MacAddr8 => {
            Device::new(bytes).ok_or_else(incorrect)?.encoded()
        }
        EncodedType::Bit(_) | EncodedType::VarBit(_) => read_bits(bytes)?.encoded(of),
        EncodedType::TimeTz(_) => {
            let (micros, west) = bytes.split_at_checked(8).ok_or_else(incorrect)?;
            let micros = i64::from_be_bytes(exactly(micros)?);
            let west = i32::from_be_bytes(exactly(west)?);
            if !(0..=MICROS_PER_DAY).contains(&micros) {
                return Err(SqlError::new(b"22008", "time out of range"));
            }
            if !(-AWAY_MAX + 1..AWAY_MAX).contains(&west) {
                return Err(SqlError::new(b"22009", "time zone displacement out of range"));
            }
            ZonedTime { micros, offset: -west }.encoded()
        }
    };
    Ok(read.become_one_of(of)?.into())
}

fn read_network(bytes: &[u8], of: EncodedType) -> Result<Network, SqlError> {
    let (head, address) = bytes.split_first_chunk::<4>().ok_or_else(incorrect)?;
    let [family, bits, _is_cidr, length] = *head;
    let address = match (family, usize::from(length) == address.len()) {
        (FOUR_BYTES, true) => exactly::<4>(address)?.into(),
        (SIXTEEN_BYTES, true) => exactly::<16>(address)?.into(),
        _ => return Err(incorrect()),
    };
    let network = Network::new(address, bits).ok_or_else(incorrect)?;
    match of == EncodedType::Cidr && network.network() != network {
        true => Err(SqlError::new(b"22P03", "invalid external \"cidr\" value")),
        false => Ok(network),
    }
}

fn read_bits(bytes: &[u8]) -> Result<Bits, SqlError> {
    let (count, bytes) = bytes.split_first_chunk::<4>().ok_or_else(incorrect)?;
    let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| incorrect())?;
    if count.div_ceil(8) != bytes.len() {
        return Err(incorrect());
    }
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1 == 1));
    Ok(Bits(bits.take(count).collect()))
}
