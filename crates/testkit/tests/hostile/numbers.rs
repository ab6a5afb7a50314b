//! Numbers of processes and workers that are not the application's own.

use crate::attack::begin;

#[test]
fn an_application_that_keeps_to_the_rules_is_served() {
    let mut attack = begin();
    let bell = attack.prototype.ready();
    let mut worker = attack.prototype.worker(&bell);
    let request = worker.request();
    worker.answer(&request);
    attack.client.read_response().expect(200);
}
