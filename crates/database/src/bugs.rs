//! What whoever runs the database hears of panics, which are bugs: see [`hotrow_base::panics`].

use std::backtrace::Backtrace;

use hotrow_base::panics::{Report, install};

/// Has panics in statements be errors of those statements, and others of Hotrow's own sections end
/// the process; for the whole process, at the first database that it opens. Panics of the
/// process's other threads go where they went before.
pub(crate) fn expect() {
    install(tell);
}

fn tell(report: Report<'_>) {
    let (message, place) = (report.panicked.message.as_str(), report.panicked.place.as_str());
    let backtrace = Backtrace::force_capture();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or_default();
    if report.is_fatal {
        let ends = "a panic beside shared state: the process ends, and nothing more is answered";
        tracing::error!(message, place, thread, %backtrace, "{ends}");
    } else {
        tracing::error!(message, place, thread, %backtrace, "a statement panicked, and is undone");
    }
}
