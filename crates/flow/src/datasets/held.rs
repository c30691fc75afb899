//! The datasets that an executor has, and where those are that it does not have.
//!
//! Role         an executor's own: `D` is what it keeps of a dataset, `A` who asks for something in
//!              it. Datasets move in one message, with all that is kept of them
//! States       of a dataset: unknown, until somebody asks for it -> here, or coming from where it
//!              is at first. Here -> gone, when it is given away. Gone or coming -> here, when it
//!              is taken over
//! Invariants   I1 whoever comes for a dataset that is gone is sent on to where it went; whoever
//!              comes before it is kept until it is here
//!              I2 what was meant for another layout is not done: it was made of another schema

use crate::node::Address;

/// Where a dataset is.
pub enum Place<D, A> {
    /// nobody has asked for it yet
    Unknown,
    /// here
    Here(Box<D>),
    /// moved to another executor
    Gone(Address),
    /// who asks for something in it was planned when it had moved here, and has come before it
    Coming(Vec<A>),
}

/// One executor's datasets, by number, and how often each was asked for.
pub struct Held<D, A> {
    /// the layout's
    layout: u64,
    /// by number
    places: Vec<Place<D, A>>,
    /// by number: how often something in it was asked for
    asked: Vec<u64>,
}

impl<D, A> Default for Held<D, A> {
    fn default() -> Self {
        Self { layout: 0, places: Vec::new(), asked: Vec::new() }
    }
}

impl<D: Default, A> Held<D, A> {
    /// From now on, those of another layout, the one with this number.
    pub fn begin_anew(&mut self, layout: u64) {
        self.layout = layout;
        self.places.clear();
        self.asked.clear();
    }

    /// How often something was asked for in each dataset.
    pub fn asked(&self) -> &[u64] {
        &self.asked
    }

    /// Counts that something is asked for in a dataset that somebody has asked for before.
    pub fn note_asked(&mut self, dataset: u16) {
        self.asked[usize::from(dataset)] += 1;
    }

    /// Whether nobody is kept here until a dataset comes.
    pub fn awaits_none(&self) -> bool {
        let is_kept = |place: &_| matches!(place, Place::Coming(askers) if !askers.is_empty());
        !self.places.iter().any(is_kept)
    }

    /// All that are here.
    pub fn all(&self) -> impl Iterator<Item = &D> {
        self.places.iter().filter_map(|place| match place {
            Place::Here(dataset) => Some(&**dataset),
            _ => None,
        })
    }

    /// As [`Held::all`].
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut D> {
        self.places.iter_mut().filter_map(|place| match place {
            Place::Here(dataset) => Some(&mut **dataset),
            _ => None,
        })
    }

    /// A dataset, if it is known to be here.
    pub fn get(&self, dataset: u16) -> Option<&D> {
        match self.places.get(usize::from(dataset)) {
            Some(Place::Here(dataset)) => Some(dataset),
            _ => None,
        }
    }

    /// Where a dataset is that somebody has asked for before.
    pub fn known(&mut self, dataset: u16) -> &mut Place<D, A> {
        &mut self.places[usize::from(dataset)]
    }

    /// Where a dataset is in which something is asked for; `is_first` tells whether it is here at
    /// first.
    pub fn ask(&mut self, dataset: u16, is_first: impl FnOnce() -> bool) -> &mut Place<D, A> {
        self.make_room(dataset);
        self.note_asked(dataset);
        let place = self.known(dataset);
        if let Place::Unknown = place {
            *place = match is_first() {
                true => Place::Here(Box::default()),
                false => Place::Coming(Vec::new()),
            };
        }
        place
    }

    /// Gives a dataset away, if it is here, of a layout (I2); `is_first` as for [`Held::ask`].
    pub fn give_away(
        &mut self,
        (layout, dataset): (u64, u16),
        to: Address,
        is_first: impl FnOnce() -> bool,
    ) -> Option<Box<D>> {
        if layout != self.layout {
            return None;
        }
        self.make_room(dataset);
        let place = self.known(dataset);
        match std::mem::replace(place, Place::Gone(to)) {
            Place::Here(dataset) => Some(dataset),
            Place::Unknown if is_first() => Some(Box::default()),
            other => {
                *place = other;
                None
            }
        }
    }

    /// Has a dataset of a layout from now on (I2); those who have come before it (I1).
    pub fn take_over(&mut self, (layout, dataset): (u64, u16), content: Box<D>) -> Vec<A> {
        if layout != self.layout {
            return Vec::new();
        }
        self.make_room(dataset);
        match std::mem::replace(self.known(dataset), Place::Here(content)) {
            Place::Coming(askers) => askers,
            _ => Vec::new(),
        }
    }

    /// Makes room for what is known of datasets up to this one.
    fn make_room(&mut self, dataset: u16) {
        let count = usize::from(dataset) + 1;
        if self.places.len() < count {
            self.places.resize_with(count, || Place::Unknown);
            self.asked.resize(count, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: u64 = 3;

    fn held() -> Held<u32, char> {
        let mut held = Held::default();
        held.begin_anew(LAYOUT);
        held
    }

    /// What a dataset holds; none if it is not here.
    fn ask(held: &mut Held<u32, char>, dataset: u16, is_first: bool) -> Option<&mut u32> {
        match held.ask(dataset, || is_first) {
            Place::Here(content) => Some(content),
            _ => None,
        }
    }

    #[test]
    fn a_dataset_goes_with_its_content_and_who_comes_too_early_is_kept() {
        let (mut one, mut other) = (held(), held());
        *ask(&mut one, 5, true).expect("it is here at first") += 7;
        assert_eq!(
            (one.get(5), one.get(4), one.asked()),
            (Some(&7), None, &[0, 0, 0, 0, 0, 1][..])
        );
        let Place::Coming(askers) = other.ask(5, || false) else { panic!("it is elsewhere") };
        askers.push('a');
        assert!(!other.awaits_none() && one.awaits_none());
        let content = one.give_away((LAYOUT, 5), 9, || true).expect("it is here");
        assert!(matches!(one.ask(5, || true), Place::Gone(9)), "I1");
        assert_eq!(one.give_away((LAYOUT, 5), 9, || true), None, "only once");
        assert_eq!(other.take_over((LAYOUT, 5), content), ['a']);
        assert_eq!((other.all().collect::<Vec<_>>(), other.awaits_none()), (vec![&7], true));
        let back = other.give_away((LAYOUT, 5), 8, || false).expect("it is here");
        assert_eq!(one.take_over((LAYOUT, 5), back), []);
        assert_eq!(ask(&mut one, 5, false).copied(), Some(7));
    }

    #[test]
    fn nobody_gives_away_what_is_not_here_or_of_another_layout() {
        let mut held = held();
        assert_eq!(held.give_away((LAYOUT, 2), 9, || false), None);
        assert_eq!(held.give_away((LAYOUT - 1, 2), 9, || true), None, "I2");
        assert_eq!(held.take_over((LAYOUT - 1, 2), Box::new(4)), [], "I2");
        assert_eq!(ask(&mut held, 2, true).copied(), Some(0), "as if nothing had been said");
        assert_eq!(held.give_away((LAYOUT, 1), 9, || true), Some(Box::default()), "nobody asked");
        held.begin_anew(LAYOUT + 1);
        assert_eq!((held.all().count(), held.asked().len()), (0, 0));
    }
}
