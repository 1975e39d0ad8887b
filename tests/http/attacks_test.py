#!/usr/bin/python3
"""Attacks on the desk of a real daemon, byte by byte over its socket: what docs/security.md says of each is held here where no
other test holds it.

    attacks_test.py [-v] [TEST...]

With RETRYD_ATTACKS in the environment it prints what was sent and what came back. The environment names the broker and the
daemon, as for tests/page."""
import base64
import hashlib
import json
import os
import pathlib
import re
import socket
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from live import PREFIX, Broker, Daemon  # noqa: E402
from waiting import wait_until  # noqa: E402

PASSWORD = "a long password"
EVIL = "evil.example"
telling = bool(os.environ.get("RETRYD_ATTACKS"))

broker = daemon = None


def setUpModule():
    global broker, daemon
    broker = Broker()
    daemon = Daemon(broker, [(PREFIX + "email", ["1h"])])
    daemon.add_desk(PASSWORD)
    daemon.start()


def tearDownModule():
    if daemon:
        daemon.close()
    broker.remove_all()


class Answer:
    """All that came back until the server hung up."""

    def __init__(self, raw):
        self.raw = raw
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split(" ")[1]) if first.startswith("HTTP/1.1 ") else 0   # 0: hung up without a word
        self.headers = [tuple(line.split(": ", 1)) for line in lines if ": " in line]
        # Of how many requests it is the answer. libmicrohttpd may write the head of its own 400 twice.
        self.count = len({head for head in re.findall(rb"HTTP/1\.[01] [0-9]{3}[^\r]*", raw)})

    def header(self, name):
        return [value for at, value in self.headers if at.lower() == name.lower()]

    @property
    def json(self):
        return json.loads(self.body)


def say(raw, what=None):
    """Sends these bytes, and ends its half of the connection: the server is not to wait for more."""
    host, port = daemon.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        heard = b""
        try:
            client.sendall(raw)
            client.shutdown(socket.SHUT_WR)
            while part := client.recv(65536):
                heard += part
        except OSError:
            pass                 # refused before all of it was sent
    answer = Answer(heard)
    if telling:
        print(f"{(what or raw[:70])!r:80.80} -> {answer.status} {answer.body[:70]!r}")
    return answer


class DeskTest(unittest.TestCase):
    def setUp(self):
        self.own = {"Host": daemon.url.removeprefix("http://"), "Content-Type": "application/json"}
        signed_in = self.ask("POST", "/api/session", json.dumps({"password": PASSWORD}))
        self.assertEqual(signed_in.status, 200, signed_in.raw)
        self.set_cookie, = signed_in.header("Set-Cookie")
        self.own.update({"Cookie": self.set_cookie.split(";")[0], "X-Retryd-Csrf": signed_in.json["csrf"]})

    def tearDown(self):
        """Nobody has signed the session out, and the daemon lives."""
        self.assertIsNone(daemon.process.poll(), daemon.said()[-2000:])
        self.assertEqual(self.ask("GET", "/api/session").json["signed_in"], True)

    def head(self, line, **more):
        return (line + "\r\n" + "".join(f"{name}: {value}\r\n" for name, value in {**self.own, **more}.items())).encode("latin-1")

    def ask(self, method, path, body="", **more):
        body = body if isinstance(body, bytes) else body.encode()
        return say(self.head(f"{method} {path} HTTP/1.1", **{"Content-Length": len(body), **more}) + b"\r\n" + body, f"{method} {path} {more or body[:40]}")

    def hidden(self):
        """What signs the session out, where it is taken for a request."""
        return self.head("DELETE /api/session HTTP/1.1", **{"Content-Length": "0"}) + b"\r\n"

    def runs(self):
        return len(self.ask("GET", "/api/runs").json["runs"])


