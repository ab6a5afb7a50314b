//! The certificate of `corral run --https` is renewed while the site is served: the clock of the daemon is moved.

use corral_testkit::{Address, FakeClock, Run, eventually};

use crate::home::Home;

/// When the served certificate ends, as openssl says it.
#[track_caller]
fn end_of_certificate(home: &Home, address: Address) -> String {
    let command = format!(
        "openssl s_client -connect {address} -servername localhost </dev/null 2>/dev/null | openssl x509 -noout \
        -enddate"
    );
    let output = home.command("sh").args(["-c", &command]).output().expect("sh is there");
    String::from_utf8(output.stdout).expect("a date")
}

#[test]
fn a_certificate_that_nears_its_end_is_replaced_without_a_restart() {
    let (home, address) = (Home::new(), Address::fresh());
    let clock = FakeClock::new(&home.path(""));
    let listen = address.to_string();
    let mut command = home.corral(&["run", &home.site(), "--https", "--listen", &listen]);
    command.envs(clock.environment());
    let mut run = Run::spawn(&mut command);
    run.expect_output(&format!("https://{address}"));
    let first = eventually("it shows a certificate", || {
        Some(end_of_certificate(&home, address)).filter(|end| end.contains("notAfter"))
    });
    clock.set("+59d");
    assert_eq!(end_of_certificate(&home, address), first);
    clock.set("+61d");
    eventually("it shows another certificate", || {
        Some(end_of_certificate(&home, address)).filter(|end| end.contains("notAfter") && *end != first)
    });
    assert!(run.interrupt().status.success());
}
