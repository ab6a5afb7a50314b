//! All series.

use crate::family::{Family, Kind, Section, Unit};

/// The table: a static for each series, and all of them in the order of the text that collectors get.
macro_rules! families {
    ($(
        $(#[doc = $doc:literal])*
        $id:ident = $section:ident $kind:ident $name:literal $unit:ident [$($label:literal),*]
            $help:literal $meaning:literal;
    )*) => {
        $(
            #[doc = $help]
            pub static $id: Family = Family {
                name: $name,
                kind: Kind::$kind,
                unit: Unit::$unit,
                labels: &[$($label),*],
                help: $help,
                meaning: $meaning,
                section: Section::$section,
            };
        )*

        /// All series.
        pub static ALL: &[&Family] = &[$(&$id),*];
    };
}

families! {
    BUILD = Daemon Gauge "corral_build_info" None ["version"]
        "The version that runs; the number is always 1" "";
    START = Daemon Gauge "corral_start_time_seconds" Seconds []
        "When the main process was started, in seconds since 1970" "It begins anew with an upgrade.";
    CONFIG_IN_ORDER = Daemon Gauge "corral_config_in_order" None []
        "1 while the configuration in force is stored, and is that of its files"
        "`/status` has the reason in `config.last_error`.";
    CONFIG_CHANGES = Daemon Counter "corral_config_file_changes" None []
        "Changes of the configuration files that were put in force or refused" "";
    UPGRADE_FAILED = Daemon Gauge "corral_upgrade_failed" None []
        "1 when the last upgrade has failed" "";
    LISTENER_UP = Daemon Gauge "corral_listener_up" None ["listener"]
        "1 while the listener can be connected to" "";

    ACCEPTED = Connections Counter "corral_connections_accepted" None []
        "Connections of clients that were accepted" "";
    CLOSED = Connections Counter "corral_connections_closed" None []
        "Connections of clients that have ended" "";
    REFUSED = Connections Counter "corral_connections_refused" None []
        "Connections that were refused because their client address had too many" "";
    OPEN = Connections Gauge "corral_connections" None ["state"]
        "Connections of clients that are open" "`state` is `active` with a request in progress, or `idle`.";
    DATAGRAMS_DROPPED = Connections Counter "corral_datagrams_dropped" None []
        "Datagrams of clients that went nowhere" "";

    REQUESTS = Requests Counter "corral_requests" None []
        "Requests of all listeners that have begun" "";
    HTTP_REQUESTS = Requests Counter "corral_http_requests" None ["listener", "protocol", "status"]
        "Requests that are over" "`status` is the class, such as `2xx`, or `none` for a client that got no reply.";
    STEP_REQUESTS = Requests Counter "corral_route_requests" None ["step", "status"]
        "Requests that are over, by the last step of a route on their way"
        "`step` is its place in the configuration, such as `/routes/0`.";
    HTTP_DURATION = Requests Histogram "corral_http_request_duration_seconds" Seconds ["listener"]
        "How long requests took, from their first byte to the last one of the reply"
        "Connections that became another protocol do not count.";
    HTTP_SENT = Requests Counter "corral_http_response_body_bytes" Bytes ["listener"]
        "Bytes of bodies that clients have got" "";

    APPLICATION_PROCESSES = Applications Gauge "corral_application_processes" None ["application", "state"]
        "Processes of the application"
        "`state` is `running` or `starting`; of those that run, `idle` ones are counted once more.";
    APPLICATION_IN_PROGRESS = Applications Gauge "corral_application_requests_in_progress" None ["application"]
        "Requests that are handed over or queued" "";
    APPLICATION_REQUESTS = Applications Counter "corral_application_requests" None ["application", "status"]
        "Requests that are over" "`status` is the class, as above.";
    APPLICATION_DURATION = Applications Histogram "corral_application_request_duration_seconds" Seconds ["application"]
        "How long the application took to answer, with the time that requests waited for a process" "";
    APPLICATION_MEMORY = Applications Gauge "corral_application_memory_bytes" Bytes ["application"]
        "Memory that the processes have for themselves"
        "A page that a process still shares with the one that has forked it counts in both.";
    APPLICATION_RESIDENT = Applications Gauge "corral_application_resident_memory_bytes" Bytes ["application"]
        "Memory of the processes that is in RAM"
        "Pages that several processes have count for each. The [control API](../control-api.md#workers) tells \
            the share of each process, its PSS.";
    APPLICATION_CPU = Applications Counter "corral_application_cpu_seconds" Seconds ["application"]
        "Time that the processes had a processor, those among them that have ended"
        "Where all applications together have more than 512 processes, it is up to date after a few questions.";
    WORKERS = Applications Gauge "corral_workers" None ["application", "state"]
        "Processes of the application by what they do"
        "`state` is `idle`, `busy`, `starting`, or `leaving`: after the requests that it has, the process ends.";
    WORKERS_STARTED = Applications Counter "corral_workers_started" None ["application"]
        "Processes that were started" "Those that failed to start are not counted.";
    WORKERS_ENDED = Applications Counter "corral_workers_ended" None ["application", "cause"]
        "Processes that have ended"
        "`cause` is `exit`, by itself; `signal`; `requests`, `memory` and `kill_after`, the limits; `idle`; `restart` \
            of the application; `drained` or `ended` by a person; `broken`, when it broke the rules of the channel.";
    APPLICATION_CRASHES = Applications Counter "corral_application_crashes" None ["application"]
        "Processes that have ended by themselves or by a signal" "";
    APPLICATION_FAILING = Applications Gauge "corral_application_failing" None ["application"]
        "1 while processes of the application cannot be started" "`/status` has the reason in `last_error`.";
    APPLICATION_LEFT_STATE = Applications Counter "corral_application_left_state" None ["application", "kind"]
        "Requests that have left state behind in their processes"
        "The [state guard](../configuration/php-worker.md#the-state-guard) knows the kinds.";
    SCHEDULE_RUNS = Applications Counter "corral_schedule_runs" None ["application", "result"]
        "Runs of a command that has a schedule"
        "`result` is `succeeded`, `failed` or `skipped`, when the one before still ran.";
    QUEUE_LENGTH = Applications Gauge "corral_queue_length" None ["application"]
        "Jobs in the queue by which an application has more or fewer processes" "";

    SERVER_UP = Upstreams Gauge "corral_upstream_server_up" None ["upstream", "server"]
        "1 while requests are given to the server" "A server that is avoided for some time counts as up.";
    SERVER_AVOIDED = Upstreams Gauge "corral_upstream_server_avoided" None ["upstream", "server"]
        "1 while the server gets requests only if there is no other, as some have failed" "";
    SERVER_IN_PROGRESS = Upstreams Gauge "corral_upstream_requests_in_progress" None ["upstream", "server"]
        "Requests, or connections that are passed on, that the server has" "";
    SERVER_REQUESTS = Upstreams Counter "corral_upstream_requests" None ["upstream", "server"]
        "Requests that the server was given" "";
    SERVER_FAILURES = Upstreams Counter "corral_upstream_failures" None ["upstream", "server"]
        "Requests that the server has failed to answer" "";
    UPSTREAM_WAITING = Upstreams Gauge "corral_upstream_waiting" None ["upstream"]
        "Requests that wait until a server has room for them" "Only where servers have `max_conns`.";

    LIMIT_REQUESTS = Limits Counter "corral_limit_requests" None ["limit", "result"]
        "Requests that a limit was asked about"
        "`limit` is its place in the configuration; `result` is `passed` or `refused`.";
    LIMIT_DELAYED = Limits Counter "corral_limit_delayed" None ["limit"]
        "Requests that passed and had to wait first" "";
    LIMIT_KEYS = Limits Gauge "corral_limit_keys" None ["limit"]
        "Keys, such as addresses of clients, that are counted at the moment" "";

    MIRROR_COPIES = Mirrors Counter "corral_mirror_copies" None ["mirror", "result"]
        "Copies of requests" "`result` is `answered`, `failed` or `dropped`.";

    CERTIFICATE_EXPIRES = Certificates Gauge "corral_certificate_expiry_seconds" Seconds ["name"]
        "When an automatic certificate ends, in seconds since 1970" "";
    CERTIFICATE_VALID = Certificates Gauge "corral_certificate_valid" None ["name"]
        "1 while clients get a certificate for the name" "";
    CERTIFICATE_NEXT_TRY = Certificates Gauge "corral_certificate_next_try_seconds" Seconds ["name"]
        "When an order that has failed is made again, in seconds since 1970" "";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_keep_to_the_conventions() {
        let mut names = HashSet::new();
        for family in ALL {
            let name = family.name;
            assert!(names.insert(name), "{name} is there twice");
            assert!(name.starts_with("corral_") && !name.ends_with("_total"), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(
                family.unit.suffix().is_none(),
                !name.ends_with("_seconds") && !name.ends_with("_bytes"),
                "{name}"
            );
            assert!(family.unit.suffix().is_none_or(|unit| name.ends_with(unit)), "{name}");
            assert!(!family.help.ends_with('.') && !family.help.contains('"'), "{name}");
            assert!(family.meaning.is_empty() || family.meaning.ends_with('.'), "{name}");
            assert!(
                family.labels.iter().all(|label| label.bytes().all(|byte| byte.is_ascii_lowercase())),
                "{name}"
            );
        }
    }
}
