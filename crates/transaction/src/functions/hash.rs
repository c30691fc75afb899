//! PostgreSQL's hashes of values, which tell the partition of a row that is partitioned by HASH.
//!
//! Role         called for each row that is written to such a table, or read through a partition
//! Source       PostgreSQL 15: `hash_bytes_extended` and `hash_bytes_uint32_extended` (hashfn.c,
//!              after Bob Jenkins' lookup3), `compute_partition_hash_value` (partbounds.c)

use hotrow_base::datum::Datum;
use hotrow_base::types::DataType;

use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;

/// `HASH_PARTITION_SEED`
const SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// satisfies_hash_partition(number of the table, modulus, remainder, values of the key ...)
pub(super) fn satisfies(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    let [_, (modulus, _), (remainder, _), key @ ..] = &*code.arguments else {
        return Ok(Datum::NULL);
    };
    let [modulus, remainder] = [modulus, remainder].map(|slot| machine.slots[*slot]);
    if modulus.is_null() || remainder.is_null() {
        return Ok(Datum::FALSE);
    }
    let (modulus, remainder) = (modulus.as_int(), remainder.as_int());
    if modulus < 1 {
        let message = "modulus for hash partition must be an integer value greater than zero";
        return Err(Fault::new(b"22023", message));
    }
    let mut hash = 0_u64;
    for (slot, of) in key {
        let value = machine.slots[*slot];
        if value.is_null() {
            continue;
        }
        let of_value = match of.is_variable() || matches!(of, DataType::Uuid | DataType::Char(_)) {
            true => {
                let range = value.as_range();
                machine.went(range.len as usize)?;
                of_bytes(&machine.heap[range.range()])
            }
            false => of_fixed(value, *of),
        };
        hash = combined(hash, of_value);
    }
    Ok(Datum::bool(hash % modulus as u64 == remainder as u64))
}

/// `hash_combine64`
fn combined(hash: u64, next: u64) -> u64 {
    let added =
        next.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(hash << 54).wrapping_add(hash >> 7);
    hash ^ added
}

fn of_fixed(value: Datum, of: DataType) -> u64 {
    match of {
        DataType::BigInt
        | DataType::Time(_)
        | DataType::Timestamp(_)
        | DataType::TimestampTz(_) => {
            let value = value.as_int();
            let (low, high) = (value as u32, (value >> 32) as u32);
            // So that a number has the same hash as a smaller integer.
            of_word(low ^ if value >= 0 { high } else { !high })
        }
        DataType::Real | DataType::Double => {
            let value = value.as_float();
            match value == 0.0 {
                true => SEED, // both zeros
                false if value.is_nan() => of_bytes(&f64::NAN.to_le_bytes()),
                false => of_bytes(&value.to_le_bytes()),
            }
        }
        _ => of_word(value.as_int() as u32),
    }
}

/// `mix`
fn mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &mut u32, z: &mut u32, by: u32| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(by);
        *z = z.wrapping_add(*y);
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
}

/// `final`
fn last([a, b, c]: &mut [u32; 3]) -> u64 {
    let step = |x: &mut u32, y: &u32, by: u32| *x = (*x ^ *y).wrapping_sub(y.rotate_left(by));
    step(c, b, 14);
    step(a, c, 11);
    step(b, a, 25);
    step(c, b, 16);
    step(a, c, 4);
    step(b, a, 14);
    step(c, b, 24);
    u64::from(*b) << 32 | u64::from(*c)
}

/// The state for so many bytes.
fn begin(length: usize) -> [u32; 3] {
    let first = 0x9e37_79b9_u32.wrapping_add(length as u32).wrapping_add(3_923_095);
    let mut state =
        [first.wrapping_add((SEED >> 32) as u32), first.wrapping_add(SEED as u32), first];
    mix(&mut state);
    state
}

/// `hash_bytes_uint32_extended`
fn of_word(word: u32) -> u64 {
    let mut state = begin(size_of::<u32>());
    state[0] = state[0].wrapping_add(word);
    last(&mut state)
}

/// `hash_bytes_extended`
fn of_bytes(bytes: &[u8]) -> u64 {
    let mut state = begin(bytes.len());
    let mut chunks = bytes.chunks_exact(12);
    for chunk in &mut chunks {
        for (word, of) in state.iter_mut().zip(chunk.chunks_exact(4)) {
            *word = word.wrapping_add(u32::from_le_bytes(of.try_into().unwrap_or_default()));
        }
        mix(&mut state);
    }
    for (at, byte) in chunks.remainder().iter().enumerate() {
        // The lowest byte of the last word is the length's.
        let place = if at < 8 { at } else { at + 1 };
        let of = u32::from(*byte) << (place % 4 * 8);
        state[place / 4] = state[place / 4].wrapping_add(of);
    }
    last(&mut state)
}
