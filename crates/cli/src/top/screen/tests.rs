use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::top::page::tests::looks;

fn drawn(screen: &Screen, columns: u16, lines: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("it is memory");
    terminal.draw(|frame| screen.draw(frame)).expect("it is memory");
    let cells = terminal.backend().buffer().content();
    let line = |line: &[ratatui::buffer::Cell]| {
        line.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    };
    cells.chunks(columns.into()).map(line).collect()
}

fn screen() -> Screen {
    Screen::new("db:5433".to_owned(), Sort::Time)
}

fn looked(look: Look) -> News {
    News::Looked(Box::new(look))
}

#[test]
fn two_looks_are_drawn_at_any_size() {
    let mut screen = screen();
    let (before, after) = looks();
    screen.take(looked(before));
    assert_eq!(drawn(&screen, 60, 4)[0], "hotrow db:5433: looking");
    screen.take(looked(after));
    let lines = drawn(&screen, 130, 20);
    assert!(lines[0].starts_with("hotrow db:5433  fast gear=5"), "{lines:#?}");
    assert!(lines[7].starts_with("buy  ") && lines[7].contains("12,000"), "{lines:#?}");
    assert_eq!(lines[19], "q quit  s sorted by time  space hold");
    for (columns, lines) in [(1, 1), (10, 3), (80, 12), (300, 100)] {
        assert_eq!(drawn(&screen, columns, lines).len(), usize::from(lines));
    }
}

#[test]
fn a_lost_connection_is_told_below_the_last_figures() {
    let mut screen = screen();
    let (before, after) = looks();
    let lost = || News::Lost("Connection refused".to_owned());
    screen.take(lost());
    assert_eq!(drawn(&screen, 60, 3)[2], "NO CONNECTION, trying again: Connection refused");
    screen.take(looked(before.clone()));
    screen.take(looked(after));
    screen.take(lost());
    let lines = drawn(&screen, 60, 12);
    assert!(lines[1].starts_with("calls/s 12,050") && lines[11].starts_with("NO CONNECTION"));
    // It was started anew: what it counted before is gone.
    screen.take(looked(before));
    let lines = drawn(&screen, 60, 12);
    assert_eq!(lines[0], "hotrow db:5433: looking");
    assert_eq!(lines[11], "q quit  s sorted by time  space hold");
}

#[test]
fn keys_do_what_the_last_line_says() {
    let mut screen = screen();
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    assert_eq!(screen.press(plain(KeyCode::Char('s'))), Wish::Stay);
    assert_eq!(screen.press(plain(KeyCode::Char('c'))), Wish::Stay);
    assert_eq!(screen.press(plain(KeyCode::Char(' '))), Wish::Stay);
    assert_eq!(drawn(&screen, 60, 3)[2], "HELD  q quit  s sorted by calls  space hold");
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    for key in [plain(KeyCode::Char('q')), plain(KeyCode::Esc), interrupt] {
        assert_eq!(screen.press(key), Wish::Quit);
    }
}

#[test]
fn a_held_picture_stays() {
    let mut screen = screen();
    let (before, after) = looks();
    screen.take(looked(before));
    screen.take(looked(after.clone()));
    screen.press(KeyEvent::new(KeyCode::Char(' '), KeyModifiers::NONE));
    let held = drawn(&screen, 130, 20);
    screen.take(looked(after));
    assert_eq!(drawn(&screen, 130, 20), held);
}
