//! Projects in Ruby and Perl, as `corral run` serves them without a configuration.

use corral_testkit::{Address, Run, site};

use crate::serve;

const RACK: &str = r#"run ->(env) { [200, {}, ["Rack #{env['PATH_INFO']} #{Dir.pwd}"]] }"#;
const PSGI: &str =
    r#"use Cwd; my $app = sub { my $env = shift; [200, [], ["PSGI $env->{PATH_INFO} " . getcwd()]] };"#;

#[test]
fn an_application_gets_what_is_no_file() {
    for (interface, script, code) in
        [("Rack", "config.ru", RACK), ("PSGI", "app.psgi", PSGI), ("PSGI", "bin/app.psgi", PSGI)]
    {
        let site = site()
            .file(script, code)
            .file("public/style.css", "body {}")
            .file("public/.secret", "secret")
            .file("secrets.txt", "secret");
        let (run, mut client) = serve(&site);
        let root = site.path("").canonicalize().unwrap();
        client.get("/x").expect(200).expect_body(format!("{interface} /x {}", root.display()));
        client.get("/style.css").expect(200).expect_field("Content-Type", "text/css").expect_body("body {}");
        client.get("/secrets.txt").expect(200).expect_text(&format!("{interface} /secrets.txt"));
        client.get("/.secret").expect(404);
        let found = format!("{interface} application {}", root.join(script).display());
        assert!(run.stdout().starts_with(&found), "{}", run.stdout());
    }
}

#[test]
fn what_cannot_be_loaded_is_told() {
    for (script, code, problem) in [
        ("config.ru", "require 'nothing_of_that_name'", "cannot load such file -- nothing_of_that_name"),
        ("app.psgi", "use Nothing::Of::That::Name;", "Can't locate Nothing/Of/That/Name.pm"),
    ] {
        let site = site().file(script, code);
        let address = Address::fresh();
        let outcome = Run::to_end(&["run", &site.root(), "--listen", &address.to_string()]);
        assert!(!outcome.status.success(), "{outcome:#?}");
        assert!(outcome.stderr.contains(problem), "{outcome:#?}");
    }
}
