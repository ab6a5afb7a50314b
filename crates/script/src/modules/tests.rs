//! Facilities of scripts besides their own modules, and their use.

use std::time::Duration;

use crate::engine::{CompiledProgram, Engine, LoadedModule, ScriptLimits};
use crate::scope::{Lookup, ScopePair, ScopeRequest};

struct Nothing;

impl ScopeRequest for Nothing {
    fn append(&mut self, _: &str, _: &mut Vec<u8>) {}
    fn arguments(&mut self, _: &mut dyn FnMut(ScopePair<'_>)) {}
    fn headers(&mut self, _: &mut dyn FnMut(ScopePair<'_>)) {}
    fn cookies(&mut self, _: &mut dyn FnMut(ScopePair<'_>)) {}
    fn variables(&mut self) -> Lookup {
        Box::new(|_, _| false)
    }
}

fn engine(source: &str) -> Result<Engine, String> {
    let module = |name: &str, source: &str| LoadedModule { name: name.to_owned(), source: source.into() };
    let modules = vec![module("m", source), module("helper", "export default 'own'")];
    let limits = ScriptLimits { memory: 64 << 20, time: Duration::from_millis(2000) };
    CompiledProgram::new(modules, limits).map(Engine::new).map_err(|error| error.to_string())
}

/// The result of a call of the module's function.
fn run(imports: &str, expression: &str) -> Result<String, String> {
    let engine = engine(&format!("{imports}; export default () => {expression};"))?;
    let mut out = Vec::new();
    engine.evaluate(b"`${m()}`", &mut Nothing, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).expect("scripts give UTF-8"))
}

#[track_caller]
fn check(imports: &str, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(run(imports, expression).as_deref(), Ok(*expected), "{expression}");
    }
}

#[track_caller]
fn fail(imports: &str, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        let error = run(imports, expression).expect_err(expression);
        assert!(error.contains(expected), "{expression}: {error}");
    }
}

const CRYPTO: &str = "import crypto from 'crypto'";

#[test]
fn hashes_and_codes_are_those_of_the_standards() {
    check(
        CRYPTO,
        &[
            ("crypto.createHash('md5').update('abc').digest('hex')", "900150983cd24fb0d6963f7d28e17f72"),
            (
                "crypto.createHash('sha1').update('a').update('bc').digest('hex')",
                "a9993e364706816aba3e25717850c26c9cd0d89d",
            ),
            (
                "crypto.createHash('sha256').digest('hex')",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "crypto.createHash('sha1').update('A').update('B').digest('base64url')",
                "BtlFlCqiamG-GMPiK_GbvKjdK10",
            ),
            (
                "crypto.createHash('sha1').update('A').update('B').digest('base64')",
                "BtlFlCqiamG+GMPiK/GbvKjdK10=",
            ),
            (
                "crypto.createHmac('sha1', 'secret.key').update('AB').digest('base64url')",
                "Oglm93xn23_MkiaEq_e9u8zk374",
            ),
            (
                "crypto.createHmac('md5', 'key').update('The quick brown fox jumps over the lazy dog').digest('hex')",
                "80070713463e7749b90c2dc24911e275",
            ),
            (
                "crypto.createHmac('sha256', Buffer.from('6b6579', 'hex')).update(Buffer.from('The quick brown fox \
                jumps over the lazy dog')).digest('hex')",
                "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
            ),
            (
                "crypto.createHash('md5').update('616263', 'hex').digest('hex')",
                "900150983cd24fb0d6963f7d28e17f72",
            ),
            ("crypto.createHash('md5').update('é').digest('hex')", "66ddcd97cfdeabb2f6fb8a999b4bc76f"),
            ("crypto.createHash('md5').digest().length", "16"),
            ("Buffer.isBuffer(crypto.createHash('sha256').digest())", "true"),
            (
                "(() => { const one = crypto.createHash('md5').update('ab'); const two = one.copy().update('c'); \
                return [one.digest('hex') === two.digest('hex'), typeof two.update] })()",
                "false,function",
            ),
            (
                "crypto.createHash('sha1').update(new Uint16Array([0x6161])).digest('hex')",
                "e0c9035898dd52fc65c41454cec9c4d2611bfb37",
            ),
        ],
    );
    check(
        "import { createHash } from 'crypto'",
        &[("createHash('md5').update('abc').digest('hex').length", "32")],
    );
}

#[test]
fn what_is_wrong_with_a_hash_is_said() {
    fail(
        CRYPTO,
        &[
            ("crypto.createHash('sha3')", "TypeError: not supported algorithm: \"sha3\""),
            ("crypto.createHash()", "TypeError: algorithm must be a string"),
            ("crypto.createHmac('sha1')", "TypeError: data is not a string or Buffer-like object"),
            ("crypto.createHash('md5').update(1)", "TypeError: data is not a string"),
            ("crypto.createHash('md5').digest('base32')", "TypeError: \"base32\" encoding is not supported"),
            (
                "(() => { const hash = crypto.createHash('md5'); hash.digest(); hash.digest() })()",
                "Error: Digest already called",
            ),
            (
                "(() => { const hash = crypto.createHash('md5'); hash.digest(); hash.update('a') })()",
                "Error: Digest already called",
            ),
        ],
    );
}

#[test]
fn query_strings_are_read_and_written() {
    check(
        "import qs from 'querystring'",
        &[
            (
                "JSON.stringify(qs.parse('a=1&b=2&a=3&c&=d&e=f=g'))",
                r#"{"a":["1","3"],"b":"2","c":"","":"d","e":"f=g"}"#,
            ),
            (
                "JSON.stringify(qs.parse('a=%D0%BB+x%20y&%zz=%&bad=%ff'))",
                "{\"a\":\"л x y\",\"%zz\":\"%\",\"bad\":\"\u{fffd}\"}",
            ),
            ("JSON.stringify(qs.parse('a:1;b:2', ';', ':'))", r#"{"a":"1","b":"2"}"#),
            ("JSON.stringify(qs.parse('a=1&b=2&c=3', null, null, { maxKeys: 2 }))", r#"{"a":"1","b":"2"}"#),
            ("JSON.stringify(qs.parse('__proto__=1&toString=2'))", r#"{"__proto__":"1","toString":"2"}"#),
            ("JSON.stringify([qs.parse(''), qs.parse(), qs.parse(null)])", "[{},{},{}]"),
            (
                "qs.stringify({ a: [1, true], b: 'x y&z', c: null, d: undefined, e: 10n })",
                "a=1&a=true&b=x%20y%26z&c=&d=&e=10",
            ),
            ("qs.stringify({ a: 1, b: 2 }, ';', ':')", "a:1;b:2"),
            ("[qs.stringify('text'), qs.stringify(), qs.stringify(null)].join()", ",,"),
            ("qs.escape('a b/\u{e9}') + qs.unescape('%41%E9%C3%A9%')", "a%20b%2F%C3%A9A\u{fffd}\u{e9}%"),
            ("[qs.decode('a=1').a, qs.encode({ a: 1 })].join()", "1,a=1"),
        ],
    );
    check("import { parse, stringify } from 'querystring'", &[("stringify(parse('a=1&a=2'))", "a=1&a=2")]);
}

#[test]
fn buffers_know_encodings() {
    let cases = [
        ("Buffer.from('é').toString('hex')", "c3a9"),
        ("Buffer.from('w6k', 'base64').toString()", "é"),
        ("Buffer.from('-_-_', 'base64').equals(Buffer.from('+/+/', 'base64url'))", "true"),
        ("Buffer.from('YQ==YQ', 'base64') + Buffer.from('a', 'base64')", "a"),
        ("Buffer.from('6162zz63', 'hex') + Buffer.from('616', 'hex')", "aba"),
        (
            "Buffer.from([104, 105]) + Buffer.from(new Uint8Array([33])) + Buffer.from(new Uint8Array([1, \
            63]).buffer, 1)",
            "hi!?",
        ),
        ("Buffer.from('\\xe9', 'latin1').length + Buffer.from([233]).toString('binary')", "1é"),
        ("Buffer.concat([Buffer.from('a'), Buffer.from('bc')], 2)", "ab"),
        ("JSON.stringify(Buffer.from('a'))", r#"{"type":"Buffer","data":[97]}"#),
        ("Buffer.from(JSON.parse(JSON.stringify(Buffer.from('abc'))))", "abc"),
        ("Buffer.alloc(3, 'ab') + Buffer.alloc(2).length", "aba2"),
        ("Buffer.byteLength('é') + Buffer.compare(Buffer.from('a'), Buffer.from('b'))", "1"),
        (
            "[Buffer.isBuffer(new Uint8Array(1)), Buffer.isEncoding('UTF-8'), Buffer.isEncoding('x')].join()",
            "false,true,false",
        ),
        ("Buffer.from('abcabc').indexOf('ca') + Buffer.from('abc').indexOf('x') * 10", "-8"),
        ("Buffer.from('abcdef').slice(1, -1).toString('utf8', 1, 3)", "cd"),
        (
            "(() => { const b = Buffer.alloc(8); const end = b.writeUInt32BE(0x61626364, 2); return \
            b.readUInt16BE(2) + ' ' + end + b.slice(2, end) })()",
            "24930 6abcd",
        ),
        (
            "(() => { const b = Buffer.from('abcdef'); b.write('XY', 1); b.copy(b, 4, 1, 3); return b })()",
            "aXYdXY",
        ),
        (
            "'' + new TextDecoder().decode(new TextEncoder().encode('é\u{fffd}')) + new \
            TextEncoder().encodeInto('éa', new Uint8Array(2)).read",
            "é\u{fffd}1",
        ),
        (
            "new TextDecoder('utf-8', { fatal: true }).decode(new TextEncoder().encode('\u{fffd}'))",
            "\u{fffd}",
        ),
        ("new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff]))", "a\u{fffd}"),
        ("btoa(atob('aGk='))", "aGk="),
    ];
    check("", &cases);
    check(
        "import buffer, { Buffer as B } from 'buffer'",
        &[("buffer.Buffer === Buffer && B === Buffer", "true")],
    );
    fail(
        "",
        &[
            ("Buffer.from(1)", "TypeError: first argument"),
            ("Buffer.from('a', 'utf-7')", "TypeError: \"utf-7\" encoding"),
            ("Buffer.from('abc').readUInt32LE(1)", "RangeError"),
            ("new TextDecoder('utf-16')", "RangeError: The \"utf-16\" encoding"),
            (
                "new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))",
                "TypeError: The encoded data",
            ),
        ],
    );
}

#[test]
fn njs_says_what_it_is() {
    check("", &[("typeof globalThis.njs.version", "string"), ("njs.version_number >= 0x000800", "true")]);
    check("const self = this", &[("typeof self", "undefined")]);
    check("import m from 'helper'; const top = this", &[("[m, typeof top].join()", "own,undefined")]);
}

#[test]
fn a_module_of_the_configuration_has_its_name_for_itself() {
    let limits = ScriptLimits { memory: 64 << 20, time: Duration::from_millis(200) };
    let modules = [
        ("m", "import crypto from 'crypto'; export default () => crypto"),
        ("crypto", "export default 'own'"),
    ];
    let modules = modules.map(|(name, source)| LoadedModule { name: name.to_owned(), source: source.into() });
    let engine = Engine::new(CompiledProgram::new(modules.into(), limits).expect("the modules are right"));
    let mut out = Vec::new();
    engine.evaluate(b"`${m()} ${crypto}`", &mut Nothing, &mut out).expect("it is found");
    assert_eq!(out, b"own own");
}

#[test]
fn what_is_not_here_is_refused_by_name() {
    for (import, reason) in [
        ("import fs from 'fs'", "scripts have no files"),
        ("import xml from 'xml'", "njs's module \"xml\" is not part of this server"),
        ("import zlib from 'zlib'", "njs's module \"zlib\" is not part of this server"),
        ("import bytes from 'njs:bytes'", "njs:bytes"),
        ("import http from 'http'", "http"),
        ("import { nothing } from 'crypto'", "nothing"),
    ] {
        let error = engine(&format!("{import}; export default 1")).err().expect(import);
        assert!(error.starts_with("load JS module \"m\": ") && error.contains(reason), "{import}: {error}");
    }
}

#[test]
fn what_is_shared_cannot_be_changed() {
    let imports = "import crypto from 'crypto'; import qs from 'querystring'; import buffer from 'buffer'";
    fail(
        imports,
        &[
            ("crypto.createHash = 1", "TypeError"),
            ("Object.getPrototypeOf(crypto.createHash('md5')).update = 1", "TypeError"),
            ("crypto.createHash('md5').constructor.left = 1", "TypeError"),
            ("qs.parse.left = 1", "TypeError"),
            ("buffer.Buffer = 1", "TypeError"),
            ("Buffer.prototype.toString = 1", "TypeError"),
            ("njs.version = 1", "TypeError"),
            ("TextEncoder.prototype.encode = 1", "TypeError"),
        ],
    );
}

#[test]
fn bytes_have_the_limits_of_scripts() {
    fail(
        CRYPTO,
        &[
            ("Buffer.alloc(1e9)", "memory"),
            ("(() => { const all = []; for (;;) all.push(Buffer.alloc(1e7)) })()", "memory"),
        ],
    );
}
