//! Enum types: names for a few values, in an order.
//!
//! Role         what `CREATE TYPE name AS ENUM (...)` makes. A value is kept as its label's place,
//!              so rows and keys take two bytes and compare by the declared order
//! Invariants   I1 two types with the same name and the same labels in the same order are the same
//!              type, wherever they were made
//! Bounds       a type's description is kept until the process ends, also when the type is dropped:
//!              values of it may still be on their way. One that is made again takes no more
//! Concurrency  descriptions never change -> read without a latch; the list of all is latched, and
//!              read where types are named only

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use crate::sync::Latch;

/// Labels that a type has at most.
pub const LABELS_MAX: usize = 1 << 15;
/// Bytes of a label at most, as in PostgreSQL.
pub const LABEL_BYTES_MAX: usize = 63;

/// A type whose values have names.
#[derive(Clone, Copy)]
pub struct EnumType(&'static Description);

struct Description {
    /// unlike any other's
    number: u32,
    name: &'static str,
    labels: &'static [Box<str>],
    places: HashMap<&'static str, u16>,
}

/// By name and labels.
type All = HashMap<(&'static str, &'static [Box<str>]), EnumType>;
static ALL: LazyLock<Latch<All>> = LazyLock::new(Latch::default);

impl EnumType {
    /// The type with this name and these labels, of which no two are alike and there are at most
    /// [`LABELS_MAX`].
    pub fn of(name: &str, labels: &[Box<str>]) -> Self {
        let mut all = ALL.lock();
        if let Some(known) = all.get(&(name, labels)) {
            return *known; // I1
        }
        let name: &'static str = Box::leak(name.into());
        let labels: &'static [Box<str>] = Box::leak(labels.into());
        let places = labels.iter().map(|label| &**label).zip(0..).collect();
        let number = all.len() as u32;
        let made = Self(Box::leak(Box::new(Description { number, name, labels, places })));
        all.insert((name, labels), made);
        made
    }

    /// The type with these labels and another name.
    pub fn renamed(self, name: &str) -> Self {
        Self::of(name, self.0.labels)
    }

    /// Whether a value is one of another type, too: that one itself, or the form of it before or
    /// after it was given more labels, behind those that it had.
    pub fn shares(self, place: u16, other: Self) -> bool {
        let has_it_too =
            || self.0.labels.get(usize::from(place)) == other.0.labels.get(usize::from(place));
        self == other || self.name() == other.name() && has_it_too()
    }

    /// The type with a number.
    pub fn with_number(number: u32) -> Option<Self> {
        ALL.lock().values().find(|known| known.number() == number).copied()
    }

    /// A number that no other type of this process has.
    pub fn number(self) -> u32 {
        self.0.number
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The names of its values, in their order.
    pub fn labels(self) -> &'static [Box<str>] {
        self.0.labels
    }

    /// The name of a value; that of none is empty.
    pub fn label(self, place: u16) -> &'static str {
        self.0.labels.get(usize::from(place)).map_or("", |label| label)
    }

    /// The value with a name.
    pub fn place(self, label: &str) -> Option<u16> {
        self.0.places.get(label).copied()
    }
}

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

impl fmt::Debug for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnumType({}: {})", self.0.name, self.0.labels.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Vec<Box<str>> {
        labels.iter().map(|&label| label.into()).collect()
    }

    #[test]
    fn a_type_is_known_by_its_name_and_labels() {
        let side = EnumType::of("side", &labels(&["buy", "sell"]));
        assert_eq!(side, EnumType::of("side", &labels(&["buy", "sell"])));
        assert_ne!(side, EnumType::of("side", &labels(&["sell", "buy"])));
        assert_ne!(side, EnumType::of("other_side", &labels(&["buy", "sell"])));
    }

    #[test]
    fn labels_have_places_and_places_labels() {
        let side = EnumType::of("side", &labels(&["buy", "sell"]));
        assert_eq!(
            (side.place("buy"), side.place("sell"), side.place("Buy")),
            (Some(0), Some(1), None)
        );
        assert_eq!((side.label(1), side.label(2)), ("sell", ""));
        assert_eq!((side.name(), side.labels().len()), ("side", 2));
    }
}
