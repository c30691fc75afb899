//! Progress on stderr: a bar on a terminal, nothing elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whether and how progress is shown. Always on stderr, and only when that is a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Progress {
    /// nothing
    #[default]
    Off,
    /// a bar
    Bar,
}

impl Progress {
    /// A bar of `length` steps.
    pub(crate) fn bar(self, what: String, length: u64) -> ProgressBar {
        let target = match self {
            Self::Off => ProgressDrawTarget::hidden(),
            Self::Bar => ProgressDrawTarget::stderr_with_hz(10),
        };
        let style = ProgressStyle::with_template("{msg} {bar:24} {percent:>3}%")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(Some(length), target).with_style(style).with_message(what)
    }

    /// Sleeps, showing how much of the time has passed.
    pub(crate) fn sleep(self, what: String, time: Duration) {
        const STEP: Duration = Duration::from_millis(200);
        let bar = self.bar(what, time.as_millis() as u64);
        let end = hotrow_base::clock::Ticks::from_now(time);
        loop {
            let rest = end.remaining();
            bar.set_position(time.saturating_sub(rest).as_millis() as u64);
            if rest.is_zero() {
                break;
            }
            hotrow_base::thread::sleep(if bar.is_hidden() { rest } else { rest.min(STEP) });
        }
        bar.finish_and_clear();
    }
}
