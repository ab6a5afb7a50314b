//! Rules in the words of Yandex.Tank: `time(1s,10s)`, `http(5xx,10%,10s)`, `net(xx,1,1s)`, `quantile(99,500ms,10s)`,
//! `instances(1000,5s)`, `limit(1h)`.

use super::{Condition, Level, Rule};
use crate::expect::Mask;
use crate::syntax::{Argument, Call, SyntaxError, calls};

impl Rule {
    /// Reads rules that are separated by spaces.
    pub(crate) fn parse_all(text: &str) -> Result<Vec<Self>, SyntaxError> {
        calls(text)?.iter().map(|call| Self::parse(call, text)).collect()
    }

    fn parse(call: &Call<'_>, text: &str) -> Result<Self, SyntaxError> {
        let (condition, period) = match call.name {
            "time" => {
                let [limit, period] = call.exactly("time(MEAN,PERIOD)")?;
                (Condition::Time(limit.duration()?), period)
            }
            "quantile" => {
                let [percent, limit, period] = call.exactly("quantile(PERCENT,TIME,PERIOD)")?;
                let thousandths = percentage(percent, percent.text)?;
                (Condition::Quantile { thousandths, limit: limit.duration()? }, period)
            }
            "http" => {
                let [mask, level, period] = call.exactly("http(STATUS,NUMBER or SHARE%,PERIOD)")?;
                (Condition::Http { mask: status(mask)?, level: parse_level(level)? }, period)
            }
            "net" => {
                let [mask, level, period] = call.exactly("net(CODE,NUMBER or SHARE%,PERIOD)")?;
                (Condition::Net { mask: code(mask)?, level: parse_level(level)? }, period)
            }
            "instances" => {
                let [most, period] = call.exactly("instances(NUMBER,PERIOD)")?;
                (Condition::Instances(most.parse("a number of requests")?), period)
            }
            "limit" => {
                let [period] = call.exactly("limit(DURATION)")?;
                (Condition::Limit, period)
            }
            name => {
                let names = "time, quantile, http, net, instances or limit";
                return Err(SyntaxError::expected(call.column, names, name));
            }
        };
        Ok(Self { condition, period: whole_seconds(period)?, held: 0, text: words(call, text) })
    }
}

fn status(argument: Argument<'_>) -> Result<Mask, SyntaxError> {
    let mask: Mask = argument.parse("a status such as 404 or 5xx")?;
    let is_whole = mask.to_string().len() == 3;
    is_whole.then_some(mask).ok_or_else(|| argument.expected("a status such as 404 or 5xx"))
}

fn code(argument: Argument<'_>) -> Result<Mask, SyntaxError> {
    argument.parse("an error number such as 110, 11x or xx")
}

fn parse_level(argument: Argument<'_>) -> Result<Level, SyntaxError> {
    match argument.text.strip_suffix('%') {
        Some(percent) => Ok(Level::Share(percentage(argument, percent)?)),
        None => argument.parse("a number such as 10, or a share such as 5%").map(Level::Number),
    }
}

/// Thousandths of a per cent.
fn percentage(argument: Argument<'_>, text: &str) -> Result<u32, SyntaxError> {
    let percent = text.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
    let percent = percent.ok_or_else(|| argument.expected("a percentage from 0 to 100"))?;
    Ok((percent * 1000.0).round() as u32)
}

fn whole_seconds(argument: Argument<'_>) -> Result<u64, SyntaxError> {
    let period = argument.duration()?;
    match period.subsec_nanos() {
        0 => Ok(period.as_secs()),
        _ => Err(argument.expected("whole seconds")),
    }
}

/// The call as it was written.
fn words(call: &Call<'_>, text: &str) -> String {
    let start = &text[call.column - 1..];
    start[..start.find(')').map_or(start.len(), |end| end + 1)].to_owned()
}
