//! Documents put together by chance from names and values that mean something.

use proptest::prelude::*;

use crate::fuzz::fuzz_document;

fn value() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "null",
        "true",
        "0",
        "1",
        "-1",
        "1.5",
        "1e10",
        "200",
        "\"\"",
        "\"php\"",
        "\"routes\"",
        "\"routes/a\"",
        "\"applications/a\"",
        "\"$uri\"",
        "\"`\"",
        "\"/x*\"",
        "\"!~[a]\"",
        "\"~(\"",
        "\"%4\"",
        "[]",
        "{}",
        "[\"a\", 1]",
    ]);
    scalar.prop_map(str::to_owned)
}

fn object_of(
    names: &'static [&'static str],
    values: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let members = prop::collection::btree_map(prop::sample::select(names), values, 0..4);
    members.prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{}}}", members.join(", "))
    })
}

/// Mostly what fits the place, sometimes anything.
fn or_any(fitting: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    prop_oneof![4 => fitting, 1 => value()]
}

fn array_of(elements: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(elements, 0..3).prop_map(|elements| format!("[{}]", elements.join(", ")))
}

fn step() -> impl Strategy<Value = String> {
    let action = object_of(&["return", "pass", "share", "index", "location", "types", "proxy"], value());
    let conditions = object_of(&["uri", "host", "method", "query"], value());
    (or_any(conditions), or_any(action))
        .prop_map(|(conditions, action)| format!("{{\"match\": {conditions}, \"action\": {action}}}"))
}

fn document() -> impl Strategy<Value = String> {
    let listeners = object_of(
        &["*:80", "unix:@a", "0.0.0.0:80", "bad"],
        or_any(object_of(&["pass", "backlog", "application"], value())),
    );
    let routes = prop_oneof![array_of(or_any(step())), object_of(&["a", "b"], array_of(step()))];
    let application = object_of(
        &["type", "root", "targets", "processes", "limits", "options", "environment", "user", "script"],
        or_any(object_of(&["max", "spare", "timeout", "root", "sapi_name", "admin"], value())),
    );
    let php = (or_any(value()), value()).prop_map(|(processes, root)| {
        format!("{{\"type\": \"php\", \"root\": {root}, \"processes\": {processes}}}")
    });
    let applications = object_of(&["a", "b"], prop_oneof![application, php]);
    let http =
        object_of(&["idle_timeout", "max_body_size", "static", "server_version", "body_temp_path"], value());
    let settings = object_of(&["http", "listen_threads"], or_any(http));
    (or_any(listeners), or_any(routes), or_any(applications), or_any(settings), value()).prop_map(
        |(listeners, routes, applications, settings, access_log)| {
            format!(
                "{{\"listeners\": {listeners}, \"routes\": {routes}, \"applications\": {applications}, \
                 \"settings\": {settings}, \"access_log\": {access_log}}}"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_is_dropped_without_a_problem(document in document()) {
        fuzz_document(document.as_bytes());
    }

    #[test]
    fn parts_alone_are_accepted_or_refused(
        listeners in object_of(&["*:80", "unix:@a"], object_of(&["pass", "backlog"], value())),
        steps in array_of(step()),
    ) {
        fuzz_document(format!("{{\"routes\": {steps}}}").as_bytes());
        fuzz_document(format!("{{\"listeners\": {listeners}, \"routes\": []}}").as_bytes());
    }
}
