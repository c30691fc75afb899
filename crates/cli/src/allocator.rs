//! What the allocator keeps of what was freed, and how the system gets it back.
//!
//! Role         mimalloc returns free pages a second after they were freed, but looks for such only
//!              when some thread next takes or frees a page. Who frees much and then is silent, as
//!              sessions are, would keep it: so a thread takes and frees a page from time to time
//! Source       `_mi_arenas_collect` in mimalloc 3, called where a page is freed. Its own function
//!              for this, mi_collect, is foreign code: calling it is unsafe, and this crate is not

use std::hint::black_box;
use std::io;
use std::time::Duration;

use hotrow_base::thread::BackgroundThread;

/// Between two looks: mimalloc lets a free page be for as long.
const EVERY: Duration = Duration::from_secs(1);
/// More than mimalloc puts several of into one page. Nothing is written there: it is no memory yet.
const PAGE_BYTES: usize = 1 << 20;

/// Has what was freed go back to the system, until this is dropped.
pub(crate) fn give_back() -> io::Result<BackgroundThread> {
    BackgroundThread::start("memory", |news| {
        while news.rest(EVERY) {
            drop(black_box(Vec::<u8>::with_capacity(PAGE_BYTES)));
        }
    })
}
