//! Places that are used again: things by number, whose numbers are given out again.
//!
//! Role         the nodes of linked structures of one thread (queues, chains), linked by number:
//!              after warm-up nothing is allocated

/// The number of no place, where links end.
pub const NONE: u32 = u32::MAX;

/// A vector of places, and those among them that are free.
#[derive(Debug)]
pub struct Pool<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Pool<T> {
    /// A pool without places.
    pub const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// A pool with memory for so many places.
    pub fn with_capacity(places: usize) -> Self {
        Self { places: Vec::with_capacity(places), free: Vec::with_capacity(places) }
    }

    /// Puts a value into some place.
    #[inline]
    pub fn put(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = value;
                at
            }
            None => {
                self.places.push(value);
                self.places.len() as u32 - 1
            }
        }
    }

    /// Gives a place back; what is in it stays until the place is used again.
    #[inline]
    pub fn give_back(&mut self, at: u32) {
        self.free.push(at);
    }

    /// What is in a place; none for [`NONE`].
    #[inline]
    pub fn get(&self, at: u32) -> Option<&T> {
        self.places.get(at as usize)
    }

    /// As [`Pool::get`], to change it.
    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.places.get_mut(at as usize)
    }

    /// How many places there are, in use or given back: their numbers are below.
    pub fn places(&self) -> u32 {
        self.places.len() as u32
    }

    /// Whether no place is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many places are in use.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: u32) -> &T {
        &self.places[at as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.places[at as usize]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn places_that_were_given_back_are_used_before_new_ones() {
        let mut pool = Pool::new();
        let [a, b] = ['a', 'b'].map(|value| pool.put(value));
        assert_eq!((pool.len(), pool[a], pool.get(b)), (2, 'a', Some(&'b')));
        pool.give_back(a);
        assert_eq!((pool.put('c'), pool[a], pool.len()), (a, 'c', 2));
        assert_eq!(pool.get(NONE), None);
        assert_eq!(pool.get_mut(NONE), None);
        [a, b].into_iter().for_each(|at| pool.give_back(at));
        assert!(pool.is_empty());
    }
}
