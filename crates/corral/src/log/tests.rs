//! Lines as they come out of a subscriber.

use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(style: Style, log: impl FnOnce()) -> String {
    let sink = Sink::default();
    let writer = sink.clone();
    let lines = layer().with_writer(move || writer.clone()).event_format(LogLines(style));
    let subscriber = tracing_subscriber::registry().with(Threshold).with(lines);
    tracing::subscriber::with_default(subscriber, log);
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// `expected` is what follows date and time.
#[track_caller]
fn check_file(log: impl FnOnce(), expected: &str) {
    let line = logged(Style::File, log);
    let (time, rest) = line.split_at(20);
    assert!(jiff::civil::DateTime::strptime("%Y/%m/%d %H:%M:%S ", time).is_ok(), "{line}");
    let (pid, thread) = (std::process::id(), corral_sys::process::thread_id());
    assert_eq!(rest, expected.replace("PID", &format!("{pid}#{thread}")));
}

#[test]
fn file_lines_have_unit_s_format() {
    check_file(|| tracing::info!("router started"), "[info] PID router started\n");
    check_file(|| tracing::info!(target: "notice", "done"), "[notice] PID done\n");
    check_file(|| tracing::error!(target: "alert", "gone"), "[alert] PID gone\n");
    check_file(|| tracing::info!(target: "app", "\"a\": hello"), "[notice] PID \"a\": hello\n");
    check_file(|| tracing::error!(target: "app", "\"a\": failed"), "[error] PID \"a\": failed\n");
    check_file(|| tracing::warn!("careful"), "[warn] PID careful\n");
    check_file(|| tracing::error!(app = "blog", n = 3, "failed"), "[error] PID failed app=blog n=3\n");
}

#[test]
fn nobody_s_words_are_taken_for_another_line() {
    let forged = "broken\n2026/11/22 18:00:00 [alert] 1#1 gone\r\n\n  at \x1b[2Jline 3\n\tat 4";
    let text = logged(Style::File, || tracing::error!("application: {forged}"));
    let lines: Vec<_> = text.lines().collect();
    let prefix =
        lines[0].strip_suffix("application: broken").expect("the first line says whose words these are");
    let expected = ["  2026/11/22 18:00:00 [alert] 1#1 gone", "  at \\u{1b}[2Jline 3", "  \tat 4"];
    assert_eq!(lines[1..], expected.map(|line| format!("{prefix}{line}")));
    check_console(|| tracing::warn!("one\ntwo\x07"), "warning: one\n  two\\u{7}\n");
    check_file(|| tracing::info!(target: "app", "\"a\": old\rnew"), "[notice] PID \"a\": old\\rnew\n");
}

#[test]
fn lines_name_their_connection() {
    let id = corral_ipc::log::ConnectionId::new(7).expect("it is not 0");
    let log = || corral_ipc::log::about(id, || tracing::info!("refused"));
    check_file(log, "[info] PID *7 refused\n");
    check_console(|| corral_ipc::log::about(id, || tracing::warn!("careful")), "warning: careful\n");
}

#[track_caller]
fn check_console(log: impl FnOnce(), expected: &str) {
    assert_eq!(logged(Style::Console, log), expected);
}

#[test]
fn a_person_sees_what_matters() {
    check_console(|| tracing::info!("router started"), "");
    check_console(|| tracing::info!(target: "notice", "process 7 exited with code 0"), "");
    check_console(|| tracing::info!(target: "app", "\"site\": PHP Warning"), "\"site\": PHP Warning\n");
    check_console(|| tracing::error!(target: "app", "\"site\": KeyError"), "\"site\": KeyError\n");
    check_console(|| tracing::warn!("careful"), "warning: careful\n");
    check_console(|| tracing::error!(target: "alert", "gone"), "error: gone\n");
}
