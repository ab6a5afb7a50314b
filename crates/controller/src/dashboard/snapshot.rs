//! The object that the stream tells: everything that the dashboard shows, of one moment.

use std::time::{SystemTime, UNIX_EPOCH};

use corral_acme::NameStatus;
use corral_config::json::{Bytes, Object, Value, edit};
use corral_config::plan::AssetKind;
use corral_ipc::message::Status;

use super::attention::{self, Facts, Trends, UsedBundle};
use super::figures::{decimal, traffic};
use super::usage::Usage;
use crate::reply::object;
use crate::state::Controller;
use crate::{slow, status};

/// Figures that the object is made of, besides those of the controller itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) status: &'a Status,
    pub(super) certificates: &'a [NameStatus],
    pub(super) trends: &'a Trends,
    pub(super) usage: Usage,
    pub(super) now: SystemTime,
}

/// The whole object without the past. What is not known is left out: `null` would mean in a patch that it is gone.
pub(super) fn value(controller: &Controller, moment: &Moment<'_>) -> Value {
    let Moment { status: figures, certificates, trends, usage, now } = *moment;
    let in_force = controller.in_force();
    let bundles = used_bundles(controller);
    let facts = Facts { status: figures, certificates, bundles: &bundles, trends, now };
    let (generation, newest) = {
        let history = controller.history();
        (history.in_force(), history.newest())
    };
    let members = [
        ("time", Some(decimal(seconds(now)))),
        ("version", Some(Value::from(env!("CARGO_PKG_VERSION")))),
        ("generation", generation.map(|id| Value::from(u64::from(id)))),
        ("tag", Some(Value::from(in_force.tag.as_str()))),
        ("newest_change", newest),
        ("status", Some(status::value(figures, controller.modules(), certificates))),
        ("traffic", Some(traffic(figures))),
        ("processes", Some(usage.value())),
        ("attention", Some(attention::value(&attention::find(&facts)))),
        ("slow", Some(slow::value(&figures.slow))),
    ];
    object(members.into_iter().filter_map(|(name, value)| Some((name, value?))))
}

/// Seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |passed| passed.as_millis() as f64 / 1000.0)
}

/// The uploaded certificates that the configuration in force uses.
fn used_bundles(controller: &Controller) -> Vec<UsedBundle> {
    let Value::Object(bundles) = controller.uploads().list(AssetKind::Certificate) else { return Vec::new() };
    let in_force = controller.in_force();
    let used = in_force.names.of_kind(AssetKind::Certificate).iter();
    used.filter_map(|name| Some(UsedBundle { name: name.clone(), expires: end(&bundles, name)? })).collect()
}

/// When the first certificate of a bundle expires.
fn end(bundles: &Object, name: &str) -> Option<SystemTime> {
    let path = ["chain", "0", "validity", "until"].map(Bytes::from);
    let until = edit::get(bundles.get(name.as_bytes())?, &path).ok()?.as_bytes()?.to_string();
    let time = jiff::civil::DateTime::strptime("%b %e %H:%M:%S %Y GMT", until).ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().into())
}

#[cfg(test)]
mod tests {
    use corral_config::json;

    use super::*;

    #[test]
    fn the_end_of_a_bundle_is_read_as_it_is_told() {
        let bundles = |until: &str| {
            let text =
                format!(r#"{{"a": {{"chain": [{{"validity": {{"until": "{until}"}}}}]}}, "b": {{}}}}"#);
            json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
        };
        let found = end(&bundles("Sep  8 19:46:19 2026 GMT"), "a").unwrap();
        assert_eq!(NameStatus::time(found), "2026-09-08T19:46:19Z");
        assert_eq!(
            end(&bundles("Sep 18 19:46:19 2026 GMT"), "a").map(NameStatus::time).unwrap(),
            "2026-09-18T19:46:19Z"
        );
        assert_eq!(end(&bundles("soon"), "a"), None);
        assert_eq!(end(&bundles("soon"), "b"), None);
        assert_eq!(end(&bundles("soon"), "c"), None);
    }
}
