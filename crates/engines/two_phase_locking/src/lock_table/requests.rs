//! The requests of one bucket, in order of arrival.
//!
//! Invariants   I1 the requests are one slice: inside the bucket while they are few, else in
//!                 `spilled`, which keeps its memory (no allocation once it has grown)
//!              I2 `spilled` is in use exactly while it is not empty; it is left when the last
//!                 request is removed

use super::modes::Modes;

/// A request for a lock.
///
/// | held | wanted | |
/// |---|---|---|
/// | none | m | waiting for m |
/// | m | none | m is granted |
/// | m | n | m is granted, converting to n |
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Request {
    pub lock: u64,
    pub owner: u32,
    pub held: Modes,
    pub wanted: Modes,
}

const _: () = assert!(size_of::<Request>() == 16, "four requests fill a cache line");

impl Request {
    /// What the request keeps others from: what it holds and what it waits for.
    #[inline]
    pub fn claims(&self) -> Modes {
        self.held.with(self.wanted)
    }

    #[inline]
    pub fn is_waiting(&self) -> bool {
        !self.wanted.is_empty()
    }
}

/// What fits into two cache lines with the latch.
const INLINE: usize = 5;

/// See the module.
#[derive(Default, Debug)]
pub(super) struct Requests {
    /// requests in `inside`; 0 while `spilled` is in use
    count: u32,
    spilled: Vec<Request>,
    inside: [Request; INLINE],
}

impl Requests {
    #[inline]
    pub fn as_slice(&self) -> &[Request] {
        if self.spilled.is_empty() { self.inside() } else { &self.spilled }
    }

    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Request] {
        if self.spilled.is_empty() {
            &mut self.inside[..(self.count as usize).min(INLINE)]
        } else {
            &mut self.spilled
        }
    }

    /// The `min` never changes the count; it tells the compiler that the slice cannot panic.
    #[inline]
    fn inside(&self) -> &[Request] {
        &self.inside[..(self.count as usize).min(INLINE)]
    }

    #[inline]
    pub fn push(&mut self, request: Request) {
        let count = self.count as usize;
        match self.inside.get_mut(count) {
            Some(place) if self.spilled.is_empty() => {
                *place = request;
                self.count += 1;
            }
            _ => self.spill(request),
        }
    }

    #[cold]
    fn spill(&mut self, request: Request) {
        if self.spilled.is_empty() {
            self.spilled.extend_from_slice(&self.inside[..self.count as usize]);
            self.count = 0;
        }
        self.spilled.push(request);
    }

    /// Removes a request; later ones move up.
    #[inline]
    pub fn remove(&mut self, at: usize) {
        if self.spilled.is_empty() {
            let last = (self.count as usize).min(INLINE) - 1;
            for place in at..last {
                self.inside[place] = self.inside[place + 1];
            }
            self.count = last as u32;
        } else {
            self.spilled.remove(at);
        }
    }
}
