//! The caches: who has which line, and what it costs another core to get it.
//!
//! Role         the directory of a machine: for each line its owner or its sharers, when it is free
//!              to travel again, and what caches still hold
//! States       of a line: in memory -> shared by some -> owned by one (changed) -> shared ...
//! Invariants   I1 a core's own cache has a line exactly while the directory counts the core as
//!                 its owner or as one of its sharers
//!              I2 lines are numbered in the order of their first use, and what is decided by a
//!                 line's place (its slot in a cache, its home) is decided by its number: addresses
//!                 differ from run to run, numbers do not
//! Source       MESI with a directory, as any textbook has it (Hennessy and Patterson, chapter 5);
//!              the times are those of [`Costs`]

#[cfg(test)]
mod tests;

use crate::costs::Costs;

/// Bytes of a line.
const LINE_BITS: u32 = 6;
/// No line, in a cache; no owner.
const NONE: u32 = u32::MAX;
const NOBODY: u16 = u16::MAX;

/// What code does to a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// reads it
    Load,
    /// a store that the core need not wait for
    Store,
    /// a read-modify-write, or a store that orders all memory: the core waits for it, and for the
    /// stores before it
    Change,
    /// asks for the line, and goes on: the core waits only for room to ask
    Prefetch,
}

/// How often what happened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LineCounts {
    /// accesses in all
    pub accesses: u64,
    /// found in the core's own cache
    pub own: u64,
    /// in the socket's
    pub shared: u64,
    /// changed by another core of the socket
    pub dirty: u64,
    /// changed by, or shared in, another socket
    pub far: u64,
    /// in memory
    pub memory: u64,
    /// picoseconds that cores waited for a line while others had it in turn
    pub queued_ps: u64,
}

/// Most lines of a loop that can be watched: a thread that serves 80 others looks at one or two of
/// each.
const WATCHED_MAX: usize = 512;
/// Places to find them in, a power of two.
const WATCH_PLACES: usize = 2 * WATCHED_MAX;

/// What a core has looked at since its last pause: lines that it found in its own cache. A loop
/// that looks at no others sees nothing new before one of them is taken away.
struct Watch {
    lines: Vec<u32>,
    /// the same by their hash: in which round which line was looked at
    places: Box<[(u32, u32)]>,
    /// the number of the pause after which it looks
    round: u32,
    /// it has looked at more than can be kept, or done anything but look
    is_over: bool,
    /// the core sleeps until one of them is taken away
    is_on: bool,
}

impl Watch {
    fn new() -> Self {
        let lines = Vec::with_capacity(WATCHED_MAX);
        let places = vec![(0, 0); WATCH_PLACES].into_boxed_slice();
        Self { lines, places, round: 1, is_over: false, is_on: false }
    }

    #[inline]
    fn look(&mut self, line: u32) {
        if self.is_over {
            return;
        }
        let (place, is_known) = self.find(line);
        if is_known {
            return;
        }
        if self.lines.len() == WATCHED_MAX {
            self.is_over = true;
            return;
        }
        self.places[place] = (self.round, line);
        self.lines.push(line);
    }

    /// The place of a line, and whether it is there. Half of all places are free.
    #[inline]
    fn find(&self, line: u32) -> (usize, bool) {
        let mut place = line.wrapping_mul(0x9E37_79B9) as usize >> 16 & (WATCH_PLACES - 1);
        loop {
            match self.places[place] {
                (round, _) if round != self.round => return (place, false),
                (_, there) if there == line => return (place, true),
                _ => place = (place + 1) & (WATCH_PLACES - 1),
            }
        }
    }

    /// Whether the core sleeps until this line is taken away, among others.
    #[inline]
    fn is_on(&self, line: u32) -> bool {
        self.is_on && self.find(line).1
    }

    /// Nothing has been looked at.
    fn begin(&mut self) {
        self.lines.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.places.fill((0, 0));
            self.round = 1;
        }
        (self.is_over, self.is_on) = (false, false);
    }
}

