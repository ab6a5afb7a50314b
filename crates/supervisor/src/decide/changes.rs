//! Changes that lead from the configuration in force to another one: what has to be bound, opened and started. Pure:
//! nothing is done here.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use corral_config::address::ListenAddress;
use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::AppId;

/// Where an application of the new configuration runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Placement {
    /// On the running instance, whose specification is the same.
    Keep(AppId),
    /// On a new instance.
    Start,
}

/// Decides for each application of a new configuration, by what was asked for before. `replace` names one that gets a
/// new instance even if nothing has changed, as do those that are restarted with one which has changed.
pub(crate) fn place_apps(
    running: &[(AppId, &AppSpec)],
    wanted: &[&AppSpec],
    is_kept: impl Fn(&AppSpec) -> bool,
    replace: Option<&str>,
) -> Vec<Placement> {
    let running: HashMap<_, _> =
        running.iter().map(|(id, spec)| (spec.name.as_str(), (*id, *spec))).collect();
    let changed =
        wanted.iter().filter(|spec| running.get(spec.name.as_str()).is_some_and(|(_, other)| other != *spec));
    let replaced: HashSet<_> = changed.map(|spec| spec.name.as_str()).chain(replace).collect();
    let place = |spec: &&AppSpec| {
        let names = [Some(spec.name.as_str()), with(spec)];
        let kept = running.get(spec.name.as_str()).filter(|(_, other)| other == spec).map(|(id, _)| *id);
        let kept =
            kept.filter(|_| is_kept(spec) && names.iter().flatten().all(|name| !replaced.contains(name)));
        kept.map_or(Placement::Start, Placement::Keep)
    };
    wanted.iter().map(place).collect()
}

/// The application with which it is restarted.
fn with(spec: &AppSpec) -> Option<&str> {
    match &spec.runtime {
        RuntimeSpec::Process(process) => process.with.as_deref(),
        _ => None,
    }
}

/// Whether a new socket may have to share its port with one of ours, because one of the two stands
/// for all addresses of the machine and the other for one of them.
pub(crate) fn overlaps_ours(ours: &[ListenAddress], new: &ListenAddress) -> bool {
    ours.iter().any(|other| match (other, new) {
        (ListenAddress::Inet(a), ListenAddress::Inet(b)) | (ListenAddress::Udp(a), ListenAddress::Udp(b)) => {
            inet_overlap(a, b)
        }
        _ => false,
    })
}

fn inet_overlap(a: &SocketAddr, b: &SocketAddr) -> bool {
    let one_is_any = a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() == b.port() && a.is_ipv4() == b.is_ipv4() && (one_is_any || a.ip() == b.ip())
}

#[cfg(test)]
mod tests {
    use crate::testing::{command, spec};

    use super::*;

    /// Running and wanted applications as `name=root`, running ones numbered from 1; the numbers
    /// that are kept come out, 0 for a new instance.
    #[track_caller]
    fn check(running: &[&str], wanted: &[&str], replace: Option<&str>, expected: &[u32]) {
        let specs: Vec<_> = running.iter().map(|text| spec(text)).collect();
        let running: Vec<_> = (1..).map(AppId).zip(&specs).collect();
        let wanted: Vec<_> = wanted.iter().map(|text| spec(text)).collect();
        let wanted: Vec<_> = wanted.iter().collect();
        let numbers =
            place_apps(&running, &wanted, |_| true, replace).into_iter().map(|placement| match placement {
                Placement::Keep(AppId(number)) => number,
                Placement::Start => 0,
            });
        assert_eq!(numbers.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn equal_specifications_keep_their_instance() {
        check(&[], &["a=/a"], None, &[0]);
        check(&["a=/a"], &["a=/a"], None, &[1]);
        check(&["a=/a", "b=/b"], &["b=/b", "a=/a"], None, &[2, 1]);
        check(&["a=/a"], &["a=/other"], None, &[0]);
        check(&["a=/a"], &["renamed=/a"], None, &[0]);
        check(&["a=/a"], &[], None, &[]);
    }

    #[test]
    fn a_restart_replaces_only_the_named_one() {
        check(&["a=/a", "b=/b"], &["a=/a", "b=/b"], Some("b"), &[1, 0]);
        check(&["a=/a"], &["a=/a"], Some("none"), &[1]);
    }

    #[test]
    fn a_command_is_restarted_with_its_site() {
        let running = [
            (AppId(1), spec("site=/a")),
            (AppId(2), command("queue", Some("site"))),
            (AppId(3), command("x", None)),
        ];
        let check = |site: &str, is_kept: bool, replace, expected: [bool; 3]| {
            let site = spec(site);
            let wanted = [&site, &running[1].1, &running[2].1];
            let running: Vec<_> = running.iter().map(|(id, spec)| (*id, spec)).collect();
            let kept = place_apps(&running, &wanted, |spec| is_kept || spec.is_background(), replace);
            assert_eq!(
                kept.iter().map(|placement| *placement != Placement::Start).collect::<Vec<_>>(),
                expected
            );
        };
        check("site=/a", true, None, [true, true, true]);
        check("site=/b", true, None, [false, false, true]);
        check("site=/a", true, Some("site"), [false, false, true]);
        check("site=/a", true, Some("queue"), [true, false, true]);
        check("site=/a", false, None, [false, true, true]);
    }

    #[track_caller]
    fn check_overlap(ours: &str, new: &str, expected: bool) {
        let [ours, new] = [ours, new].map(|text| ListenAddress::parse_listener(text.as_bytes()).unwrap());
        assert_eq!(overlaps_ours(&[ours], &new), expected);
    }

    #[test]
    fn only_the_same_port_of_the_same_family_overlaps() {
        check_overlap("*:80", "127.0.0.1:80", true);
        check_overlap("127.0.0.1:80", "*:80", true);
        check_overlap("127.0.0.1:80", "127.0.0.2:80", false);
        check_overlap("127.0.0.1:80", "127.0.0.1:80", true);
        check_overlap("*:80", "127.0.0.1:81", false);
        check_overlap("*:80", "[::1]:80", false);
        check_overlap("[::]:80", "[::1]:80", true);
        check_overlap("*:80/udp", "127.0.0.1:80/udp", true);
        check_overlap("*:80/udp", "*:80", false);
        check_overlap("unix:/a", "*:80", false);
        check_overlap("unix:/a", "unix:/a", false);
    }
}
