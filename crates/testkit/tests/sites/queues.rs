//! Queues of frameworks, by their recipes: requests enqueue jobs, and processes beside the site do them.

use std::fs;
use std::time::Duration;

use corral_testkit::{
    Daemon, Redis, Request, Signal, Site, eventually, is_alive, serve_recipe_with, signal, site, within,
};
use serde_json::{Value, json};

use super::fixture;
use super::frameworks::laravel_site;

/// A site with a queue.
struct Shop {
    site: Site,
    server: Daemon,
    /// Names of the applications.
    shop: &'static str,
    worker: &'static str,
    _redis: Redis,
}

/// The recipe, its folder, the site's name in it, and that of the command.
type Recipe = [&'static str; 4];

const CELERY: Recipe = ["django-celery", "/srv/django", "django", "django-celery"];
const SIDEKIQ: Recipe = ["rails-sidekiq", "/srv/rails", "rails", "rails-sidekiq"];
const LARAVEL: Recipe = ["laravel-queue", "/srv/laravel", "laravel", "laravel-queue"];
const MESSENGER: Recipe = ["symfony-messenger", "/srv/symfony", "symfony", "symfony-messages"];

/// Serves a recipe with a small site. `scheme` is that of the queue's address.
fn serve(recipe: Recipe, site: Site, scheme: &str, change: impl FnOnce(&mut Value, &Redis)) -> Shop {
    let [name, folder, shop, worker] = recipe;
    let redis = Redis::start();
    let site = site.writable_folder("out");
    let server = serve_recipe_with(name, folder, &site, |config| {
        let applications = &mut config["applications"];
        let members = applications.as_object_mut().expect("an object").values_mut();
        members.for_each(|application| {
            application["environment"]["BROKER"] = json!(format!("{scheme}{}", redis.socket()));
        });
        change(applications, &redis);
    });
    Shop { site, server, shop, worker, _redis: redis }
}

impl Shop {
    fn enqueue(&self, job: &str) {
        self.server.get(&format!("/enqueue/{job}")).expect(200).expect_body("enqueued");
    }

    fn journal(&self) -> String {
        fs::read_to_string(self.site.path("out/journal")).unwrap_or_default()
    }

    #[track_caller]
    fn wait_for(&self, line: &str) {
        let found = within(Duration::from_secs(60), || self.journal().contains(line).then_some(()));
        assert!(found.is_some(), "no {line:?} in {:?}\n{}", self.journal(), self.server.log());
    }

    fn workers(&self) -> Vec<u32> {
        let (log, begin) = (self.server.log(), format!("\"{}\" application started, process ", self.worker));
        let begun = log.lines().filter_map(|line| line.split_once(&begin)?.1.trim().parse().ok());
        begun.filter(|pid| is_alive(*pid)).collect()
    }

    /// A worker does jobs, finishes the one that it has when its site is restarted, and is replaced when it is killed.
    fn check(&self) {
        self.enqueue("first");
        self.wait_for("end first");
        self.enqueue("long");
        self.wait_for("begin long");
        let before = self.workers();
        let restart = Request::new("POST", &format!("/control/applications/{}/restart", self.shop));
        self.server.control().send(&restart).0.expect(200);
        assert!(before.len() == 1 && is_alive(before[0]), "it has a job\n{}", self.server.log());
        self.site.write("out/go", "");
        self.wait_for("end long");
        eventually("the worker before has ended", || (!is_alive(before[0])).then_some(()));
        self.enqueue("second");
        self.wait_for("end second");
        let killed = eventually("another one runs", || self.workers().first().copied());
        signal(killed, Signal::KILL);
        eventually("it is replaced", || self.workers().iter().any(|pid| *pid != killed).then_some(()));
        self.enqueue("third");
        self.wait_for("end third");
        for job in ["first", "long", "second", "third"] {
            assert_eq!(self.journal().matches(&format!("begin {job}")).count(), 1, "{}", self.journal());
        }
    }
}

#[test]
fn celery_does_what_django_enqueues() {
    serve(CELERY, site().copy_of(&fixture("celery")), "redis+socket://", |applications, _| {
        let command = |rest: &str| json!(format!("/usr/bin/python3 -m celery -A mysite {rest}"));
        applications["django-celery"]["command"] = command("worker --loglevel=INFO --concurrency=1");
        applications["django-beat"]["command"] = command("beat --schedule=out/celerybeat");
    })
    .check();
}

#[test]
fn sidekiq_does_what_a_site_of_ruby_enqueues() {
    serve(SIDEKIQ, site().copy_of(&fixture("sidekiq")), "unix://", |applications, _| {
        applications["rails-sidekiq"]["command"] = json!("/usr/bin/sidekiq -r ./jobs.rb -c 1");
    })
    .check();
}

/// Laravel, with a queue that is looked at every second.
fn laravel(change: impl FnOnce(&mut Value)) -> Shop {
    let site = laravel_site().copy_of(&fixture("laravel-queue"));
    serve(LARAVEL, site, "", |applications, redis| {
        let queue = &mut applications["laravel-queue"]["processes"]["queue"];
        queue["command"] = json!(format!("redis-cli -s {} llen queues:default", redis.socket()));
        queue["interval"] = json!(1);
        change(applications);
    })
}

#[test]
fn laravels_queue_does_what_it_enqueues() {
    laravel(|_| ()).check();
}

#[test]
fn laravels_queue_has_workers_by_its_length() {
    let shop = laravel(|applications| {
        let processes = &mut applications["laravel-queue"]["processes"];
        (processes["max"], processes["spare"], processes["idle_timeout"]) = (json!(3), json!(0), json!(1));
        processes["queue"]["per_process"] = json!(1);
    });
    let running = |n: u32| {
        let app = || shop.server.control().get("/status/applications/laravel-queue").json();
        let is_so = |app: &Value| app["processes"]["running"] == n && app["queue"]["wanted"] == n;
        let found = within(Duration::from_secs(60), || is_so(&app()).then_some(()));
        assert!(found.is_some(), "{}\n{}", app(), shop.server.log());
    };
    running(0);
    (1..=9).for_each(|n| shop.enqueue(&format!("long-{n}")));
    running(3);
    shop.site.write("out/go", "");
    (1..=9).for_each(|n| shop.wait_for(&format!("end long-{n}")));
    running(0);
}

#[test]
fn laravels_schedule_is_run() {
    let shop = laravel(|applications| applications["laravel-scheduler"]["schedule"] = json!("@every 1s"));
    shop.wait_for("scheduled");
    let schedule = shop.server.control().get("/status/applications/laravel-scheduler/schedule").json();
    assert_eq!(schedule["runs"]["failed"], 0, "{schedule}");
}

#[test]
fn symfonys_messenger_does_what_it_enqueues() {
    let site = site().copy_of(&fixture("symfony")).copy_of(&fixture("messenger")).writable_folder("var");
    serve(MESSENGER, site, "redis://", |_, _| ()).check();
}
