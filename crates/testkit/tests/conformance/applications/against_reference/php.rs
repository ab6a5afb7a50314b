//! PHP: what scripts get away with under PHP's own server.

mod heads;
mod scripts;

use std::net::SocketAddr;
use std::process::Command;

use corral_testkit::Site;
use serde_json::json;

use super::habit::{Difference, Habit, Language, Reference};

const LANGUAGE: Language = Language {
    habits: &[heads::HABITS, scripts::HABITS],
    write,
    application: |site| {
        let options = json!({ "file": site.path("php.ini") });
        json!({ "type": "php", "root": site.root(), "script": "router.php", "options": options })
    },
};

/// Both read them, whatever the machine's php.ini says.
const SETTINGS: &str = "
display_errors = 0
expose_php = 0
html_errors = 0
log_errors = 1
output_buffering = 4096
variables_order = GPCS
";

fn write(site: &Site, habits: &[Habit]) {
    site.write("php.ini", SETTINGS);
    site.write("router.php", DISPATCHER);
    for habit in habits {
        site.write(&format!("habits/{}.php", habit.name), habit.source);
    }
}

/// Gives a request to the script that its path names.
const DISPATCHER: &str = "<?php
require __DIR__ . '/habits/' . strtok($_SERVER['REQUEST_URI'], '/?') . '.php';
return true;
";

const STATUS: Difference = Difference {
    habits: &["status_as_cgi_says_it"],
    because: "the field Status is the status, as under php-fpm",
};

const NO_TYPE: Difference = Difference {
    habits: &["not_modified_with_a_body"],
    because: "a 304 has no type of its own, as under php-fpm",
};

#[test]
fn php_as_its_own_server() {
    LANGUAGE.compare(&Reference {
        name: "php -S",
        command: own_server,
        is_refusal: |_| false,
        differences: &[STATUS, NO_TYPE],
    });
}

fn own_server(site: &Site, address: SocketAddr) -> Command {
    let mut command = Command::new("/usr/bin/php");
    command.arg("-c").arg(site.path("php.ini"));
    command.args(["-S", &address.to_string(), "router.php"]);
    command
}
