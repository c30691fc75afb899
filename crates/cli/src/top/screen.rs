//! The screen: pages on a terminal, one behind the other, until somebody has seen enough.
//!
//! Invariants   I1 of `top`: whoever leaves `show` has given the terminal back

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};
use signal_hook::consts::{SIGHUP, SIGTERM};

use super::page::{self, Extent, Figures};
use super::watch::{Look, News, Watcher};
use crate::arguments::{Sort, TopArguments};
use crate::failure::Failure;

/// Between two looks for keys, signals and news.
const TURN: Duration = Duration::from_millis(50);

/// What is shown.
pub(crate) struct Screen {
    server: String,
    sort: Sort,
    last: Option<Look>,
    figures: Option<Figures>,
    lost: Option<String>,
    is_held: bool,
}

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    Quit,
    Stay,
}

pub(crate) fn show(watcher: &Watcher, arguments: &TopArguments) -> Result<(), Failure> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    let mut screen = Screen::new(arguments.server.to_string(), arguments.sort);
    // Also has a panic give the terminal back (I1).
    let mut terminal = ratatui::try_init()?;
    let done = turn_until(&mut terminal, &mut screen, watcher, &ended);
    ratatui::restore();
    Ok(done?)
}

fn turn_until(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    watcher: &Watcher,
    ended: &AtomicBool,
) -> io::Result<()> {
    let mut is_changed = true;
    while !ended.load(Ordering::Relaxed) {
        if is_changed {
            terminal.draw(|frame| screen.draw(frame))?;
        }
        is_changed = false;
        if event::poll(TURN)? {
            is_changed = true; // a new size, too
            if let Event::Key(key) = event::read()?
                && screen.press(key) == Wish::Quit
            {
                return Ok(());
            }
        }
        for news in watcher.news.try_iter() {
            screen.take(news);
            is_changed = true;
        }
    }
    Ok(())
}

impl Screen {
    pub(crate) fn new(server: String, sort: Sort) -> Self {
        Self { server, sort, last: None, figures: None, lost: None, is_held: false }
    }

    pub(crate) fn press(&mut self, key: KeyEvent) -> Wish {
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            _ if is_interrupt => return Wish::Quit,
            KeyCode::Char('q') | KeyCode::Esc => return Wish::Quit,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char(' ') => self.is_held = !self.is_held,
            _ => {}
        }
        Wish::Stay
    }

    /// Takes what the watcher tells. What was shown last stays while a connection is lost.
    pub(crate) fn take(&mut self, news: News) {
        match news {
            News::Lost(why) => self.lost = Some(why),
            News::Looked(look) => {
                self.lost = None;
                // A server that was started anew counts from 0.
                let is_same =
                    |last: &&Look| last.status.levels.uptime_s <= look.status.levels.uptime_s;
                let between =
                    self.last.as_ref().filter(is_same).map(|last| Figures::between(last, &look));
                if !self.is_held || between.is_none() {
                    self.figures = between;
                }
                self.last = Some(*look);
            }
        }
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>) {
        let rows = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]);
        let [above, below] = rows.areas(frame.area());
        let extent = Extent { columns: above.width.into(), lines: above.height.into() };
        let lines = match (&self.figures, &self.lost) {
            (Some(figures), _) => page::lines(figures, &self.server, self.sort, extent),
            (None, Some(_)) => vec![Line::from(format!("hotrow {}", self.server))],
            (None, None) => vec![Line::from(format!("hotrow {}: looking", self.server))],
        };
        frame.render_widget(Paragraph::new(Text::from(lines)), above);
        let (text, style) = match &self.lost {
            Some(why) => (
                format!("NO CONNECTION, trying again: {why}"),
                Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            ),
            None => {
                let held = if self.is_held { "HELD  " } else { "" };
                let sort = self.sort.name();
                let keys = format!("{held}q quit  s sorted by {sort}  space hold");
                (keys, Style::new().add_modifier(Modifier::DIM))
            }
        };
        frame.render_widget(Paragraph::new(Line::styled(text, style)), below);
    }
}

#[cfg(test)]
mod tests;
