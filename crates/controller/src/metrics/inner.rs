//! Samples of the inside of the router, and of main.

use std::time::Duration;

use corral_ipc::message::{
    AuthenticationFigures, BodyFigures, CODINGS, CompressionFigures, FORWARD_RESULTS, InnerFigures,
    LoopFigures, MainFigures, OwnProcess, RoomFigures,
};
use corral_metrics::{Exposition, table};

use super::{flag, level, seconds};

/// Counters of main, and the use that the daemon makes of the machine.
pub(super) fn of_main(all: &mut Exposition, main: &MainFigures) {
    all.level(&table::CONFIG_GENERATION, &[], level(main.generation));
    if let Some(change) = main.last_change {
        all.level(&table::CONFIG_LAST_CHANGE, &[], seconds(change.at));
        all.level(&table::CONFIG_LAST_CHANGE_SUCCEEDED, &[], flag(change.has_succeeded));
    }
    for (process, n) in OwnProcess::ALL.iter().zip(main.restarts) {
        // The one that starts the others is not started again, and an image when it is needed again.
        if !matches!(process, OwnProcess::Main | OwnProcess::Image) {
            all.count(&table::PROCESS_RESTARTS, &[process.name()], n);
        }
    }
    for (process, figures) in OwnProcess::ALL.iter().zip(&main.processes) {
        let labels = &[process.name()][..];
        if let Some(memory) = figures.memory {
            all.level(&table::PROCESS_MEMORY, labels, level(memory));
        }
        if figures.memory.is_some() || !figures.cpu.is_zero() {
            all.count_seconds(&table::PROCESS_CPU, labels, figures.cpu);
        }
    }
}

/// The inside of the router.
pub(super) fn of_router(all: &mut Exposition, inner: &InnerFigures) {
    inner.loops.iter().enumerate().for_each(|(idx, figures)| event_loop(all, idx, figures));
    for (result, n) in [("sent", inner.channel.sent), ("saved", inner.channel.saved)] {
        all.count(&table::CHANNEL_WAKE_UPS, &[result], n);
    }
    all.count(&table::CHANNEL_BELLS, &[], inner.channel.bells);
    all.level(&table::FILE_CACHE_ENTRIES, &[], level(inner.files.entries));
    all.level(&table::FILE_CACHE_MEMORY, &[], level(inner.files.bytes));
    for (result, n) in [("hit", inner.files.hits), ("miss", inner.files.misses)] {
        all.count(&table::FILE_CACHE_REQUESTS, &[result], n);
    }
    compression(all, &inner.compression);
    authentication(all, &inner.authentication);
    bodies(all, &inner.bodies);
    room(all, &inner.room);
    all.count(&table::LOG_ENTRIES_LOST, &[], inner.lost.log_entries);
    all.count(&table::SPANS_LOST, &[], inner.lost.spans);
}

fn event_loop(all: &mut Exposition, idx: usize, figures: &LoopFigures) {
    let name = idx.to_string();
    let labels = &[name.as_str()][..];
    all.count(&table::LOOP_TURNS, labels, figures.turns);
    all.count_seconds(&table::LOOP_BUSY, labels, Duration::from_micros(figures.busy_micros));
    all.level(&table::LOOP_LONGEST, labels, seconds(Duration::from_micros(figures.longest_micros)));
}

fn compression(all: &mut Exposition, figures: &CompressionFigures) {
    for (coding, figures) in CODINGS.iter().zip(&figures.codings) {
        all.count(&table::COMPRESSION_INPUT, &[coding], figures.input);
        all.count(&table::COMPRESSION_OUTPUT, &[coding], figures.output);
    }
    for (result, n) in [("hit", figures.hits), ("miss", figures.misses)] {
        all.count(&table::COMPRESSED_FILE_REQUESTS, &[result], n);
    }
    all.level(&table::COMPRESSED_FILE_MEMORY, &[], level(figures.bytes));
}

fn authentication(all: &mut Exposition, figures: &AuthenticationFigures) {
    for (result, n) in FORWARD_RESULTS.iter().zip(figures.forward) {
        all.count(&table::FORWARD_REQUESTS, &[result], n);
    }
    all.level(&table::PASSWORD_CHECKS, &[], level(figures.password_checks));
    for keys in &figures.remote_keys {
        if let Some(age) = keys.age {
            all.level(&table::REMOTE_KEYS_AGE, &[&keys.place], level(age));
        }
        all.count(&table::REMOTE_KEYS_FAILURES, &[&keys.place], keys.failures);
    }
}

