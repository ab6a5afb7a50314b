//! The database that real sites are tested with.
use corral_testkit::MariaDb;

#[test]
fn it_starts_on_a_socket() {
    let database = MariaDb::start();
    database.execute("CREATE DATABASE site");
    assert!(database.socket().exists());
}