struct Line {
    sharers: u128,
    /// when it can travel on
    free_at: u64,
    /// who has changed it
    owner: u16,
    /// nobody has had it since the machine was started
    is_fresh: bool,
}

/// Lines that a core has asked for ahead: as many as processors have buffers for.
const AHEAD_MAX: usize = 12;

#[derive(Clone, Copy, Default)]
struct Ahead {
    /// a line, and when it arrives
    lines: [(u32, u64); AHEAD_MAX],
    /// when the last of them does
    until: u64,
}

/// The directory of all lines that code has touched, and the caches of all cores.
pub(crate) struct Lines {
    costs: Costs,
    /// of what lines cost that travel between cores: more and less show what a result owes to it
    coherence_percent: u64,
    numbers: Numbers,
    lines: Vec<Line>,
    /// by core, by slot: the line
    own: Vec<Vec<u32>>,
    /// by socket
    shared: Vec<Vec<u32>>,
    /// by core: when all its stores have arrived
    stored_at: Vec<u64>,
    /// by core: the address, in lines, of its last miss
    last: Vec<u64>,
    /// by core
    ahead: Vec<Ahead>,
    /// lines of what was loaded before it took time, of which caches hold what fits; 0: all is in
    /// memory
    loaded: u64,
    /// by core
    watches: Vec<Watch>,
    /// cores whose watch has ended since this was last asked for, and when
    roused: Vec<(usize, u64)>,
    random: u64,
    counts: LineCounts,
}

impl Lines {
    pub(crate) fn new(costs: &Costs, seed: u64) -> Self {
        let cores = costs.cores();
        let cache = |lines: u32| vec![NONE; lines as usize];
        Self {
            costs: costs.clone(),
            coherence_percent: 100,
            numbers: Numbers::default(),
            lines: Vec::new(),
            own: (0..cores).map(|_| cache(costs.own_lines)).collect(),
            shared: (0..costs.sockets).map(|_| cache(costs.shared_lines)).collect(),
            stored_at: vec![0; cores],
            last: vec![0; cores],
            ahead: vec![Ahead::default(); cores],
            loaded: 0,
            watches: (0..cores).map(|_| Watch::new()).collect(),
            roused: Vec::new(),
            random: seed | 1,
            counts: LineCounts::default(),
        }
    }

    pub(crate) fn counts(&self) -> LineCounts {
        self.counts
    }

    /// Whether a core finds a word as it needs it in its own cache, so that nobody else is asked.
    #[inline]
    pub(crate) fn is_own(&mut self, core: usize, address: usize, access: Access) -> bool {
        let line = self.number(address);
        let slot = slot(line, self.costs.own_lines);
        if self.own[core][slot] != line {
            return false;
        }
        match access {
            Access::Load | Access::Prefetch => true,
            Access::Store | Access::Change => self.lines[line as usize].owner == core as u16,
        }
    }

    /// A core's access to a word at a time; the time at which the core goes on.
    pub(crate) fn access(&mut self, core: usize, address: usize, access: Access, now: u64) -> u64 {
        self.counts.accesses += 1;
        let at = (address >> LINE_BITS) as u64;
        let line = self.number(address);
        let now = match access {
            Access::Change => now.max(self.stored_at[core]),
            Access::Load | Access::Store | Access::Prefetch => now,
        };
        let now =
            if self.ahead[core].until > now { self.arrived(core, line, access, now) } else { now };
        let has = self.own[core][slot(line, self.costs.own_lines)] == line;
        let is_owner = has && self.lines[line as usize].owner == core as u16;
        let atomic = if access == Access::Change { self.costs.atomic_ps } else { 0 };
        if matches!(access, Access::Load | Access::Prefetch) && has {
            self.watches[core].look(line);
            self.counts.own += 1;
            return now;
        }
        self.watches[core].is_over = true;
        if is_owner {
            self.counts.own += 1;
            return now + atomic;
        }
        let queued = self.lines[line as usize].free_at.saturating_sub(now);
        self.counts.queued_ps += queued;
        let travels = if has { self.upgrade(core, line) } else { self.fetch(core, line, at) };
        // Who of many gets a line first is chance: without it, they go in turns for ever.
        let travels = self.spread(travels);
        let arrives = now + queued + travels;
        match access {
            Access::Load => {
                self.share(core, line, arrives);
                arrives
            }
            Access::Prefetch => {
                self.share(core, line, arrives);
                self.ask_ahead(core, line, arrives, now)
            }
            Access::Store | Access::Change => {
                self.own_alone(core, line, arrives);
                self.lines[line as usize].free_at = arrives;
                self.stored_at[core] = self.stored_at[core].max(arrives);
                // A store waits in the core's buffer, the core goes on.
                if access == Access::Store { now } else { arrives + atomic }
            }
        }
    }

