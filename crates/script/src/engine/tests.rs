//! Results of templates, and what they cannot do.

use std::time::Instant;

use crate::machine::time_of_thread;

use proptest::prelude::*;

use super::*;
use crate::scope::{Lookup, ScopePair};

/// A request in a test.
#[derive(Default, Clone)]
struct Fixed {
    arguments: Vec<(Vec<u8>, Vec<u8>)>,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
}

impl ScopeRequest for Fixed {
    fn append(&mut self, variable: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(match variable {
            "uri" => b"/blog/1",
            "host" => b"example.com",
            _ => b"127.0.0.1",
        });
    }

    fn arguments(&mut self, visit: &mut dyn FnMut(ScopePair<'_>)) {
        self.arguments.iter().for_each(|(name, value)| visit((name, value)));
    }

    fn headers(&mut self, visit: &mut dyn FnMut(ScopePair<'_>)) {
        self.headers.iter().for_each(|(name, value)| visit((name, value)));
    }

    fn cookies(&mut self, visit: &mut dyn FnMut(ScopePair<'_>)) {
        visit((b"session", b"abc"));
        visit((b"session", b"second"));
    }

    fn variables(&mut self) -> Lookup {
        Box::new(|name, out| {
            let value = match name {
                "method" => "GET",
                "header_absent" => "",
                _ => return false,
            };
            out.extend_from_slice(value.as_bytes());
            true
        })
    }
}

fn request() -> Fixed {
    let own = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(n, v)| (n.as_bytes().into(), v.as_bytes().into())).collect()
    };
    Fixed {
        arguments: own(&[
            ("a", "1"),
            ("b", "2"),
            ("a", "3"),
            ("a", "4"),
            ("__proto__", "p"),
            ("toString", "t"),
        ]),
        headers: own(&[
            ("Host", "example.com"),
            ("X-Two", "first"),
            ("X-Two", "second"),
            ("constructor", "c"),
        ]),
    }
}

const LIMITS: ScriptLimits = ScriptLimits { memory: 32 << 20, time: Duration::from_millis(200) };

fn engine(modules: &[(&str, &str)]) -> Result<Engine, ModuleError> {
    let own =
        |(name, source): &(&str, &str)| LoadedModule { name: (*name).to_owned(), source: (*source).into() };
    CompiledProgram::new(modules.iter().map(own).collect(), LIMITS).map(Engine::new)
}

fn evaluate(engine: &Engine, template: &str) -> Result<String, String> {
    let mut out = Vec::new();
    let result = engine.evaluate(template.as_bytes(), &mut request(), &mut out);
    let text = String::from_utf8(out).expect("results are UTF-8");
    result.map(|()| text).map_err(|error| error.to_string())
}

#[track_caller]
fn check(template: &str, expect: &str) {
    let engine = engine(&[]).expect("no module can fail");
    assert_eq!(evaluate(&engine, template).as_deref(), Ok(expect), "{template}");
}

#[track_caller]
fn fails(template: &str, expect: &str) {
    let engine = engine(&[]).expect("no module can fail");
    let error = evaluate(&engine, template).expect_err(template);
    assert!(error.contains(expect), "{template}: {error}");
    assert!(!error.contains('\n'), "{error}");
    // Whatever happened, the next request is served.
    assert_eq!(evaluate(&engine, "`${uri}`").as_deref(), Ok("/blog/1"));
}

#[test]
fn a_request_is_in_scope() {
    check("``", "");
    check("`plain`", "plain");
    check("`${uri} ${host} ${remoteAddr}`", "/blog/1 example.com 127.0.0.1");
    check("`${args.b}`", "2");
    check("`${JSON.stringify(args.a)}`", r#"["1","3","4"]"#);
    check("`${args.__proto__} ${args.toString}`", "p t");
    check("`${args.none}`", "undefined");
    check("`${headers.Host} ${headers['X-Two']} ${headers.host}`", "example.com first undefined");
    check("`${Object.keys(headers)}`", "Host,X-Two,constructor");
    check("`${cookies.session} ${Object.keys(cookies)}`", "abc session");
    check("`${'session' in cookies} ${'x' in cookies} ${headers.hasOwnProperty('Host')}`", "true false true");
    check("`${vars.method} ${vars['method']} ${vars.nothing}`", "GET GET undefined");
    check("`${'method' in vars} ${'nothing' in vars} [${vars.header_absent}]`", "true false []");
    check("`${(v => v.method)(vars)}`", "GET");
    check("`${\\u0075ri}`", "/blog/1");
}

/// A client may send any bytes: what a script hands on of them is what they were.
#[test]
fn bytes_that_are_no_text_come_through() {
    let engine = engine(&[]).expect("no module can fail");
    let mut request = request();
    let value = b"/a\xe9\xff/\xf0\x9f\x98\x80\xed\xb2\x80\0\xc0\xae.";
    request.arguments = vec![(b"a".to_vec(), value.to_vec()), (b"\xe9".to_vec(), b"b\xe9".to_vec())];
    let mut evaluate = |source: &str| {
        let mut out = Vec::new();
        engine.evaluate(source.as_bytes(), &mut request, &mut out).expect("nothing is wrong with it");
        out
    };
    assert_eq!(evaluate("`${args.a}`"), value);
    assert_eq!(evaluate("`/x${args.a.slice(2)}`"), [b"/x", &value[2..]].concat());
    assert_eq!(evaluate("`${Object.keys(args)[1]}${args[Object.keys(args)[1]]}`"), b"\xe9b\xe9");
    assert_eq!(evaluate("`${encodeURIComponent(args.a)}`"), b"%2Fa%E9%FF%2F%F0%9F%98%80%ED%B2%80%00%C0%AE.");
    assert_eq!(evaluate("`${encodeURI('/\u{20ac} ' + args.a.slice(2, 3))}`"), b"/%E2%82%AC%20%E9");
    assert_eq!(evaluate("`${args.a.toWellFormed().slice(0, 3)}`"), "/a\u{fffd}".as_bytes());
}

#[test]
fn results_become_text_as_javascript_has_it() {
    check("`a`.length", "1");
    check("`a`;", "a");
    check("`${null} ${true} ${1.5} ${[1, 2]} ${{}}`", "null true 1.5 1,2 [object Object]");
    check("`a` && null", "null");
    check("`a` && undefined", "undefined");
    check("`a` && {toString: () => 'own'}", "own");
    check("`${'\\ud800'}x`", "\u{fffd}x");
    check("`${'\\u0000'}`", "\0");
    check("`😀`", "😀");
    check("`${new Date(0).toISOString()}`", "1970-01-01T00:00:00.000Z");
    check("`${/b(.)/.exec('abc')[1]}`", "c");
}

#[test]
fn what_goes_wrong_is_an_exception() {
    fails("`${nobody}`", "ReferenceError: nobody is not defined");
    fails("`${uri.a.b}`", "TypeError");
    fails("`${(() => { throw new Error('own\\nwords') })()}`", "Error: own words");
    fails("`${(() => { throw 'text' })()}`", "text");
    fails("`${(() => { throw Symbol('s') })()}`", "exception");
    fails("`${(() => { throw {get message() { throw 1 }, toString() { throw 2 }} })()}`", "exception");
    fails("`${(() => { throw null })()}`", "null");
    fails("`a` && Symbol('s')", "TypeError");
    fails("`a` && {toString() { throw new RangeError('r') }}", "RangeError: r");
    fails("`${eval('uri')}`", "ReferenceError");
    fails("`${(function f() { return f() })()}`", "RangeError");
    fails("`${undeclared = 1}`", "");
}

#[test]
fn a_script_has_a_time_limit() {
    let started = Instant::now();
    fails("`${(() => { for (;;) {} })()}`", "time limit of 200 ms");
    fails("`${(() => { for (;;) { try { for (;;) {} } catch { continue } } })()}`", "time limit");
    fails("`${/(a+)+$/.test('a'.repeat(40) + 'b')}`", "time limit");
    fails("`a` && {toString() { for (;;) {} }}", "time limit");
    fails("`${(() => { throw {toString() { for (;;) {} }} })()}`", "time limit");
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// A script that is kept from running by others, or that waits, is not stopped for that.
#[test]
fn the_time_of_a_script_is_that_of_its_processor() {
    let started = time_of_thread();
    std::thread::sleep(Duration::from_millis(20));
    assert!(time_of_thread() - started < Duration::from_millis(20), "a thread that sleeps is not run");
    let began = Instant::now();
    while time_of_thread() - started < Duration::from_millis(20) {
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn jobs_are_not_left_to_the_next_script() {
    let engine = engine(&[]).expect("no module can fail");
    let forever = "`${(() => { const next = () => { Promise.resolve().then(next) }; next() })()}`";
    for _ in 0..3 {
        assert_eq!(evaluate(&engine, forever).as_deref(), Ok("undefined"));
    }
    assert!(engine.machine.borrow().is_none(), "it starts anew");
    assert_eq!(evaluate(&engine, "`${Promise.resolve(1)}`").as_deref(), Ok("[object Promise]"));
}

#[test]
fn a_script_has_a_memory_limit() {
    fails("`${'x'.repeat(1e8)}`", "memory");
    fails("`${(() => { const all = []; for (;;) { all.push(new Array(1000).fill(1)) } })()}`", "");
}

#[test]
fn nothing_is_left_for_the_next_request() {
    let engine = engine(&[("m", "export default { list: [], count: 0 }")]).expect("the module is right");
    for attack in [
        "`${globalThis.left = 1}`",
        "`${Object.prototype.left = 1}`",
        "`${Array.prototype.push = () => 'mine'}`",
        "`${String.prototype.toWellFormed = () => 'mine'}`",
        "`${JSON.stringify = () => 'mine'}`",
        "`${m.left = 1}`",
        "`${m.list.push(1)}`",
        "`${delete globalThis.JSON}`",
        "`${Object.getPrototypeOf((function* () {})()).next = 1}`",
        "`${vars.left = 1}`",
        "`${Object.setPrototypeOf(globalThis, {left: 1})}`",
        "`${Error.prototype.left = 1}`",
    ] {
        let error = evaluate(&engine, attack).expect_err(attack);
        assert!(error.contains("TypeError"), "{attack}: {error}");
    }
    let left =
        "`${globalThis.left} ${({}).left} ${JSON.stringify([1])} ${m.list.length} ${m.left} ${vars.left}`";
    assert_eq!(evaluate(&engine, left).as_deref(), Ok("undefined undefined [1] 0 undefined undefined"));
}

#[test]
fn own_objects_may_have_names_that_all_objects_have() {
    check("`${(() => { const o = {}; o.toString = () => 'own'; return o })()}`", "own");
    check("`${(() => { const e = new Error('a'); e.message = 'b'; e.name = 'N'; return e })()}`", "N: b");
    check(
        "`${(() => { class A extends Error { constructor() { super('x'); this.name = 'A' } } return new A() })()}`",
        "A: x",
    );
    check("`${(() => { const o = {}; o.left = 1; return ({}).left })()}`", "undefined");
}

#[test]
fn modules_are_there_by_name() {
    let modules = [
        ("http", "import helper from 'helper'; export default { route(h) { return helper(h['X-Two']) } }"),
        ("helper", "export default value => `<${value}>`;"),
        ("named", "export function hello() { return 'hello' }"),
        ("cycle", "import http from 'http'; export default () => http.route({'X-Two': 'c'})"),
    ];
    let engine = engine(&modules).expect("the modules are right");
    let template = "`${http.route(headers)} ${helper(1)} ${named.hello()} ${cycle()}`";
    assert_eq!(evaluate(&engine, template).as_deref(), Ok("<first> <1> hello <c>"));
    let error = evaluate(&engine, "`${other.route()}`").expect_err("there is no such module");
    assert!(error.contains("other is not defined"), "{error}");
}

#[test]
fn modules_that_cannot_be_used_are_found_at_once() {
    let error = |source: &str| match engine(&[("m", source)]) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{source}"),
    };
    assert!(error("export default {").starts_with("load JS module \"m\": SyntaxError: "));
    assert_eq!(error("throw new Error('at load')"), "load JS module \"m\": Error: at load");
    assert!(error("import x from 'absent'; export default x").contains("absent"));
    assert!(error("await new Promise(() => {})").contains("load JS module \"m\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever clients send, a template gives bytes or an exception, and the engine goes on.
    #[test]
    fn no_request_breaks_a_template(
        names in prop::collection::vec((".{0,8}", prop::collection::vec(any::<u8>(), 0..8)), 0..8),
    ) {
        thread_local! {
            static ENGINE: Engine = engine(&[]).expect("no module can fail");
        }
        let pairs: Vec<_> = names.into_iter().map(|(name, value)| (name.into_bytes(), value)).collect();
        let mut request = Fixed { arguments: pairs.clone(), headers: pairs };
        ENGINE.with(|engine| {
            let mut out = Vec::new();
            let template = b"`${JSON.stringify(args)}${Object.keys(headers).join()}${Object.values(headers)}`";
            assert!(engine.evaluate(template, &mut request, &mut out).is_ok());
        });
    }

    /// Whatever a configuration holds as a template, evaluating it ends well and appends nothing or UTF-8.
    #[test]
    fn no_template_breaks_the_engine(text in "`[-a-z`${}().;=>+'\"\\\\/ \\[\\]0-9,]{0,40}`?") {
        thread_local! {
            static ENGINE: Engine = engine(&[]).expect("no module can fail");
        }
        ENGINE.with(|engine| {
            let _ = evaluate(engine, &text);
            assert_eq!(evaluate(engine, "`${uri}`").as_deref(), Ok("/blog/1"));
        });
    }
}
