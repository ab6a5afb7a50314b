//! The table of request-smuggling cases of `corral-http`, replayed over sockets.

use corral_http::smuggling::{Case, cases};
use corral_testkit::{Client, Daemon, daemon, php_app, site};
use serde_json::json;

fn replay(selected: fn(&Case) -> bool, chunked: bool) {
    let cases: Vec<Case> = cases().into_iter().filter(selected).collect();
    assert!(!cases.is_empty());
    // A script: a body is looked at when it is needed.
    let site = site().file("index.php", "<?php echo 'fine';");
    let server = daemon()
        .application(php_app(&site).script("index.php").processes(2))
        .http(json!({ "chunked_transform": chunked }))
        .start();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            replay_one(&server, case).err().map(|error| format!("{} ({}): {error}", case.name, case.about))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

fn replay_one(server: &Daemon, case: &Case) -> Result<(), String> {
    let mut client = server.connect();
    // The server may refuse and close before it has read all.
    let _ = client.try_write(&case.bytes);
    for n in 0..case.n_accepted {
        expect_status(&mut client, 200).map_err(|error| format!("request {n}: {error}"))?;
    }
    match case.refused {
        Some(status) => expect_refusal(&mut client, status),
        // Nothing is left over: the connection serves one more request.
        None => client
            .try_write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .map_err(|error| error.to_string())
            .and_then(|()| expect_status(&mut client, 200)),
    }
}

fn expect_refusal(client: &mut Client, status: u16) -> Result<(), String> {
    client.finish_writing();
    expect_status(client, status)?;
    if !client.is_closed() {
        return Err("something follows the refusal".into());
    }
    Ok(())
}

fn expect_status(client: &mut Client, status: u16) -> Result<(), String> {
    let response = client.try_read_response_to("GET")?;
    if response.status == status { Ok(()) } else { Err(format!("not {status}\n{response}")) }
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn every_case_is_refused_as_the_table_says() {
        replay(|case| !case.without_chunked, true);
    }

    #[test]
    fn every_case_without_chunked_bodies_is_refused_as_the_table_says() {
        replay(|case| case.without_chunked, false);
    }
}
