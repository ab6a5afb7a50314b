//! Figures in few characters.

/// A number of things a second.
pub(super) fn rate(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        ..99.95 => format!("{rate:.1}"),
        ..9_999.5 => format!("{rate:.0}"),
        ..999_950.0 => format!("{:.1}k", rate / 1e3),
        _ => format!("{:.1}M", rate / 1e6),
    }
}

/// A part of a whole, from 0 to 1.
pub(super) fn share(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        percent @ ..9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A time in milliseconds.
pub(super) fn millis(millis: f64) -> String {
    match millis {
        ..9.95 => format!("{millis:.1} ms"),
        ..999.5 => format!("{millis:.0} ms"),
        ..99_950.0 => format!("{:.1} s", millis / 1e3),
        _ => format!("{:.0} s", millis / 1e3),
    }
}

/// A number of seconds, of which the larger part is enough.
pub(super) fn age(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6_000 => format!("{} min", seconds / 60),
        6_000..360_000 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A number of bytes.
pub(super) fn memory(bytes: u64) -> String {
    const MEBIBYTE: f64 = 1_048_576.0;
    match bytes as f64 / MEBIBYTE {
        mebibytes @ ..1023.95 => format!("{mebibytes:.1} MiB"),
        mebibytes => format!("{:.1} GiB", mebibytes / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: Copy>(words: fn(T) -> String, cases: &[(T, &str)]) {
        for (value, expected) in cases {
            assert_eq!(words(*value), *expected);
        }
    }

    #[test]
    fn figures_have_few_characters() {
        let rates = [
            (0.0, "0"),
            (0.04, "0.0"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1234.5, "1234"),
            (12_345.0, "12.3k"),
            (2.5e6, "2.5M"),
        ];
        check(rate, &rates);
        check(share, &[(0.0, "0 %"), (0.001, "0.1 %"), (0.125, "12 %"), (1.0, "100 %")]);
        check(
            millis,
            &[(0.0, "0.0 ms"), (9.96, "10 ms"), (250.0, "250 ms"), (1_500.0, "1.5 s"), (3e5, "300 s")],
        );
        check(age, &[(0, "0 s"), (99, "99 s"), (100, "1 min"), (7_200, "2 h"), (864_000, "10 d")]);
        check(memory, &[(0, "0.0 MiB"), (67_108_864, "64.0 MiB"), (3 << 30, "3.0 GiB")]);
    }
}
