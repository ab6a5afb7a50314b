//! `corral config history` and `corral config undo`: the configurations that were in force, and going back to one.

use anyhow::{Context, anyhow, bail};
use corral_ipc::log::clean;
use serde_json::Value;

use crate::client::{ApiCall, Daemon};
use crate::output;

/// Places of a change that are printed.
const MOST_PLACES: usize = 3;

/// Prints all of them in lines, newest first, with a star before the one in force.
pub(super) fn list(daemon: &Daemon) -> anyhow::Result<()> {
    let all = read(daemon)?;
    let width = all.iter().map(|entry| text(entry, "author").chars().count()).max().unwrap_or(0);
    output::write(all.iter().map(|entry| line(entry, width)).collect::<String>())?;
    Ok(())
}

/// One of them with its configuration.
pub(super) fn show(daemon: &Daemon, id: u32) -> anyhow::Result<Vec<u8>> {
    daemon.get(&format!("/config/history/{id}"))?.into_body().map_err(|error| of_number(&error, id))
}

/// Puts one in force again, unless something else has come into force since it was chosen.
pub(super) fn undo(daemon: &Daemon, id: Option<u32>, comment: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let all = read(daemon)?;
    let (id, tag) = choose(&all, id)?;
    let path = format!("/config/history/{id}{}", query(comment));
    let call = ApiCall { method: "POST", path: &path, body: None, if_match: tag };
    daemon.ask(call)?.into_body().map_err(|error| of_number(&error, id))
}

/// The query that gives a comment to a change.
pub(super) fn query(comment: Option<&str>) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    comment
        .map_or_else(String::new, |text| format!("?comment={}", text.bytes().map(byte).collect::<String>()))
}

fn of_number(error: &anyhow::Error, id: u32) -> anyhow::Error {
    anyhow!("{error:#}: configuration {id}; `corral config history` lists what there is")
}

fn read(daemon: &Daemon) -> anyhow::Result<Vec<Value>> {
    let body = daemon.get("/config/history")?.into_body()?;
    serde_json::from_slice(&body).context("the history is not a list")
}

/// The number of the one that is to be in force, and the tag of the one that is now. Without a number, it is the one
/// before that.
fn choose(all: &[Value], id: Option<u32>) -> anyhow::Result<(u32, Option<&str>)> {
    let place = all.iter().position(|entry| entry["in_force"] == true);
    let in_force = place.and_then(|place| all.get(place));
    let tag = in_force.and_then(|entry| entry["tag"].as_str());
    let number = |entry: &Value| entry["id"].as_u64().and_then(|id| u32::try_from(id).ok());
    match id {
        Some(id) if in_force.and_then(number) == Some(id) => bail!("configuration {id} is in force already"),
        Some(id) => Ok((id, tag)),
        None => {
            let before = all.get(place.map_or(0, |place| place + 1)).and_then(number);
            Ok((before.context("there is no configuration before the one in force")?, tag))
        }
    }
}

fn line(entry: &Value, width: usize) -> String {
    let mark = if entry["in_force"] == true { '*' } else { ' ' };
    let (time, author) = (text(entry, "time"), text(entry, "author"));
    let comment = text(entry, "comment");
    let comment = if comment.is_empty() { comment } else { format!("  \"{comment}\"") };
    let line =
        format!("{mark} {:>4}  {time}  {author:width$}  {}{comment}", entry["id"].to_string(), places(entry));
    format!("{}\n", clean(line.trim_end()))
}

/// The first places, and how many there are besides.
fn places(entry: &Value) -> String {
    let all: Vec<_> = entry["changed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let named = |place: &&str| if place.is_empty() { "all" } else { *place }.to_owned();
    let first = all.iter().take(MOST_PLACES).map(named).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MOST_PLACES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn text(entry: &Value, member: &str) -> String {
    entry[member].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries(in_force: Option<u32>) -> Vec<Value> {
        let entry = |id: u32| {
            json!({ "id": id, "time": "2026-11-27T02:00:00Z", "author": "root, by the control socket",
                "changed": ["/routes/0"], "tag": format!("\"{id}\""), "in_force": Some(id) == in_force })
        };
        [7, 5, 4].map(entry).to_vec()
    }

    #[track_caller]
    fn check(in_force: Option<u32>, id: Option<u32>, expected: Result<(u32, Option<&str>), &str>) {
        let all = entries(in_force);
        match (choose(&all, id), expected) {
            (Ok(chosen), Ok(expected)) => assert_eq!(chosen, expected),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (chosen, _) => panic!("{chosen:?}"),
        }
    }

    #[test]
    fn an_undo_goes_to_the_one_before_or_to_a_number() {
        check(Some(7), None, Ok((5, Some("\"7\""))));
        check(Some(5), None, Ok((4, Some("\"5\""))));
        check(Some(4), None, Err("no configuration before"));
        check(Some(7), Some(4), Ok((4, Some("\"7\""))));
        check(Some(7), Some(7), Err("in force already"));
        check(Some(7), Some(9), Ok((9, Some("\"7\""))));
        // What is in force could not be kept.
        check(None, None, Ok((7, None)));
    }

    #[test]
    fn a_line_says_who_what_and_why() {
        let mut entry = entries(Some(7)).remove(0);
        assert_eq!(
            line(&entry, 27),
            "*    7  2026-11-27T02:00:00Z  root, by the control socket  /routes/0\n"
        );
        entry["changed"] = json!(["", "/a", "/b", "/c\u{1b}", "/d"]);
        entry["comment"] = json!("why");
        entry["author"] = json!("me");
        assert_eq!(line(&entry, 4), "*    7  2026-11-27T02:00:00Z  me    all, /a, /b and 2 more  \"why\"\n");
        entry["changed"] = json!(["/c\u{1b}[2J"]);
        assert!(line(&entry, 4).contains("/c\\u{1b}[2J"));
    }

    #[test]
    fn comments_are_escaped() {
        assert_eq!(query(None), "");
        assert_eq!(query(Some("a b&c=é%")), "?comment=a%20b%26c%3D%C3%A9%25");
    }
}
