//! Problems of a configuration are found in the file that has them.

use super::check_faults;

const JSON: &str = r#"{
    // the site
    "listeners": {
        "*:80": { "pass": "routes/nope" },
        "localhost:1": { "pass": "routes" }
    },
    "rutes": [],
    "routes": [ { "action": { "return": 200 } }, { "action":
        { "retrun": "https://example.com/{\"[" , "return": 301 } } ]
}"#;

#[test]
fn problems_of_json_have_lines_and_columns() {
    check_faults(
        &[("site.json", JSON)],
        &[
            "site.json:4:19: /listeners/*:80/pass: ",
            "site.json:5:9: /listeners/localhost:1: ",
            "site.json:7:5: /rutes: Unknown parameter \"rutes\". Did you mean \"routes\"?",
            "site.json:9:11: /routes/1/action/retrun: ",
        ],
    );
}

#[test]
fn problems_of_yaml_have_lines_and_columns() {
    check_faults(
        &[(
            "site.yaml",
            "listeners:\n  '*:80':\n    pass: routes/nope\nroutes:\n  - action: {return: 200}\n  - action:\n      \
            pass: 1\n",
        )],
        &["site.yaml:3:5: /listeners/*:80/pass: ", "site.yaml:7:7: /routes/1/action/pass: "],
    );
}

#[test]
fn something_missing_is_a_problem_of_where_it_should_be() {
    check_faults(&[("a.yaml", "listeners:\n  '*:80': {}\n")], &["a.yaml:2:3: /listeners/*:80: "]);
    check_faults(&[("a.yaml", "[]")], &["a.yaml:1:1: /: "]);
}

#[test]
fn merged_problems_name_their_file() {
    check_faults(
        &[
            ("a.json", "{\"listeners\": {\"*:80\": {\"pass\": \"routes\"}}}"),
            ("b.yaml", "routes:\n- action:\n    return: many\n"),
        ],
        &["b.yaml:3:5: /routes/0/action/return: "],
    );
}