class Smuggling(DeskTest):
    """A request whose end or whose headers somebody in front may see elsewhere than retryd does."""

    FRAMINGS = [
        "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5", "Transfer-Encoding: chunked",
        "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity", "Transfer-Encoding: xchunked", "Transfer-Encoding:\tchunked",
        "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: CHUNKED", "Transfer-Encoding: gzip, chunked", "TrAnSfEr-EnCoDiNg: chunked",
        "X: y\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x", "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 0",
        "Content-Length: 5\r\ncontent-length: 6", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: -5", "Content-Length: 0x5", "Content-Length: 5;a",
        "Content-Length: 5\x00", "Content-Length: 99999999999999999999", "Content-Length: 18446744073709551621", "Content-Length: 5e0"]
    CHUNKS = [b"0\r\n\r\n", b"5;a=b\r\n12345\r\n0\r\n\r\n", b"5;\n\r\n12345\r\n0\r\n\r\n", b"0;" + b"x" * 3000 + b"\r\n\r\n", b"0\r\nHost: evil.example\r\n\r\n"]

    def test_no_body_is_taken_whose_length_can_be_read_in_two_ways(self):
        runs = self.runs()
        for framing in self.FRAMINGS:
            for chunk in self.CHUNKS[:1] if "hunked" not in framing else self.CHUNKS:
                with self.subTest(framing, chunk=chunk[:20]):
                    answer = say(self.head("POST /api/parked/groups HTTP/1.1") + framing.encode("latin-1") + b"\r\n\r\n" + chunk + self.hidden(), framing + " " + repr(chunk[:20]))
                    self.assertIn(answer.status, (0, 400, 411, 413), answer.raw)
                    self.assertLessEqual(answer.count, 1, answer.raw)
        self.assertEqual(self.runs(), runs)

    def test_what_follows_a_request_is_never_another_one(self):
        for line, body in (("GET / HTTP/1.1", b""), ("GET /status.json HTTP/1.1", b""), ("GET /api/session HTTP/1.1", b""), ("GET /api/session HTTP/1.0", b""),
                           ("POST / HTTP/1.1", b"x=y"), ("POST /api/parked/groups HTTP/1.1", b"[1]"), ("GET /none HTTP/1.1", b"")):
            for more in ({}, {"Connection": "keep-alive"}, {"Expect": "100-continue"}):
                with self.subTest(line, **more):
                    answer = say(self.head(line, **{"Content-Length": len(body), **more}) + b"\r\n" + body + self.hidden() * 2, f"{line} {more} + hidden")
                    # To `Expect` it says that it goes on, and may hear then that there is nothing more.
                    self.assertIn(len(re.findall(rb"HTTP/1\.1 [2-5]", answer.raw)), (0, 1) if answer.status == 100 else (1,), answer.raw)
                    self.assertTrue(answer.status == 100 or answer.header("Connection") == ["close"], answer.raw)

    def test_a_body_without_a_length_is_none(self):
        for line in ("GET /api/session HTTP/1.1", "GET / HTTP/1.1", "DELETE /api/runs/x HTTP/1.1"):
            answer = say(self.head(line) + b"\r\n" + self.hidden(), line + " + hidden")
            self.assertEqual(len(re.findall(rb"HTTP/1\.1 [2-5]", answer.raw)), 1, answer.raw)

    def test_odd_lines_hide_no_request_and_no_header(self):
        """Folded lines, blanks before the colon, NUL: refused or not, what they hide does not count. A CR or LF alone ends a line."""
        runs = self.runs()
        drop = json.dumps({"from": "none", "all": True})
        without_token = {name: value for name, value in self.own.items() if name != "X-Retryd-Csrf"}
        token = "X-Retryd-Csrf: " + self.own["X-Retryd-Csrf"]
        for odd in ("X-One: a\r\n " + token, "X-One: a\r\n\t" + token, "X-One: a\x00" + token, "X-One: a\x0b" + token, "X-One: a\x85" + token,
                    token.replace(":", " :", 1), token.replace(":", "\t:", 1), " " + token, "\t" + token, "\x00" + token, "X-One " + token):
            with self.subTest(odd):
                head = "POST /api/parked/drop HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in without_token.items())
                answer = say((head + odd + f"\r\nContent-Length: {len(drop)}\r\n\r\n" + drop).encode("latin-1") + self.hidden(), "odd header line " + repr(odd.replace(self.own["X-Retryd-Csrf"], "…")))
                self.assertLessEqual(answer.count, 1, answer.raw)
                self.assertIn(answer.status, (0, 400, 401, 403), answer.raw)   # 401: it became a part of the cookie before it
        self.assertEqual(self.runs(), runs)
        for line in ("GET\t/api/session\tHTTP/1.1", " GET /api/session HTTP/1.1", "GET /api/session", "GET  /api/session  HTTP/1.1", "GET /api/session HTTP/1.1 x", "GET /api/session HTTP/9.9",
                     "GET /api/session\x00 HTTP/1.1", "PRI * HTTP/2.0", "\x16\x03\x01\x02\x00\x01", "CONNECT evil.example:80 HTTP/1.1", "GET /api/session HTTP/1.1\r\rX: y", "\r\n\r\nGET /none HTTP/1.1"):
            with self.subTest(line):
                self.assertLessEqual(say(self.head(line) + b"\r\n" + self.hidden(), line).count, 1)