    /// When a core goes on that needs a line which it may have asked for ahead.
    fn arrived(&self, core: usize, line: u32, access: Access, now: u64) -> u64 {
        if access == Access::Prefetch {
            return now;
        }
        let asked = self.ahead[core].lines.iter().find(|(of, _)| *of == line);
        asked.map_or(now, |&(_, arrives)| arrives.max(now))
    }

    /// Notes that a core has asked for a line; when it goes on, which is at once if there is room.
    fn ask_ahead(&mut self, core: usize, line: u32, arrives: u64, now: u64) -> u64 {
        let ahead = &mut self.ahead[core];
        let first = ahead.lines.iter_mut().min_by_key(|(_, at)| *at).expect("there are some");
        let room_at = first.1;
        *first = (line, arrives);
        ahead.until = ahead.until.max(arrives);
        now.max(room_at)
    }

    /// Waits until all stores of a core have arrived; when that is.
    pub(crate) fn fence(&mut self, core: usize, now: u64) -> u64 {
        self.watches[core].is_over = true;
        now.max(self.stored_at[core]) + self.costs.atomic_ps
    }

    /// A core pauses. Whether all that it has looked at since its last pause is in its own cache,
    /// so that it may sleep until [`Lines::next_roused`] names it.
    pub(crate) fn begin_watch(&mut self, core: usize) -> bool {
        let watch = &mut self.watches[core];
        let own = &self.own[core];
        let is_there = |line: &u32| own[slot(*line, self.costs.own_lines)] == *line;
        let may_sleep = !watch.is_over && !watch.lines.is_empty();
        if may_sleep && watch.lines.iter().all(is_there) {
            watch.is_on = true;
        } else {
            watch.begin();
        }
        watch.is_on
    }

    /// A core's watch is over, whatever has ended it.
    pub(crate) fn end_watch(&mut self, core: usize) {
        self.watches[core].begin();
    }

    /// A core whose watched line was taken away, and when.
    #[inline]
    pub(crate) fn next_roused(&mut self) -> Option<(usize, u64)> {
        self.roused.pop()
    }

    /// What it takes to be the only one of several that have a line.
    fn upgrade(&mut self, core: usize, line: u32) -> u64 {
        let others = self.lines[line as usize].sharers & !(1 << core);
        if others == 0 {
            self.counts.own += 1;
            return 0;
        }
        let socket = self.socket(core);
        if others & !self.cores_of(socket) == 0 {
            self.counts.shared += 1;
            return self.coherent(self.costs.shared_ps);
        }
        self.counts.far += 1;
        self.coherent(self.costs.dirty_far_ps)
    }

