//! Times of many schedules in zones of both hemispheres.

use super::*;

/// Begins at a local time; the next times come out, each with its offset.
#[track_caller]
fn check(text: &str, zone_name: &str, begin: &str, expected: &[&str]) {
    let schedule = Schedule::parse(text).unwrap();
    let zone = zone(zone_name).unwrap();
    let mut at: Timestamp = begin.parse().unwrap();
    for expected in expected {
        at = schedule.next(at, &zone).unwrap();
        assert_eq!(written(at, &zone), *expected, "{text} in {zone_name}");
    }
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let error = Schedule::parse(text).unwrap_err().to_string();
    assert!(error.contains(expected), "{text}: {error}");
}

#[test]
fn plain_times() {
    let begin = "2026-01-05T10:02:30Z";
    check("*/5 * * * *", "UTC", begin, &["2026-01-05T10:05:00+00:00", "2026-01-05T10:10:00+00:00"]);
    check("0 3 * * *", "UTC", begin, &["2026-01-06T03:00:00+00:00", "2026-01-07T03:00:00+00:00"]);
    check("30 9 * * MON-FRI", "UTC", "2026-01-09T09:30:00Z", &["2026-01-12T09:30:00+00:00"]);
    check("0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", &["2026-03-31T00:00:00+00:00"]);
    check("0 0 29 2 *", "UTC", begin, &["2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"]);
    // Either day, as cron has it.
    check("0 0 13 * 5", "UTC", begin, &["2026-01-09T00:00:00+00:00", "2026-01-13T00:00:00+00:00"]);
}

#[test]
fn names_stand_for_fields() {
    let begin = "2026-01-05T10:02:30Z";
    check("@hourly", "UTC", begin, &["2026-01-05T11:00:00+00:00"]);
    check("@daily", "UTC", begin, &["2026-01-06T00:00:00+00:00"]);
    check("@midnight", "UTC", begin, &["2026-01-06T00:00:00+00:00"]);
    check("@weekly", "UTC", begin, &["2026-01-11T00:00:00+00:00"]);
    check("@monthly", "UTC", begin, &["2026-02-01T00:00:00+00:00"]);
    check("@yearly", "UTC", begin, &["2027-01-01T00:00:00+00:00"]);
    check("@every 90s", "UTC", begin, &["2026-01-05T10:04:00+00:00", "2026-01-05T10:05:30+00:00"]);
    check("@every 1h30m", "UTC", begin, &["2026-01-05T11:32:30+00:00"]);
}

#[test]
fn a_zone_s_time_is_meant() {
    let begin = "2026-01-05T10:02:30Z";
    check("0 3 * * *", "Europe/Berlin", begin, &["2026-01-06T03:00:00+01:00"]);
    check("0 3 * * *", "Asia/Kolkata", begin, &["2026-01-06T03:00:00+05:30"]);
    check("0 3 * * *", "America/St_Johns", begin, &["2026-01-06T03:00:00-03:30"]);
    check("0 3 * * *", "Pacific/Kiritimati", begin, &["2026-01-06T03:00:00+14:00"]);
}

