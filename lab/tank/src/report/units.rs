//! Numbers as a person reads them.

use std::time::Duration;

/// A time with three digits: `84.2 us`, `1.25 ms`, `3.00 s`.
pub(super) fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    let (number, unit) = match micros {
        ..999.5 => (micros, "us"),
        ..999_500.0 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    let decimals = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
    format!("{number:.decimals$} {unit}")
}

/// A number of bytes: `512 B`, `1.3 MB`.
pub(super) fn size(bytes: f64) -> String {
    let mut number = bytes;
    let mut units = ["B", "kB", "MB", "GB", "TB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if number < 1000.0 {
            break;
        }
        (number, unit) = (number / 1000.0, larger);
    }
    let decimals = usize::from(unit != "B");
    format!("{number:.decimals$} {unit}")
}

/// A share of a number, in per cent.
pub(super) fn share(part: u64, of: u64) -> String {
    format!("{:.2} %", if of == 0 { 0.0 } else { part as f64 * 100.0 / of as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        for (nanos, expected) in [
            (0, "0.00 us"),
            (84_210, "84.2 us"),
            (999_600, "1.00 ms"),
            (12_345_678, "12.3 ms"),
            (123_456_789, "123 ms"),
            (3_000_000_000, "3.00 s"),
        ] {
            assert_eq!(time(Duration::from_nanos(nanos)), expected);
        }
    }

    #[test]
    fn sizes_and_shares_are_short() {
        assert_eq!([512.0, 1300.0, 2.5e9].map(size), ["512 B", "1.3 kB", "2.5 GB"]);
        assert_eq!([share(1, 3), share(0, 0)], ["33.33 %", "0.00 %"]);
    }
}