fn bodies(all: &mut Exposition, figures: &BodyFigures) {
    all.level(&table::BODY_MEMORY, &[], level(figures.held));
    all.level(&table::BODY_MEMORY_LIMIT, &[], level(figures.most));
    all.count(&table::BODY_FILES, &[], figures.written);
}

fn room(all: &mut Exposition, figures: &RoomFigures) {
    for (family, n) in [
        (&table::OPEN_FILES, figures.open_files),
        (&table::OPEN_FILES_LIMIT, figures.most_files),
        (&table::CONNECTIONS_LIMIT, figures.most_connections),
    ] {
        n.into_iter().for_each(|n| all.level(family, &[], level(n)));
    }
}

#[cfg(test)]
mod tests {
    use corral_ipc::message::{CodingFigures, LastChange, ProcessFigures, RemoteKeyFigures};
    use corral_metrics::Format;

    use super::*;

    #[track_caller]
    fn check(fill: impl FnOnce(&mut Exposition), lines: &[&str], not: &[&str]) {
        let mut all = Exposition::default();
        fill(&mut all);
        let text = all.into_text(Format::OpenMetrics);
        for line in lines {
            assert!(text.lines().any(|written| written == *line), "{line} is not in\n{text}");
        }
        for word in not {
            assert!(!text.contains(word), "{word} is in\n{text}");
        }
    }

    #[test]
    fn figures_of_main_are_told_as_far_as_there_are_any() {
        let process = ProcessFigures { memory: Some(4096), cpu: Duration::from_millis(1250) };
        let mut main = MainFigures { generation: 3, restarts: [0, 2, 0, 0, 0], ..MainFigures::default() };
        main.processes[OwnProcess::Router as usize] = process;
        check(
            |all| of_main(all, &main),
            &[
                "corral_config_generation 3.0",
                "corral_process_restarts_total{process=\"router\"} 2",
                "corral_process_restarts_total{process=\"controller\"} 0",
                "corral_process_memory_bytes{process=\"router\"} 4096.0",
                "corral_process_cpu_seconds_total{process=\"router\"} 1.25",
            ],
            &["last_change", "process=\"main\"", "memory_bytes{process=\"reader\"}"],
        );
        let at = Duration::from_millis(1_764_205_000_500);
        main.last_change = Some(LastChange { at, has_succeeded: false });
        check(
            |all| of_main(all, &main),
            &["corral_config_last_change_seconds 1764205000.5", "corral_config_last_change_succeeded 0.0"],
            &[],
        );
    }

    #[test]
    fn figures_of_the_router_have_their_labels() {
        let mut inner = InnerFigures {
            loops: vec![
                LoopFigures::default(),
                LoopFigures { turns: 7, busy_micros: 1_500_000, longest_micros: 250 },
            ],
            ..InnerFigures::default()
        };
        (inner.channel.sent, inner.channel.saved, inner.files.misses) = (4, 5, 6);
        inner.compression.codings[2] = CodingFigures { input: 1000, output: 100 };
        inner.authentication.forward = [1, 2, 3, 4];
        inner.room.most_files = Some(1024);
        let keys = |place: &str, age| RemoteKeyFigures { place: place.to_owned(), age, failures: 9 };
        inner.authentication.remote_keys = vec![keys("/a", Some(30)), keys("/b", None)];
        check(
            |all| of_router(all, &inner),
            &[
                "corral_event_loop_turns_total{loop=\"0\"} 0",
                "corral_event_loop_turns_total{loop=\"1\"} 7",
                "corral_event_loop_busy_seconds_total{loop=\"1\"} 1.5",
                "corral_event_loop_longest_turn_seconds{loop=\"1\"} 0.00025",
                "corral_channel_wake_ups_total{result=\"sent\"} 4",
                "corral_channel_wake_ups_total{result=\"saved\"} 5",
                "corral_file_cache_requests_total{result=\"miss\"} 6",
                "corral_compression_input_bytes_total{coding=\"gzip\"} 1000",
                "corral_compression_output_bytes_total{coding=\"gzip\"} 100",
                "corral_forward_authentication_requests_total{result=\"remembered\"} 2",
                "corral_jwks_age_seconds{place=\"/a\"} 30.0",
                "corral_jwks_failures_total{place=\"/b\"} 9",
                "corral_open_files_limit 1024.0",
                "corral_access_log_entries_lost_total 0",
            ],
            &["corral_open_files ", "corral_connections_limit", "age_seconds{place=\"/b\"}"],
        );
    }
}
