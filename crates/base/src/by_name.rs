//! Maps that are asked by name with every message.

use std::collections::HashMap;

/// Values of one session by their names. The hash is a quick one, seeded anew for each map: whoever
/// found names that collide would slow down nobody but himself, so a map that several clients put
/// names into is none of these.
pub type ByName<V> = HashMap<String, V, Seeds>;

/// As [`ByName`], by bytes.
pub type ByBytes<V> = HashMap<Box<[u8]>, V, Seeds>;

#[cfg(not(hotrow_machine))]
type Seeds = foldhash::fast::RandomState;
/// A run on the virtual machine is repeated to the block.
#[cfg(hotrow_machine)]
type Seeds = foldhash::fast::FixedState;
