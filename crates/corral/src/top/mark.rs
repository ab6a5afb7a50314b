//! The mark in a list, and the keys that move it.

use ratatui::crossterm::event::KeyCode;

/// The lines that one key skips.
const SCREENFUL: isize = 10;

/// The place to which a key moves the mark in a list of so many rows, if it moves it.
pub(super) fn moved(at: usize, n_rows: usize, key: KeyCode) -> Option<usize> {
    let step = match key {
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::PageUp => -SCREENFUL,
        KeyCode::PageDown => SCREENFUL,
        KeyCode::Home => isize::MIN,
        KeyCode::End => isize::MAX,
        _ => return None,
    };
    Some(at.saturating_add_signed(step).min(n_rows.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stays_within_the_list() {
        for (at, n_rows, key, expected) in [
            (0, 3, KeyCode::Down, Some(1)),
            (2, 3, KeyCode::Char('j'), Some(2)),
            (0, 3, KeyCode::Up, Some(0)),
            (2, 3, KeyCode::Char('k'), Some(1)),
            (5, 30, KeyCode::PageDown, Some(15)),
            (5, 30, KeyCode::PageUp, Some(0)),
            (5, 30, KeyCode::End, Some(29)),
            (5, 30, KeyCode::Home, Some(0)),
            (5, 0, KeyCode::Down, None),
            (5, 30, KeyCode::Enter, None),
        ] {
            assert_eq!(moved(at, n_rows, key), expected, "{at} of {n_rows}, {key:?}");
        }
    }
}