    /// What it takes to get a line that the core does not have.
    fn fetch(&mut self, core: usize, line: u32, at: u64) -> u64 {
        let socket = self.socket(core);
        let Line { owner, sharers, .. } = self.lines[line as usize];
        let is_next = at == self.last[core] + 1;
        self.last[core] = at;
        let found = if owner != NOBODY {
            if self.socket(usize::from(owner)) == socket {
                self.counts.dirty += 1;
                self.coherent(self.costs.dirty_ps)
            } else {
                self.counts.far += 1;
                self.coherent(self.costs.dirty_far_ps)
            }
        } else if self.is_in(socket, line) || sharers & self.cores_of(socket) != 0 {
            self.counts.shared += 1;
            self.costs.shared_ps
        } else if sharers != 0 {
            self.counts.far += 1;
            self.coherent(self.costs.dirty_far_ps)
        } else if let Some(holder) = self.holder(line) {
            if holder == socket {
                self.counts.shared += 1;
                self.costs.shared_ps
            } else {
                self.counts.far += 1;
                self.coherent(self.costs.dirty_far_ps)
            }
        } else {
            self.counts.memory += 1;
            let home = line % u32::from(self.costs.sockets);
            if home as usize == socket { self.costs.memory_ps } else { self.costs.memory_far_ps }
        };
        if is_next { found * self.costs.stream_percent / 100 } else { found }
    }

    pub(crate) fn set_coherence(&mut self, percent: u64) {
        self.coherence_percent = percent;
    }

    /// Which other socket's cache holds a line that no core has.
    fn holder(&mut self, line: u32) -> Option<usize> {
        let sockets = usize::from(self.costs.sockets);
        if !std::mem::replace(&mut self.lines[line as usize].is_fresh, false) {
            return (0..sockets).find(|&socket| self.is_in(socket, line));
        }
        // It was there before time began. Of what was loaded, caches hold as much as fits.
        let room = u64::from(self.costs.shared_lines) * sockets as u64;
        let hash = u64::from(line).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = ((hash >> 32) * self.loaded.max(1)) >> 32;
        (self.loaded > 0 && place < room).then_some(hash as u32 as usize % sockets)
    }

    /// So many bytes were loaded before it takes time.
    pub(crate) fn set_loaded(&mut self, bytes: u64) {
        self.loaded = bytes >> LINE_BITS;
    }

    fn coherent(&self, ps: u64) -> u64 {
        ps * self.coherence_percent / 100
    }

    /// The core becomes one of those that have a line.
    fn share(&mut self, core: usize, line: u32, arrives: u64) {
        let owner = std::mem::replace(&mut self.lines[line as usize].owner, NOBODY);
        if owner != NOBODY {
            // It was changed: its owner sends it, and others wait until that has been done.
            self.lines[line as usize].free_at = arrives;
            let socket = self.socket(usize::from(owner));
            self.put_shared(socket, line);
        }
        self.lines[line as usize].sharers |= 1 << core;
        self.put_own(core, line);
        let socket = self.socket(core);
        self.put_shared(socket, line);
    }

    /// The core becomes the only one that has a line.
    fn own_alone(&mut self, core: usize, line: u32, at: u64) {
        let mut others = self.lines[line as usize].sharers & !(1 << core);
        while others != 0 {
            let other = others.trailing_zeros() as usize;
            others &= others - 1;
            let slot = slot(line, self.costs.own_lines);
            debug_assert_eq!(self.own[other][slot], line, "I1");
            self.own[other][slot] = NONE;
            let watch = &mut self.watches[other];
            if watch.is_on(line) {
                watch.is_on = false;
                self.roused.push((other, at));
            }
        }
        let of = &mut self.lines[line as usize];
        (of.sharers, of.owner) = (1 << core, core as u16);
        self.put_own(core, line);
        let socket = self.socket(core);
        for other in 0..self.shared.len() {
            let slot = slot(line, self.costs.shared_lines);
            if other != socket && self.shared[other][slot] == line {
                self.shared[other][slot] = NONE;
            }
        }
        self.put_shared(socket, line);
    }

