//! Classes: a small table from hot locks to how hot they are.

/// How hot a lock is; cold locks are of class 0.
pub type Class = u8;

/// The hottest there is.
pub const CLASS_MAX: Class = 7;

/// Locks that may be hot at a time. A thread waits for one lock at a time, so where more than that
/// are waited for often, none of them alone holds up much.
pub const HOT_MAX: usize = 128;

/// Cells per hot lock: most looks end at an empty cell.
const CELLS_PER_LOCK: usize = 8;

const EMPTY: u32 = 0;
const CLASS_BITS: u32 = CLASS_MAX as u32;

/// The classes in force. Locks are known by 29 bits of their identities, so that the table is a few
/// cache lines; a cold lock with the bits of a hot one is of its class, for everybody.
#[derive(Default, Debug)]
pub struct Classes {
    /// open addressing; power of two, or none when everything is cold
    cells: Box<[u32]>,
    /// not 0: classes are drawn by this
    seed: u64,
}

impl Classes {
    /// The classes of these locks; of two locks with the same bits one counts.
    pub fn new(hot: &[(u64, Class)]) -> Self {
        if hot.is_empty() {
            return Self::default();
        }
        let cells = (hot.len() * CELLS_PER_LOCK).next_power_of_two();
        let mut classes = Self { cells: vec![EMPTY; cells].into(), seed: 0 };
        for &(lock, class) in hot {
            debug_assert!((1..=CLASS_MAX).contains(&class), "cold locks have no place here");
            let cell = classes.cell(lock);
            classes.cells[cell] = bits(lock) | u32::from(class);
        }
        classes
    }

    /// Classes that have nothing to do with heat: half of all locks are cold, the others of any
    /// class.
    pub fn drawn(seed: u64) -> Self {
        assert_ne!(seed, 0, "0 stands for classes by heat");
        Self { cells: Box::default(), seed }
    }

    /// Whether everything is cold.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.seed == 0
    }

    /// The class of a lock.
    #[inline]
    pub fn class(&self, lock: u64) -> Class {
        match self.cells.get(self.cell(lock)) {
            Some(cell) => (cell & CLASS_BITS) as Class,
            None if self.seed != 0 => draw(lock, self.seed),
            None => 0,
        }
    }

    /// The lock's cell, or the empty one where it would be.
    #[inline]
    fn cell(&self, lock: u64) -> usize {
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = (lock >> 8) as usize & mask;
        while let Some(&cell) = self.cells.get(at)
            && cell != EMPTY
            && cell & !CLASS_BITS != bits(lock)
        {
            at = (at + 1) & mask;
        }
        at
    }
}

fn draw(lock: u64, seed: u64) -> Class {
    let drawn =
        (lock ^ seed.wrapping_mul(0xa076_1d64_78bd_642f)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let class = (drawn >> 61) as Class;
    if drawn >> 60 & 1 == 0 { 0 } else { class }
}

#[inline]
fn bits(lock: u64) -> u32 {
    (lock >> 32) as u32 & !CLASS_BITS
}
