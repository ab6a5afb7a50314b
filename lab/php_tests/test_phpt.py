"""Test files, read right: a test that is asked for otherwise than it says compares nothing."""

import tempfile
import unittest
from pathlib import Path

from . import declared, expectation, reply, settings
from .phpt import Request, Test, read


def test_of(text: bytes) -> Test:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.phpt"
        path.write_bytes(text)
        return read(path, "ext/a/tests/a")


class Requests(unittest.TestCase):
    def test_a_plain_test_is_a_get(self) -> None:
        test = test_of(b"--TEST--\nname\n--FILE--\n<?php echo 1; ?>\n--EXPECT--\n1\n")
        self.assertFalse(test.is_web)
        self.assertEqual(test.code, b"<?php echo 1; ?>\n")
        self.assertEqual(test.request, Request("GET", "/ext/a/tests/a.php"))

    def test_sections_make_the_request(self) -> None:
        test = test_of(b"--GET--\na=1&b=2\n--POST--\nc=3\n--COOKIE--\nd=4;\ne=5\n--FILE--\nx\n")
        self.assertTrue(test.is_web)
        request = test.request
        self.assertEqual((request.method, request.target, request.body), ("POST", "/ext/a/tests/a.php?a=1&b=2", b"c=3"))
        self.assertIn(("Content-Type", b"application/x-www-form-urlencoded"), request.fields)
        self.assertIn(("Cookie", b"d=4; e=5"), request.fields)

    def test_a_raw_body_says_its_type(self) -> None:
        request = test_of(b"--POST_RAW--\nContent-Type: text/plain\nline\nContent-Type: b\n--FILE--\nx\n").request
        self.assertEqual(request.fields, (("Content-Type", b"text/plain"),))
        self.assertEqual(request.body, b"line\nContent-Type: b")

    def test_variables_of_a_server_become_the_request(self) -> None:
        text = b"--ENV--\nSCRIPT_NAME=/a.php\nPATH_INFO=/x\nHTTP_ACCEPT_ENCODING=gzip\nOWN=1\n--FILE--\nx\n"
        test = test_of(text)
        self.assertEqual(test.request.target, "/ext/a/tests/a.php/x")
        self.assertEqual(test.request.fields, (("Accept-Encoding", b"gzip"),))
        self.assertEqual(test.environment, {"OWN": "1"})


class Expectations(unittest.TestCase):
    def check(self, section: str, pattern: bytes, body: bytes) -> bool:
        return expectation.is_met(test_of(b"--FILE--\nx\n--" + section.encode() + b"--\n" + pattern), body)

    def test_text_is_compared_without_its_ends(self) -> None:
        self.assertTrue(self.check("EXPECT", b"a\r\nb\n", b"a\nb"))
        self.assertFalse(self.check("EXPECT", b"a.c\n", b"abc"))

    def test_placeholders_stand_for_what_changes(self) -> None:
        self.assertTrue(self.check("EXPECTF", b"int(%d) in %s:%d (%S)", b"int(12) in /a/b.php:3 ()"))
        self.assertTrue(self.check("EXPECTF", b"%rone|two%r+", b"two+"))
        self.assertFalse(self.check("EXPECTF", b"int(%d)", b"int(x)"))

    def test_expressions_are_taken_as_they_are(self) -> None:
        self.assertTrue(self.check("EXPECTREGEX", b"a+b?", b"aaa"))
        self.assertFalse(self.check("EXPECTREGEX", b"a(", b"a("))


