//! Places that are used again: a vector whose free places are linked through a list of numbers.
//!
//! Role         memory of a lock thread: after warm-up nothing is allocated

/// The number of no place.
pub const NONE: u32 = u32::MAX;

/// See the module.
#[derive(Debug)]
pub struct Pool<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
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