class Paths(DeskTest):
    def test_each_path_has_one_spelling(self):
        for path in ("/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/....//etc/passwd", "/..\\..\\etc\\passwd", "/%61pi/session", "/api%2fsession", "/api/%73ession",
                     "/api/session%00", "/api/session%00.js", "/status.json%00", "/api//session", "//api/session", "/./api/session", "/x/../api/session", "/api/session/", "/api/session;x=y",
                     "/API/session", "/api/session/..", "/api/runs/../session", "/api/", "/api", "/api/parked", "/%c0%af", "/api/session%0d%0aX-One:%20y", "http://127.0.0.1/api/session",
                     "http://evil.example/", "*", "/.git/config", "/metrics/", "/%2e/", "/api/session%20"):
            with self.subTest(path):
                answer = self.ask("GET", path)
                self.assertIn(answer.status, (0, 400, 404), answer.raw)
                self.assertNotIn(b"root:", answer.raw)
                self.assertEqual(answer.header("X-One"), [])

    def test_nothing_leads_anywhere_else(self):
        for path in ("//evil.example", "/\\evil.example", "/%2f%2fevil.example", "/?url=http://evil.example", "/api/session?next=//evil.example", "/status.json?callback=evil", "/https:/evil.example"):
            with self.subTest(path):
                answer = self.ask("GET", path, **{"X-Forwarded-Prefix": "//evil.example", "X-Original-URL": "/api/session", "X-Rewrite-URL": "/api/session"})
                self.assertFalse(300 <= answer.status < 400)
                self.assertEqual(answer.header("Location") + answer.header("Refresh"), [])
                self.assertNotIn(EVIL.encode(), answer.raw)


class Methods(DeskTest):
    def test_a_method_is_what_the_first_line_says(self):
        runs = self.runs()
        for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "_method"):
            with self.subTest(name):
                self.assertEqual(self.ask("GET", "/api/session?_method=DELETE", **{name: "DELETE"}).json["signed_in"], True)
                self.assertEqual(self.ask("GET", "/api/parked/drop?_method=POST", **{name: "POST"}).status, 405)
                self.assertEqual(self.ask("HEAD", "/", **{name: "PUT"}).status, 200)
        self.assertEqual(self.runs(), runs)

    def test_other_methods_do_nothing_and_echo_nothing(self):
        for method in ("PUT", "PATCH", "OPTIONS", "TRACE", "HEAD", "CONNECT", "PROPFIND", "BREW", "get", "GETx"):
            for path in ("/api/session", "/api/runs", "/api/parked/drop", "/"):
                if method == "HEAD" and path == "/":
                    continue
                with self.subTest(method, path=path):
                    answer = self.ask(method, path, "x", **{"X-Secret": "echo-me"})
                    self.assertIn(answer.status, (0, 400, 405), answer.raw)
                    self.assertNotIn(b"echo-me", answer.raw)

    def test_no_preflight_is_answered_and_no_foreign_page_may_read(self):
        for origin in ("http://evil.example", "null", daemon.url):
            for method, path in (("OPTIONS", "/api/parked/drop"), ("OPTIONS", "/"), ("GET", "/api/session"), ("GET", "/status.json")):
                answer = self.ask(method, path, Origin=origin, **{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-retryd-csrf",
                                                                  "Access-Control-Request-Private-Network": "true"})
                self.assertEqual([name for name, _ in answer.headers if name.lower().startswith("access-control")], [])

    def test_no_other_protocol_is_spoken(self):
        for more in ({"Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"}, {"Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__"}):
            for path in ("/", "/api/session", "/api/runs"):
                answer = self.ask("GET", path, **{**more, "Connection": "Upgrade"})
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.header("Upgrade"), [])


