//! Numbers with units: sizes and spans of time.

/// Units of one kind, from the smallest, each with how many of the smallest it is.
#[derive(Debug)]
pub(super) struct Units(&'static [(&'static str, u64)]);

/// Of sizes, in bytes.
pub(super) static SIZES: Units =
    Units(&[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)]);

/// Of spans of time, in milliseconds.
pub(super) static SPANS: Units =
    Units(&[("ms", 1), ("s", 1000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)]);

impl Units {
    /// Reads a whole number with a unit, with or without a blank in between.
    pub(super) fn read(&self, text: &str) -> Option<u64> {
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(digits);
        let (_, each) = self.0.iter().find(|(name, _)| *name == unit.trim_start())?;
        number.parse::<u64>().ok()?.checked_mul(*each)
    }

    /// Writes a number with the largest unit that leaves it whole.
    pub(super) fn show(&self, number: u64) -> String {
        let fits = |(_, each): &&(&str, u64)| number >= *each && number.is_multiple_of(*each);
        let (unit, each) = self.0.iter().rev().find(fits).unwrap_or(&self.0[0]);
        format!("{}{unit}", number / each)
    }

    /// The units, for people.
    pub(super) fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}
