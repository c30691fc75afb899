//! Which of many is the earliest: times of a fixed number of places.
//!
//! Source       a tournament tree (Knuth, volume 3, 5.4.1): one comparison for each level when a
//!              time changes, and the winner is at the top

/// Times by place; `u64::MAX` for places that wait for nothing.
pub(crate) struct Order {
    /// leaves from `leaves` on; above each pair its earlier one. A time and its place.
    tree: Vec<(u64, u32)>,
    leaves: usize,
}

/// Not at all.
pub(crate) const NEVER: u64 = u64::MAX;

impl Order {
    pub(crate) fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two().max(2);
        let mut tree = vec![(NEVER, 0); 2 * leaves];
        for (place, leaf) in tree[leaves..].iter_mut().enumerate() {
            leaf.1 = place as u32;
        }
        for at in (1..leaves).rev() {
            tree[at] = tree[2 * at];
        }
        Self { tree, leaves }
    }

    /// The earliest place, of several at one time the one with the lowest number.
    #[inline]
    pub(crate) fn first(&self) -> (u64, usize) {
        (self.tree[1].0, self.tree[1].1 as usize)
    }

    /// The earliest time of all the other places.
    #[inline]
    pub(crate) fn first_beside(&self, place: usize) -> u64 {
        let (mut at, mut first) = (self.leaves + place, NEVER);
        while at > 1 {
            first = first.min(self.tree[at ^ 1].0);
            at /= 2;
        }
        first
    }

    #[inline]
    pub(crate) fn set(&mut self, place: usize, time: u64) {
        let mut at = self.leaves + place;
        self.tree[at].0 = time;
        while at > 1 {
            at /= 2;
            self.tree[at] = self.tree[2 * at].min(self.tree[2 * at + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NEVER, Order};

    #[test]
    fn the_earliest_is_first() {
        let mut order = Order::new(5);
        assert_eq!(order.first().0, NEVER);
        for (place, time) in [(3, 70), (0, 90), (4, 10), (1, 70)] {
            order.set(place, time);
        }
        assert_eq!(order.first(), (10, 4));
        assert_eq!(order.first_beside(4), 70);
        order.set(4, 80);
        assert_eq!(order.first(), (70, 1), "the lower of two places");
        order.set(1, NEVER);
        order.set(3, NEVER);
        assert_eq!((order.first(), order.first_beside(0)), ((80, 4), 80));
    }
}