class Replies(unittest.TestCase):
    plain = test_of(b"--FILE--\nx\n--EXPECT--\n1\n")

    def differences(self, one: reply.Reply, other: reply.Reply) -> list[str]:
        return reply.differences(self.plain, one, other)

    def test_a_head_of_cgi(self) -> None:
        got = reply.of_cgi(b"Status: 404 Not Found\r\nX-A: b\r\n\r\nbody\r\n\r\nmore")
        self.assertEqual((got.status, got.own_fields, got.body), (404, [("x-a", "b")], b"body\r\n\r\nmore"))
        self.assertEqual(reply.of_cgi(b"Location: /x\r\n\r\n").status, 302)

    def test_what_differs_is_named(self) -> None:
        one = reply.Reply(200, (("Date", "now"), ("X-A", "b")), b"text")
        self.assertEqual(self.differences(one, reply.Reply(200, (("x-a", "b"), ("Server", "s")), b"text")), [])
        self.assertEqual(self.differences(one, reply.Reply(404, (), b"other")), ["status", "fields", "body"])

    def test_a_worker_says_500_of_what_failed(self) -> None:
        for words in (b"Fatal error: Uncaught", b"<b>Fatal error</b>:  Uncaught"):
            text, loop = words + b"\n#0 {main}", words + b"\n" + self.loop(0)
            self.assertEqual(self.differences(reply.Reply(200, (), text), reply.Reply(500, (), loop)), ["failure"])

    def loop(self, depth: int, *, of_test: bool = True) -> bytes:
        """The end of a trace in a worker, from that frame on."""
        calls = [b"/srv/loop.php(6): require('/srv/a')", b"/srv/loop.php(6): {closure}('/srv/a')"] if of_test else []
        calls += [b"[internal function]: {closure}()", b"/srv/loop.php(8): corral_handle_request(Object(Closure))", b"{main}"]
        return b"\n".join(b"#%d %s" % (depth + idx, call) for idx, call in enumerate(calls))

    def test_a_worker_s_own_calls_are_left_out(self) -> None:
        own = b"#0 [internal function]: {closure}()\n#1 /srv/a(3): f()\n"
        self.assertEqual(self.differences(reply.Reply(200, (), own + b"#2 {main}"), reply.Reply(200, (), own + self.loop(2))), [])
        ended, by_loop = b"#0 [internal function]: A->__destruct()\n", b"#0 /srv/loop.php(6): A->__destruct()\n"
        end = by_loop + self.loop(1, of_test=False)
        self.assertEqual(self.differences(reply.Reply(200, (), ended + b"#1 {main}"), reply.Reply(200, (), end)), [])

    def test_what_a_worker_replies_is_to_be_what_the_test_expects(self) -> None:
        test = test_of(b"--FILE--\nx\n--EXPECTF--\nobject(A)#%d: class@%s\n#0 {main}\n")
        one, other = b"object(A)#1: class@x:3$0\n#0 {main}", b"object(A)#3: class@x:3$9\n" + self.loop(0)
        self.assertEqual(reply.differences(test, reply.Reply(200, (), one), reply.Reply(200, (), other)), [])

    def test_what_php_says_of_its_start_is_left_out(self) -> None:
        said = b"\nDeprecated: Directive 'a' is deprecated in Unknown on line 0\n\nWarning: PHP Startup: b\n"
        self.assertEqual(self.differences(reply.Reply(200, (), b"x" + said), reply.Reply(200, (), b"x")), [])


class Lists(unittest.TestCase):
    def test_a_rule_is_of_names_or_of_code(self) -> None:
        test = test_of(b"--FILE--\n<?php global $a;\n")
        named, coded = declared.rules("both  body  ext/a/*  one\nworker  any  /global \\$/  the other\n# nothing\n")
        self.assertEqual(declared.reason([named, coded], "classic", "body", test), "one")
        self.assertEqual(declared.reason([named, coded], "worker", "status", test), "the other")
        self.assertIsNone(declared.reason([named, coded], "classic", "status", test))
        self.assertEqual([rule.is_of_one for rule in (named, coded)], [False, False])

    def test_a_rule_without_a_reason_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            declared.rules("both  body  ext/a/*")

    def test_the_list_can_be_read(self) -> None:
        self.assertTrue(declared.rules(declared.LIST.read_text()))

    def test_values_are_quoted_as_on_the_command_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            text = settings.written(Path(folder) / "ini", ["a=E_ALL & ~E_NOTICE", "b=~E_ALL", 'c="x"', "d="]).read_text()
        self.assertEqual(text.split()[-5:], ["&", "~E_NOTICE", 'b="~E_ALL"', 'c="x"', "d="])


if __name__ == "__main__":
    unittest.main()
