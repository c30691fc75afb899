//! Things that are kept while what they stand for is elsewhere, by number.
//!
//! Role         a home's clients' calls, while others work on what they asked for; the number goes
//!              along, and comes back with the end
//! Bounds       as many as are away at a time; numbers are given out again

/// A table of things by number, from which one may be taken out and put back.
#[derive(Debug)]
pub struct Away<T> {
    kept: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Away<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), free: Vec::new() }
    }
}

impl<T> Away<T> {
    /// Keeps something until it is called back; its number.
    pub fn keep(&mut self, thing: T) -> usize {
        match self.free.pop() {
            Some(number) => {
                self.kept[number] = Some(thing);
                number
            }
            None => {
                self.kept.push(Some(thing));
                self.kept.len() - 1
            }
        }
    }

    /// Gives back what has this number.
    ///
    /// # Panics
    ///
    /// If it was given back before.
    pub fn call_back(&mut self, number: usize) -> T {
        let thing = self.kept[number].take().expect("it was sent off from here");
        self.free.push(number);
        thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_out_again() {
        let mut away = Away::default();
        let numbers = ['a', 'b', 'c'].map(|thing| away.keep(thing));
        assert_eq!(away.call_back(numbers[1]), 'b');
        assert_eq!(away.keep('d'), numbers[1]);
        assert_eq!(numbers.map(|number| away.call_back(number)), ['a', 'd', 'c']);
    }
}
