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
    CONFIG_GENERATION = Daemon Gauge "corral_config_generation" None []
        "The number of the configuration in force" "Each that follows has a higher one, also over an upgrade.";
    CONFIG_LAST_CHANGE = Daemon Gauge "corral_config_last_change_seconds" Seconds []
        "When a configuration was last put in force or refused, in seconds since 1970"
        "The start of the main process is a change as well.";
    CONFIG_LAST_CHANGE_SUCCEEDED = Daemon Gauge "corral_config_last_change_succeeded" None []
        "1 when that configuration was put in force, and 0 when the one before went on"
        "A document that is answered with an error about what it says is not a change.";
    PROCESS_RESTARTS = Daemon Counter "corral_process_restarts" None ["process"]
        "Processes of the daemon that were started in the place of one that had ended"
        "`process` is `router`, `controller` or `reader`, which reads configuration files.";
    PROCESS_MEMORY = Daemon Gauge "corral_process_memory_bytes" Bytes ["process"]
        "Memory of the daemon's own processes, with what they share"
        "`process` is `main`, `router`, `controller`, `reader` or `image`.";
    PROCESS_CPU = Daemon Counter "corral_process_cpu_seconds" Seconds ["process"]
        "Time of processors that the daemon's own processes have taken"
        "A process that has ended counts with what it had taken at the last scrape.";
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
    CONNECTIONS_BEGUN = Connections Counter "corral_connections_begun" None ["protocol"]
        "Connections that have begun to speak a protocol"
        "`protocol` is `HTTP/1`, `HTTP/2`, or `TCP` and `UDP` for those that are passed on.";
    CONNECTIONS_OPEN = Connections Gauge "corral_connections_open" None ["protocol"]
        "Connections that are open, by their protocol" "One of HTTP that has said nothing yet counts for `HTTP/1`.";
    TLS_HANDSHAKES = Connections Counter "corral_tls_handshakes" None ["version", "session"]
        "Handshakes of TLS that have succeeded"
        "`version` is `TLSv1.2` or `TLSv1.3`; `session` is `new`, or `resumed` by a ticket.";
    TLS_FAILURES = Connections Counter "corral_tls_handshake_failures" None ["reason"]
        "Handshakes of TLS that have failed"
        "`reason` is `no_certificate` for the name that was asked for, `client_certificate`, `protocol`, `plain` \
         for a client that speaks something else, `timeout` or `closed`. `alert` is that of a client, such as one \
         that does not trust the certificate.";
    HTTP2_STREAMS = Connections Counter "corral_http2_streams" None []
        "Streams of HTTP/2 that clients have opened" "";
    HTTP2_RESETS = Connections Counter "corral_http2_resets" None []
        "Streams of HTTP/2 that clients have reset before they had the reply" "";
    HTTP2_BROKEN = Connections Counter "corral_http2_connections_broken" None ["reason"]
        "Connections of HTTP/2 that were ended for what the client has sent"
        "`reason` is `flood` for more of something than a client may send, or `protocol` for frames that break \
         its rules.";

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
    HTTP_RECEIVED = Requests Counter "corral_http_request_body_bytes" Bytes ["listener"]
        "Bytes of bodies that clients have sent"
        "The rest of a body that is thrown away behind the reply does not count.";
    HTTP_IN_PROGRESS = Requests Gauge "corral_http_requests_in_progress" None ["listener"]
        "Requests that are being answered" "";
    REFUSED_REQUESTS = Requests Counter "corral_refused_requests" None ["reason"]
        "Requests that the router has refused itself"
        "`reason` is `queue_full` or `queue_timeout` where too many wait for a process or a server, and \
         `no_worker` or `no_server` where there is none. Others are `limit`, `maintenance`, `authentication`, \
         `too_large`, `malformed`, `timeout` of a slow client, `connections` of one address, and `storage` where a \
         body has no room.";

    APPLICATION_PROCESSES = Applications Gauge "corral_application_processes" None ["application", "state"]
        "Processes of the application"
        "`state` is `running` or `starting`; of those that run, `idle` ones are counted once more.";
    APPLICATION_IN_PROGRESS = Applications Gauge "corral_application_requests_in_progress" None ["application"]
        "Requests that are handed over or queued" "";
    APPLICATION_REQUESTS = Applications Counter "corral_application_requests" None ["application", "status"]
        "Requests that are over" "`status` is the class, as above.";
    APPLICATION_DURATION = Applications Histogram "corral_application_request_duration_seconds" Seconds ["application"]
        "How long the application took to answer, with the time that requests waited for a process" "";
    APPLICATION_WAITING = Applications Gauge "corral_application_requests_waiting" None ["application"]
        "Requests that wait for a process" "They are among those in progress.";
    APPLICATION_QUEUE = Applications Histogram "corral_application_queue_duration_seconds" Seconds ["application"]
        "How long requests that are over had waited for a process"
        "A request that was handed over at once has waited for no time.";
    APPLICATION_REFUSED = Applications Counter "corral_application_refused_requests" None ["application", "reason"]
        "Requests that no process has had" "`reason` is `queue_full`, `queue_timeout` or `no_worker`.";
    APPLICATION_MEMORY = Applications Gauge "corral_application_memory_bytes" Bytes ["application"]
        "Memory that the processes have for themselves"
        "A page that a process still shares with the one that has forked it counts in both.";
    APPLICATION_RESIDENT = Applications Gauge "corral_application_resident_memory_bytes" Bytes ["application"]
        "Memory of the processes that is in RAM"
        "Pages that several processes have count for each.";
    APPLICATION_PROPORTIONAL = Applications Gauge "corral_application_proportional_memory_bytes" Bytes ["application"]
        "Memory of the processes that is in RAM, each with its share of what several have (PSS)"
        "Each question looks at some processes, for 2 ms; the series is there once all were looked at. It is left out \
            where all applications together have more than 1,024, or one of this has more than 1 GiB. The \
            [control API](../control-api.md#workers) tells it of each process.";
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
    SERVER_RETRIES = Upstreams Counter "corral_upstream_retries" None ["upstream", "server"]
        "Times that a request was sent again after the server had failed"
        "It was sent to another server, or on another connection.";
    SERVER_CONNECT = Upstreams Histogram "corral_upstream_connect_duration_seconds" Seconds ["upstream", "server"]
        "How long connections to the server took to be made, with TLS" "";
    SERVER_RESPONSE = Upstreams Histogram "corral_upstream_response_duration_seconds" Seconds ["upstream", "server"]
        "How long the server took from a request to the head of its response"
        "Connections that are passed on do not count.";
    SERVER_KEPT = Upstreams Gauge "corral_upstream_connections_kept" None ["upstream", "server"]
        "Connections that are kept for further requests" "One of HTTP/2 counts as long as it is open.";
    SERVER_PROCESSES = Upstreams Gauge "corral_upstream_processes" None ["upstream", "server"]
        "Processes of the server, as `processes` says" "";
    SERVER_PROCESSES_BUSY = Upstreams Gauge "corral_upstream_processes_busy" None ["upstream", "server"]
        "Processes of the server that have a request" "Only where the server has `processes`.";
    SERVER_PROCESSES_WAITING = Upstreams Gauge "corral_upstream_processes_waiting" None ["upstream", "server"]
        "Requests that wait for a process of the server" "Only where the server has `processes`.";
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

    LOOP_TURNS = Inside Counter "corral_event_loop_turns" None ["loop"]
        "Times that an event loop has woken up and worked until nothing was left to do" "";
    LOOP_BUSY = Inside Counter "corral_event_loop_busy_seconds" Seconds ["loop"]
        "Time that the turns of an event loop took"
        "Its rate is the busy share: near 1, more threads or processors help.";
    LOOP_LONGEST = Inside Gauge "corral_event_loop_longest_turn_seconds" Seconds ["loop"]
        "The longest turn of the last one to two minutes" "All other connections of the event loop wait that long.";
    CHANNEL_WAKE_UPS = Inside Counter "corral_channel_wake_ups" None ["result"]
        "Workers that an event loop has given requests"
        "`result` is `sent` for a worker that slept and was woken by a system call, `saved` for one that was awake.";
    CHANNEL_BELLS = Inside Counter "corral_channel_bells" None []
        "Sleeps of event loops that ended because a worker had something to say" "";
    FILE_CACHE_ENTRIES = Inside Gauge "corral_file_cache_entries" None []
        "Files that event loops keep open" "";
    FILE_CACHE_MEMORY = Inside Gauge "corral_file_cache_memory_bytes" Bytes []
        "Contents of these files that are kept in memory" "";
    FILE_CACHE_REQUESTS = Inside Counter "corral_file_cache_requests" None ["result"]
        "Files that were asked for"
        "`result` is `hit` for one that was open and unchanged, `miss` for a path that was looked up.";
    COMPRESSION_INPUT = Inside Counter "corral_compression_input_bytes" Bytes ["coding"]
        "Bytes of bodies that were compressed" "`coding` is `br`, `zstd`, `gzip` or `deflate`.";
    COMPRESSION_OUTPUT = Inside Counter "corral_compression_output_bytes" Bytes ["coding"]
        "Bytes that compressors have made of them" "A file that is compressed once and kept counts once in both.";
    COMPRESSED_FILE_REQUESTS = Inside Counter "corral_compressed_file_requests" None ["result"]
        "Files that were asked for in a compressed form" "`result` is `hit` for one that was kept, or else `miss`.";
    COMPRESSED_FILE_MEMORY = Inside Gauge "corral_compressed_file_memory_bytes" Bytes []
        "Compressed files that are kept in memory" "";
    FORWARD_REQUESTS = Inside Counter "corral_forward_authentication_requests" None ["result"]
        "Requests that another server has to permit"
        "`result` is `passed`, `remembered` from an answer before, `refused`, or `failed` without an answer of use.";
    REMOTE_KEYS_AGE = Inside Gauge "corral_jwks_age_seconds" Seconds ["place"]
        "Time since the keys of tokens were fetched from their server"
        "`place` is that of the authentication in the configuration.";
    REMOTE_KEYS_FAILURES = Inside Counter "corral_jwks_failures" None ["place"]
        "Fetches of the keys of tokens that have failed" "The last good ones are used meanwhile.";
    PASSWORD_CHECKS = Inside Gauge "corral_password_checks" None []
        "Checks of passwords that wait or run" "";
    BODY_MEMORY = Inside Gauge "corral_body_memory_bytes" Bytes []
        "Memory of bodies that wait for clients, servers and applications" "";
    BODY_MEMORY_LIMIT = Inside Gauge "corral_body_memory_limit_bytes" Bytes []
        "The bound of that memory" "It is `settings.limits.buffered_bytes`; what does not fit goes to files.";
    BODY_FILES = Inside Counter "corral_body_file_bytes" Bytes []
        "Bytes of bodies that were written to files" "";
    OPEN_FILES = Inside Gauge "corral_open_files" None []
        "Descriptors that the router has open" "";
    OPEN_FILES_LIMIT = Inside Gauge "corral_open_files_limit" None []
        "Descriptors that the router may have open" "A service sets it by `LimitNOFILE=`.";
    CONNECTIONS_LIMIT = Inside Gauge "corral_connections_limit" None []
        "Connections of clients that there may be"
        "It is `settings.limits.connections`, or as many as there are descriptors for.";
    LOG_ENTRIES_LOST = Inside Counter "corral_access_log_entries_lost" None []
        "Entries of access logs that could not be written" "";
    SPANS_LOST = Inside Counter "corral_telemetry_spans_lost" None []
        "Spans that the collector of telemetry did not get" "It does not answer, or the queue was full.";
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
            assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')), "{name}");
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
