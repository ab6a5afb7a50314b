//! Transactions that a request leaves open.

use corral_testkit::MariaDb;
use serde_json::json;

use super::{guarded, lines};

const TABLE: &str = "$pdo = new PDO('sqlite::memory:'); $pdo->exec('CREATE TABLE t (n INTEGER)');";

#[test]
fn what_a_transaction_wrote_is_gone_when_it_is_rolled_back() {
    let cases = [
        ("begin", "$GLOBALS['pdo']->beginTransaction(); $GLOBALS['pdo']->exec('INSERT INTO t VALUES (1)');"),
        ("count", "echo $GLOBALS['pdo']->query('SELECT count(*) FROM t')->fetchColumn();"),
        ("done", "$GLOBALS['pdo']->beginTransaction(); $GLOBALS['pdo']->commit();"),
    ];
    let (_site, server) = guarded(&json!("restore"), TABLE, &cases);
    for _ in 0..3 {
        server.get("/begin").expect(200);
        server.get("/count").expect(200).expect_body("0");
        server.get("/done").expect(200);
    }
    server.expect_log("guard: GET /begin left a transaction of PDO open, which was rolled back");
    assert_eq!(lines(&server).len(), 1, "{:#?}", lines(&server));
}

/// A class of the application may have its own methods of these names.
#[test]
fn a_subclass_is_watched_as_well() {
    let before = "class Db extends PDO {
            function rollBack(): bool { return false; }
            function inTransaction(): bool { return false; }
        }
        $pdo = new Db('sqlite::memory:');";
    let cases = [("begin", "echo $GLOBALS['pdo']->beginTransaction() ? 'begun' : 'refused';")];
    let (_site, server) = guarded(&json!("restore"), before, &cases);
    (0..3).for_each(|_| drop(server.get("/begin").expect(200).expect_body("begun")));
}

/// PHP itself rolls back when the connection's object goes.
#[test]
fn a_connection_that_is_gone_is_not_asked() {
    let code = "$pdo = new PDO('sqlite::memory:'); $pdo->beginTransaction(); echo 'begun';";
    let (_site, server) = guarded(&json!("report"), "", &[("local", code)]);
    (0..3).for_each(|_| drop(server.get("/local").expect(200).expect_body("begun")));
    assert_eq!(lines(&server), Vec::<String>::new());
}

#[test]
fn transactions_of_mysqli_are_rolled_back() {
    let database = MariaDb::start();
    database.execute("CREATE DATABASE site; CREATE TABLE site.t (n INT) ENGINE=InnoDB");
    let before = format!(
        "$db = new mysqli('localhost', 'corral', '', 'site', 0, '{0}');
         $pdo = new PDO('mysql:unix_socket={0};dbname=site', 'corral');",
        database.socket().display()
    );
    let insert = "global $db; $db->query('INSERT INTO t VALUES (1)');";
    let cases = [
        ("method", format!("global $db; $db->begin_transaction(); {insert}")),
        ("function", format!("global $db; mysqli_begin_transaction($db); {insert}")),
        ("sql", format!("global $db; $db->query('start transaction'); {insert}")),
        ("off", format!("global $db; $db->autocommit(false); {insert}")),
        ("pdo", "global $pdo; $pdo->exec('BEGIN'); $pdo->exec('INSERT INTO t VALUES (1)');".to_owned()),
        ("done", format!("global $db; $db->begin_transaction(); {insert} $db->rollback();")),
        ("count", "global $db; echo $db->query('SELECT count(*) FROM t')->fetch_row()[0];".to_owned()),
    ];
    let borrowed: Vec<_> = cases.iter().map(|(name, code)| (*name, code.as_str())).collect();
    let (_site, server) = guarded(&json!("restore"), &before, &borrowed);
    for (name, _) in &cases[..6] {
        server.get(&format!("/{name}")).expect(200);
        server.get("/count").expect(200).expect_body("0");
    }
    server.expect_log(
        "GET /method left a transaction of mysqli open, which was rolled back; by mysqli::begin_",
    );
    server.expect_log(
        "GET /function left a transaction of mysqli open, which was rolled back; by mysqli_begin_",
    );
    server
        .expect_log("GET /sql left a transaction of mysqli open, which was rolled back; by mysqli::query()");
    server.expect_log("GET /pdo left a transaction of PDO open, which was rolled back; by PDO::exec()");
    assert!(!server.log().contains("GET /done "));
}