class Browsers(DeskTest):
    """What a browser is told."""

    def test_every_answer_says_what_may_be_done_with_it(self):
        for method, path in (("GET", "/"), ("HEAD", "/"), ("GET", "/status.json"), ("GET", "/history.json"), ("GET", "/metrics"), ("GET", "/healthz"), ("GET", "/none"), ("POST", "/"), ("GET", "/api/session"),
                             ("GET", "/api/none"), ("PUT", "/api/session"), ("POST", "/api/parked/groups"), ("GET", "/api/runs")):
            with self.subTest(path):
                answer = self.ask(method, path)
                for name, value in (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"), ("Connection", "close")):
                    self.assertEqual(answer.header(name), [value])
                policy, = answer.header("Content-Security-Policy")
                for part in ("default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
                    self.assertIn(part, policy)
                self.assertEqual(answer.header("Server") + answer.header("X-Powered-By") + answer.header("ETag") + answer.header("Location"), [])
                kind, = answer.header("Content-Type")
                self.assertTrue("charset=utf-8" in kind or kind == "application/json" or path == "/metrics", kind)
                self.assertEqual("html" in kind, path == "/" and method != "POST", kind)

    def test_only_the_pages_own_script_and_style_may_run(self):
        answer = self.ask("GET", "/")
        policy, = answer.header("Content-Security-Policy")
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("*", policy)
        for part, begin, end in (("script-src", b"<script type=\"module\">", b"</script>"), ("style-src", b"<style>", b"</style>")):
            text = answer.body.partition(begin)[2].partition(end)[0]
            self.assertGreater(len(text), 1000)
            self.assertIn(f"{part} 'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}';", policy)
        self.assertEqual(re.findall(rb"<script|<style", answer.body), [b"<style", b"<script"])
        self.assertEqual(re.findall(rb"\son[a-z]+=|\sstyle=|javascript:", answer.body.partition(b"<script")[0].partition(b"</style>")[2]), [])

    def test_the_cookie_is_for_this_host_alone(self):
        name, *attributes = self.set_cookie.split("; ")
        self.assertEqual(sorted(each.partition("=")[0] for each in attributes), ["HttpOnly", "Max-Age", "Path", "SameSite"])
        self.assertIn("SameSite=Strict", attributes)
        self.assertRegex(name, "^retryd_desk_[0-9]+=[0-9a-f]{64}$")
        former = dict(self.own)
        self.own["Cookie"] += "; " + self.own["Cookie"].replace("=", "=0", 1)
        self.assertEqual(self.ask("GET", "/api/runs").status, 401)      # two of that name: another server's may be one
        self.own = former

    def test_what_was_sent_does_not_come_back_as_it_was(self):
        mark = "<script>alert(1)</script>"
        for answer in (self.ask("GET", "/" + mark), self.ask("GET", "/api/" + mark), self.ask("GET", "/?x=" + mark), self.ask("GET", "/", **{"X-One": mark, "Referer": mark, "User-Agent": mark}),
                       self.ask("POST", "/api/session", json.dumps({mark: 1})), self.ask("GET", "/", Host=mark), self.ask(mark, "/")):
            self.assertNotIn(mark.encode(), answer.raw)
        told = self.ask("POST", "/api/parked/groups", json.dumps({mark + "\u202e\x1b[2J\r\nX-One: y": 1}))
        self.assertEqual((told.status, told.header("Content-Type")), (400, ["application/json; charset=utf-8"]))
        self.assertNotRegex(told.raw.decode(), "\u202e|\x1b")


class Sizes(DeskTest):
    def test_what_is_too_large_is_refused_and_others_are_served(self):
        for more in ({"X-One": "x" * 20_000}, {"Cookie": "a=" + "b" * 20_000}, {f"X-{i}": "y" for i in range(3_000)}, {"X" * 20_000: "y"}, {"X-Forwarded-For": "1.1.1.1, " * 3_000}):
            answer = say(self.head("GET /api/session HTTP/1.1", **more) + b"\r\n", f"{sum(len(n) + len(str(v)) for n, v in more.items())} bytes of headers")
            self.assertIn(answer.status, (0, 400, 413, 431))
        for path in ("/" + "x" * 20_000, "/?" + "&".join(f"a{i}=b" for i in range(5_000)), "/api/runs/" + "0" * 14_000):
            self.assertIn(self.ask("GET", path).status, (0, 400, 404, 413, 414, 431))
        for path, most in (("/api/session", 4 * 1024), ("/api/parked/groups", 64 * 1024), ("/api/parked/edit", 2 * 1024 * 1024)):
            # Answered before it comes: what was sent of it might end the connection before the answer is read.
            self.assertEqual(say(self.head(f"POST {path} HTTP/1.1", **{"Content-Length": most + 1}) + b"\r\n").status, 413)

    def test_json_that_nests_repeats_or_is_odd_is_refused(self):
        deep = [("/api/session", 4_000), ("/api/parked/groups", 65_000), ("/api/parked/edit", 2_000_000)]
        for path, size in deep:
            for text in ("[" * size, "{\"a\":" * (size // 5), "{\"headers\":" + "[" * (size - 20), "[" * (size // 2) + "]" * (size // 2),
                         "{\"headers\":[{\"name\":\"x\",\"type\":\"array\",\"value\":" + "[" * (size // 2 - 80) + "]" * (size // 2 - 80) + "}]}"):
                with self.subTest(path, text=text[:30]):
                    self.assertEqual(self.ask("POST", path, text).status, 400)
        for text in (b"", b"null", b"1", b"\"x\"", b"{\"from\":\"\xff\"}", b"{\"from\":\"\\ud800\"}", b"\xef\xbb\xbf[]", b"{\"first\":1e999999}", b"{\"first\":-1}", b"{\"first\":1.5}", b"{\"first\":99999999999999999999}",
                     b"{\"__proto__\":{}}", b"{} {}", b"{\"all\":true", b"{\"all\":true,}", b"{'all':true}", b"{\"all\":\"true\"}", b"// x\n{}", b"\x00"):
            with self.subTest(text):
                answer = self.ask("POST", "/api/parked/replay", text)
                self.assertEqual(answer.status, 400, answer.raw)

    def test_who_sends_slowly_keeps_nobody_waiting(self):
        host, port = daemon.url.removeprefix("http://").split(":")
        slow = []
        try:
            for part in (b"G", self.head("POST /api/parked/groups HTTP/1.1"), self.head("POST /api/parked/groups HTTP/1.1", **{"Content-Length": 10}) + b"\r\n{") * 20:
                client = socket.create_connection((host, int(port)), timeout=60)
                client.sendall(part)
                slow.append(client)
                if len(slow) % 20 == 0:
                    self.assertEqual(self.ask("GET", "/api/session").json["signed_in"], True)
        finally:
            for client in slow:
                client.close()


class Logs(DeskTest):
    NAMES = ["x\n2026-11-25T00:00:00Z info forged", "x\r\n{\"event\":\"forged\"}", "\x1b]0;x\x07\x1b[2J", "\u202eevil\u2028x", "x\u0000y\u0085", "' OR 1=1 -- $(reboot) %s%n ../../etc/passwd"]

    def test_no_name_makes_a_line_of_a_log_or_of_the_audit(self):
        begun = []
        for name in self.NAMES:
            for path, request in (("/api/parked/groups", {"from": name, "by": name}), ("/api/parked/drop", {"from": name, "queue": name, "headers": [{"name": name, "value": name}]}),
                                  ("/api/parked/undo", {"run": name, "dry_run": True})):
                def asked(path=path, request=request):
                    answer = self.ask("POST", path, json.dumps(request), **{"X-Forwarded-For": "1.1.1.1 \x1b[2J"})
                    return answer.status in (202, 400) and answer
                answer = wait_until(asked, "its turn comes")
                if answer.status == 202:
                    begun.append(answer.json["id"])
        for run in begun:
            wait_until(lambda run=run: self.ask("GET", "/api/runs/" + run).json["ended_at"], "the run has ended")
        self.assertGreaterEqual(len(begun), 2 * len(self.NAMES))
        audit = daemon.audit()
        lines = audit.removesuffix("\n").split("\n")
        self.assertEqual(len(lines), 2 * len({json.loads(line)["run"] for line in lines}))
        self.assertGreaterEqual(len(lines), 2 * len(begun))
        for text in (audit, daemon.said()):
            self.assertEqual(re.findall("[^\n -~\u00a1-\u2027\u2030-\u205f]", text.replace("\t", "")), [])
        self.assertEqual([line for line in daemon.said().splitlines() if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T", line)], [])
        self.assertNotIn(PASSWORD, audit + daemon.said())


if __name__ == "__main__":
    del DeskTest  # only its children are tests
    unittest.main(verbosity=2)