#[test]
fn a_fixed_time_that_does_not_exist_runs_when_the_gap_is_over() {
    // 02:00 becomes 03:00.
    let berlin = "2026-03-28T12:00:00Z";
    check("30 2 * * *", "Europe/Berlin", berlin, &["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]);
    // Several of them are one run.
    let several = ["2026-03-29T03:00:00+02:00", "2026-03-30T02:15:00+02:00", "2026-03-30T02:45:00+02:00"];
    check("15,45 2 * * *", "Europe/Berlin", berlin, &several);
    check("0 3 * * *", "Europe/Berlin", berlin, &["2026-03-29T03:00:00+02:00", "2026-03-30T03:00:00+02:00"]);
    check("30 2 8 3 *", "America/New_York", "2026-03-08T00:00:00Z", &["2026-03-08T03:00:00-04:00"]);
    // The southern spring.
    check("30 2 * * *", "Australia/Sydney", "2026-10-03T12:00:00Z", &["2026-10-04T03:00:00+11:00"]);
    // Half an hour.
    check("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", &["2026-10-04T02:30:00+11:00"]);
    // Midnight itself.
    check("0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", &["2026-09-06T01:00:00-03:00"]);
    // A whole day.
    check("0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00:00Z", &["2011-12-31T00:00:00+14:00"]);
}

#[test]
fn a_fixed_time_that_comes_twice_runs_once() {
    let berlin = ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"];
    check("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", &berlin);
    let several = ["2026-10-25T02:15:00+02:00", "2026-10-25T02:45:00+02:00", "2026-10-26T02:15:00+01:00"];
    check("15,45 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", &several);
    check(
        "30 1 * * *",
        "America/New_York",
        "2026-11-01T04:00:00Z",
        &["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"],
    );
    check(
        "30 2 * * *",
        "Australia/Sydney",
        "2026-04-04T12:00:00Z",
        &["2026-04-05T02:30:00+11:00", "2026-04-06T02:30:00+10:00"],
    );
    // From within the hour that comes again.
    check("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", &["2026-10-26T02:30:00+01:00"]);
}

#[test]
fn what_goes_by_the_clock_skips_a_gap() {
    let berlin = ["2026-03-29T01:45:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:15:00+02:00"];
    check("*/15 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", &berlin);
    let hourly = ["2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"];
    check("0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", &hourly);
    let sydney = ["2026-10-04T01:30:00+10:00", "2026-10-04T03:00:00+11:00"];
    check("*/30 * * * *", "Australia/Sydney", "2026-10-03T15:00:00Z", &sydney);
}

#[test]
fn what_goes_by_the_clock_runs_in_both_hours() {
    let berlin = [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ];
    check("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", &berlin);
    let minutes = ["2026-10-25T02:59:00+02:00", "2026-10-25T02:00:00+01:00"];
    check("* * * * *", "Europe/Berlin", "2026-10-25T00:58:00Z", &minutes);
    let sydney = ["2026-04-05T02:00:00+11:00", "2026-04-05T02:00:00+10:00", "2026-04-05T03:00:00+10:00"];
    check("0 * * * *", "Australia/Sydney", "2026-04-04T14:30:00Z", &sydney);
}

#[test]
fn every_so_long_knows_no_clock() {
    let hours = ["2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00"];
    check("@every 1h", "Europe/Berlin", "2026-03-29T00:30:00Z", &hours);
}

#[test]
fn what_is_no_schedule_is_refused() {
    check_refused("", "five fields");
    check_refused("* * * *", "five fields");
    check_refused("* * * * * *", "there are 6");
    check_refused("@often", "@often");
    check_refused("@reboot", "start of the server");
    check_refused("@every", "duration such as");
    check_refused("@every30s", "duration such as");
    check_refused("@every 30", "duration such as");
    check_refused("@every s", "duration such as");
    check_refused("@every -5s", "duration such as");
    check_refused("@every 30 s", "duration such as");
    check_refused("@every 0s", "from 1s");
    check_refused("@every 1ns", "from 1s");
    check_refused("@every 999ms", "from 1s");
    check_refused("@every 400d", "to 366d");
    check_refused("@every 99999999999999999999999999999999999999999999999d", "to 366d");
    check_refused("@every 9999999999999999999999999999999999999d", "to 366d");
    check_refused("0 0 30 2 *", "no such day");
    check_refused("0 0 31 4,6,9,11 *", "no such day");
    for broken in
        ["60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "*/0 * * * *", "a b c d e", "1-0 * * * *"]
    {
        assert!(Schedule::parse(broken).is_err(), "{broken}");
    }
}

#[test]
fn fixed_times_are_known() {
    for (text, expected) in [
        ("0 3 * * *", true),
        ("0,30 1-5 * * *", true),
        ("* 3 * * *", false),
        ("5 */2 * * *", false),
        ("@every 5s", false),
    ] {
        assert_eq!(Schedule::parse(text).unwrap().is_fixed(), expected, "{text}");
    }
}
