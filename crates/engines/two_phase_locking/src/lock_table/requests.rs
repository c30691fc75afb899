//! The requests of one bucket, in order of arrival.
//!
//! Invariants   I1 the requests are one slice: inside the bucket while they are few, else in
//!                 `spilled`, which keeps its memory (no allocation once it has grown)
//!              I2 `spilled` is in use exactly while `count` says so; it is left when the last
//!                 request is removed

use hotrow_flow::deadlock::graph::OwnerVersion;

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
    pub by: OwnerVersion,
    pub held: Modes,
    pub wanted: Modes,
}

const _: () = assert!(size_of::<Request>() == 16, "four requests fill a cache line");

impl Request {
    #[inline]
    pub fn owner(&self) -> u32 {
        self.by.owner()
    }

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

/// What fits into two cache lines with the latch and the tag.
const INLINE: usize = 4;

/// What `count` is while `spilled` is in use.
const SPILLED: u32 = u32::MAX;

/// Up to four requests in place, more on the heap.
#[derive(Default, Debug)]
pub(super) struct Requests {
    /// requests in `inside`, or [`SPILLED`]
    count: u32,
    spilled: Vec<Request>,
    inside: [Request; INLINE],
}

impl Requests {
    #[inline]
    pub fn as_slice(&self) -> &[Request] {
        match self.count {
            SPILLED => &self.spilled,
            count => &self.inside[..in_bounds(count)],
        }
    }

    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Request] {
        match self.count {
            SPILLED => &mut self.spilled,
            count => &mut self.inside[..in_bounds(count)],
        }
    }

    /// Adds the only request; false, and nothing is done, if there are others.
    #[inline]
    pub fn push_only(&mut self, request: Request) -> bool {
        let is_free = self.count == 0;
        if is_free {
            self.inside[0] = request;
            self.count = 1;
        }
        is_free
    }

    /// Removes the only request; false, and nothing is done, if there are more.
    #[inline]
    pub fn remove_only(&mut self) -> bool {
        let is_only = self.count == 1;
        if is_only {
            self.count = 0;
        }
        is_only
    }

    #[inline]
    pub fn push(&mut self, request: Request) {
        // No place has the number `SPILLED`.
        match self.inside.get_mut(self.count as usize) {
            Some(place) => {
                *place = request;
                self.count += 1;
            }
            None => self.spill(request),
        }
    }

    #[cold]
    fn spill(&mut self, request: Request) {
        if self.count != SPILLED {
            self.spilled.extend_from_slice(&self.inside);
            self.count = SPILLED;
        }
        self.spilled.push(request);
    }

    /// Removes a request; later ones move up.
    #[inline]
    pub fn remove(&mut self, at: usize) {
        if self.count != SPILLED {
            let last = in_bounds(self.count) - 1;
            for place in at..last {
                self.inside[place] = self.inside[place + 1];
            }
            self.count = last as u32;
            return;
        }
        self.spilled.remove(at);
        if self.spilled.is_empty() {
            self.count = 0;
        }
    }
}

/// Never changes a count of requests inside; tells the compiler that a slice cannot panic.
#[inline]
fn in_bounds(count: u32) -> usize {
    (count as usize).min(INLINE)
}
