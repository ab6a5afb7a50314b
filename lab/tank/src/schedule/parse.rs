//! Schedules in the words of Yandex.Tank: `const(50,1m)`, `line(1,1000,5m)`, `step(100,1000,100,30s)`.

use super::{MilliRate, Part, Schedule};
use crate::syntax::{Argument, Call, SyntaxError, calls};

/// The highest rate, in requests per second.
const MOST: u64 = 10_000_000;

const MOST_STEPS: u64 = 100_000;

/// The longest schedule: sums of [`Part::halves`] stay far below the end of their type.
const LONGEST_MS: u64 = 30 * 86_400_000;

impl Schedule {
    /// Reads parts that are separated by spaces.
    pub(crate) fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut schedule = Self { parts: Vec::new(), text: text.trim().to_owned() };
        for call in calls(text)? {
            schedule.add(&call)?;
        }
        match schedule.count() {
            0 => Err(SyntaxError { column: 1, message: "the schedule has no request".to_owned() }),
            _ => Ok(schedule),
        }
    }

    fn add(&mut self, call: &Call<'_>) -> Result<(), SyntaxError> {
        match call.name {
            "const" => {
                let [at, duration] = call.exactly("const(RATE,DURATION)")?;
                let at = rate(at)?;
                self.push(call, at, at, milliseconds(duration)?)
            }
            "line" => {
                let [from, to, duration] = call.exactly("line(FROM,TO,DURATION)")?;
                self.push(call, rate(from)?, rate(to)?, milliseconds(duration)?)
            }
            "step" => self.add_steps(call),
            name => Err(SyntaxError::expected(call.column, "const, line or step", name)),
        }
    }

    fn add_steps(&mut self, call: &Call<'_>) -> Result<(), SyntaxError> {
        let [from, to, by, duration] = call.exactly("step(FROM,TO,BY,DURATION)")?;
        let (first, last, duration) = (rate(from)?, rate(to)?, milliseconds(duration)?);
        let size = Some(rate(by)?).filter(|size| *size > 0).ok_or_else(|| by.expected("a rate above 0"))?;
        let n_steps = last.abs_diff(first) / size;
        if n_steps >= MOST_STEPS {
            return Err(by.expected("larger steps (at most 100000)"));
        }
        for step in 0..=n_steps {
            let at = if last >= first { first + step * size } else { first - step * size };
            self.push(call, at, at, duration)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        call: &Call<'_>,
        from: MilliRate,
        to: MilliRate,
        duration_ms: u64,
    ) -> Result<(), SyntaxError> {
        let last = self.parts.last();
        let start_ms = last.map_or(0, |part| part.start_ms + part.duration_ms);
        let before = last.map_or(0, |part| part.before + part.halves(part.duration_ms));
        if start_ms + duration_ms > LONGEST_MS {
            return Err(SyntaxError { column: call.column, message: "longer than 30 days".to_owned() });
        }
        self.parts.push(Part { from, to, duration_ms, start_ms, before });
        Ok(())
    }
}

fn milliseconds(argument: Argument<'_>) -> Result<u64, SyntaxError> {
    let duration = argument.duration()?;
    Ok(u64::try_from(duration.as_millis()).expect("durations are at most 30 days"))
}

/// Requests per second with at most three decimals.
fn rate(argument: Argument<'_>) -> Result<MilliRate, SyntaxError> {
    let error = || argument.expected("requests per second such as 50 or 0.25");
    let (whole, decimals) = argument.text.split_once('.').unwrap_or((argument.text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
        return Err(error());
    }
    let whole: u64 = whole.parse().map_err(|_| error())?;
    let decimals: u64 = format!("{decimals:0<3}").parse().map_err(|_| error())?;
    let rate = whole.checked_mul(1000).and_then(|rate| rate.checked_add(decimals));
    rate.filter(|rate| *rate <= MOST * 1000)
        .ok_or_else(|| argument.expected("at most 10000000 requests per second"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = Schedule::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        refused("", "column 1: the schedule has no request");
        refused("const(0,5s)", "column 1: the schedule has no request");
        refused("ramp(1,5s)", "column 1: expected const, line or step, found \"ramp\"");
        refused("const(5)", "column 1: expected const(RATE,DURATION), found 1 arguments");
        refused(
            "const(1,1s) line(1,x,5s)",
            "column 20: expected requests per second such as 50 or 0.25, found \"x\"",
        );
        refused(
            "const(1.2345,5s)",
            "column 7: expected requests per second such as 50 or 0.25, found \"1.2345\"",
        );
        refused(
            "const(99999999,5s)",
            "column 7: expected at most 10000000 requests per second, found \"99999999\"",
        );
        refused("const(1,5x)", "column 9: expected a duration such as 30s, 5m, 1h30m or 500ms, found \"5x\"");
        refused("step(1,5,0,5s)", "column 10: expected a rate above 0, found \"0\"");
        refused(
            "step(0,1000,0.001,1s)",
            "column 13: expected larger steps (at most 100000), found \"0.001\"",
        );
        refused("const(1,30d) const(1,1s)", "column 14: longer than 30 days");
    }

    #[test]
    fn spaces_are_allowed() {
        let tight = Schedule::parse("const(5,1m)").expect("it is right");
        assert_eq!(Schedule::parse(" const( 5 , 1m ) ").expect("it is right").parts, tight.parts);
    }
}
