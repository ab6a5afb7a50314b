//! Raw data: a line for each request, in the columns of Yandex.Tank.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::nginx::folder;
use crate::server::{Reply, Server, answer};
use crate::tank::tank;

/// The lines of a run, in columns.
fn lines(arguments: &[&str]) -> Vec<Vec<String>> {
    let folder = folder();
    let path = folder.path().join("phout.txt");
    tank(&[&["--phout", path.to_str().expect("temporary folders have plain names")], arguments].concat());
    let text = fs::read_to_string(path).expect("it was written");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn number(line: &[String], column: usize) -> u64 {
    line[column].parse().unwrap_or_else(|_| panic!("column {column} of {line:?}"))
}

#[test]
fn lines_have_the_columns_of_tank() {
    let server = Server::start(|number, _| match number % 4 {
        0 => Reply::Raw(answer(503, "oh")),
        _ => Reply::Good("hello"),
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970").as_secs_f64();
    let lines = lines(&["-s", "const(100,400ms)", "-t", "2", &server.url()]);
    assert_eq!(lines.len(), 40);
    for line in &lines {
        assert_eq!(line.len(), 12, "{line:?}");
        let time: f64 = line[0].parse().expect("it is a time");
        assert!((time - now).abs() < 60.0 && line[0].split('.').nth(1).is_some_and(|ms| ms.len() == 3));
        let parts: u64 = (3..=6).map(|column| number(line, column)).sum();
        let (real, event) = (number(line, 2), number(line, 7));
        // Each of the parts is rounded down.
        assert!(event.abs_diff(parts) <= 4 && real + 1 >= event, "{line:?}");
        assert!(number(line, 8) > 0 && number(line, 9) > 0 && number(line, 10) == 0, "{line:?}");
    }
    let statuses = ["200", "503"].map(|status| lines.iter().filter(|line| line[11] == status).count());
    assert_eq!(statuses, [30, 10]);
    // Connections are made for the first requests only.
    assert!(lines.iter().filter(|line| number(line, 3) > 0).count() <= server.n_connections());
}

#[test]
fn failures_have_numbers_of_errors() {
    let server = Server::start(|number, _| match number {
        0 => Reply::Reset,
        1 => Reply::Last(String::new()),
        2 => Reply::Raw("nonsense\r\n\r\n".to_owned()),
        3 => Reply::Good("wrong"),
        4 => Reply::Silence,
        _ => Reply::Good("hello"),
    });
    let lines = lines(&["-n", "6", "-c", "1", "--expect-body", "hello", "--timeout", "1s", &server.url()]);
    let codes: Vec<_> = lines.iter().map(|line| (number(line, 10), number(line, 11))).collect();
    assert_eq!(codes, [(104, 0), (32, 0), (71, 0), (74, 200), (110, 0), (0, 200)]);
    assert!(number(&lines[4], 2) >= 1_000_000, "{:?}", lines[4]);
}