    fn put_own(&mut self, core: usize, line: u32) {
        let place = &mut self.own[core][slot(line, self.costs.own_lines)];
        let before = std::mem::replace(place, line);
        if before == line || before == NONE {
            return;
        }
        let of = &mut self.lines[before as usize];
        of.sharers &= !(1 << core);
        if of.owner == core as u16 {
            of.owner = NOBODY;
            let socket = self.socket(core);
            self.put_shared(socket, before);
        }
    }

    fn put_shared(&mut self, socket: usize, line: u32) {
        self.shared[socket][slot(line, self.costs.shared_lines)] = line;
    }

    fn is_in(&self, socket: usize, line: u32) -> bool {
        self.shared[socket][slot(line, self.costs.shared_lines)] == line
    }

    fn socket(&self, core: usize) -> usize {
        core / usize::from(self.costs.cores_per_socket)
    }

    fn cores_of(&self, socket: usize) -> u128 {
        let each = u32::from(self.costs.cores_per_socket);
        let all = if each == u128::BITS { u128::MAX } else { (1 << each) - 1 };
        all << (socket as u32 * each)
    }

    /// From seven to nine eighths of a time.
    fn spread(&mut self, ps: u64) -> u64 {
        // xorshift64, of Marsaglia 2003
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ps * (896 + (self.random & 255)) / 1024
    }

    fn number(&mut self, address: usize) -> u32 {
        let number = self.numbers.of((address >> LINE_BITS) as u64);
        if number as usize == self.lines.len() {
            self.lines.push(Line { sharers: 0, free_at: 0, owner: NOBODY, is_fresh: true });
        }
        number
    }
}

/// Where a line lies in a cache of so many, a power of two of them.
#[inline]
fn slot(line: u32, lines: u32) -> usize {
    // Fibonacci hashing of groups; neighbours in number are lines that were first used together,
    // and lie beside each other as they do in a cache that goes by addresses.
    let hash = (line / GROUP).wrapping_mul(0x9E37_79B9);
    let groups = (lines / GROUP).max(1);
    let group = hash >> (32 - groups.trailing_zeros()).min(31);
    (group * GROUP + line % GROUP) as usize & (lines as usize - 1)
}

/// Lines that lie beside each other in caches.
const GROUP: u32 = 8;

/// Lines of a page.
const PAGE_LINES: u64 = 64;

/// Numbers of lines by address, in the order of their first use.
struct Numbers {
    /// addresses of pages, in pages, and where they are in `lines`; a power of two of them
    table: Vec<(u64, u32)>,
    /// by page, by line: its number
    lines: Vec<[u32; PAGE_LINES as usize]>,
    count: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { table: vec![(0, NONE); 1 << 12], lines: Vec::new(), count: 0 }
    }
}

impl Numbers {
    /// The number of the line with an address, in lines.
    #[inline]
    fn of(&mut self, address: u64) -> u32 {
        let page = self.page(address / PAGE_LINES);
        let number = &mut self.lines[page as usize][(address % PAGE_LINES) as usize];
        if *number == NONE {
            *number = self.count;
            self.count += 1;
        }
        *number
    }

    #[inline]
    fn page(&mut self, address: u64) -> u32 {
        match self.table[self.find(address)] {
            (_, NONE) => self.add(address),
            (_, page) => page,
        }
    }

    /// Where a page is in the table, or may be put. Half of it is free.
    #[inline]
    fn find(&self, address: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut at = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> 20 & mask;
        while self.table[at].1 != NONE && self.table[at].0 != address {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn add(&mut self, address: u64) -> u32 {
        if self.lines.len() * 2 >= self.table.len() {
            let larger = vec![(0, NONE); self.table.len() * 4];
            for (address, page) in std::mem::replace(&mut self.table, larger) {
                if page != NONE {
                    let at = self.find(address);
                    self.table[at] = (address, page);
                }
            }
        }
        let page = self.lines.len() as u32;
        self.lines.push([NONE; PAGE_LINES as usize]);
        let at = self.find(address);
        self.table[at] = (address, page);
        page
    }
}
