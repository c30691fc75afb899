//! Functions of a call's seed.

use hotrow_base::datum::Datum;

use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::random::{Randomness, Spot};

/// Draws a value: arguments are the seed, the place, the turn, and the call's time.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    what: Randomness,
) -> Result<Datum, Fault> {
    let [(seed, _), (place, _), (turn, _), (now, _)] = code.arguments[..] else {
        return Ok(Datum::NULL);
    };
    let [seed, place, turn, now] = [seed, place, turn, now].map(|slot| machine.slots[slot]);
    if [seed, place, turn, now].iter().any(|argument| argument.is_null()) {
        return Ok(Datum::NULL);
    }
    let number = |datum: Datum| datum.as_int().unsigned_abs();
    let seed = machine.bytes(seed);
    let spot = Spot { seed, place: number(place), turn: number(turn), row: 0 };
    let uuid = match what {
        Randomness::Double => return Ok(Datum::float(spot.double())),
        Randomness::Uuid => spot.uuid(),
        Randomness::OrderedUuid => spot.ordered_uuid(now.as_int()),
    };
    machine.reserve(uuid.len())?;
    Ok(machine.keep(&uuid))
}
