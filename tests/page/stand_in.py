"""A server in place of the daemon, for states that are hard to reach: it serves the daemon's own page with the daemon's own
headers, and the status that a test gives it; with a Desk, what is under /api/ as well."""
import http.server
import json
import threading


class StandIn:
    def __init__(self, page, headers, answer, desk=None):
        self.answer = answer
        self.history = {"now": 0, "interval_ms": 60000, "retried": [], "parked": [], "dropped": [], "failures_interval_ms": 300000, "failing": []}
        self.asked = 0
        self.desk = desk
        kept = {name: value for name, value in headers.items() if name.lower().startswith(("content-", "x-", "referrer"))}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.path == "/status.json":
                    outer.asked += 1
                    self.reply(json.dumps(outer.answer).encode(), {"Content-Type": "application/json"})
                elif self.path == "/history.json":
                    self.reply(json.dumps(outer.history).encode(), {"Content-Type": "application/json"})
                elif self.path.startswith("/api/"):
                    self.ask_desk("GET")
                else:
                    self.reply(page, kept)

            def do_POST(self):
                self.ask_desk("POST")

            def do_DELETE(self):
                self.ask_desk("DELETE")

            def ask_desk(self, method):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer, more = outer.desk.answer(method, self.path.removeprefix("/api/"), dict(self.headers), json.loads(body or b"{}"))
                self.reply(json.dumps(answer).encode(), {"Content-Type": "application/json", **more}, status)

            def reply(self, body, more, status=200):
                self.send_response(status)
                for name, value in {**more, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Desk:
    """Answers as the daemon does under /api/, with what the test has put in: `results` by path, each an object, or a function of
    what was posted. Keeps what was posted in `posted`. A run that changes something goes on until `finish` is called."""

    password = "a long password"

    def __init__(self, results):
        self.results = results
        self.posted = []
        self.runs = {}
        self.session = None     # its token
        self.sessions = 0
        self.faults = {}        # by path: (status, code, text), once
        self.stopped = []
        self.asked = 0          # requests of any kind

    def sign_out(self):
        """Behind the page's back."""
        self.session = None

    def described(self):
        if not self.session:
            return {"signed_in": False}
        return {"signed_in": True, "session": "5f0c3a9e", "csrf": self.session, "expires_at": "2026-11-25T16:00:00Z", "expires_in": 43180}

    def answer(self, method, path, headers, body):
        self.asked += 1
        if path in self.faults:
            status, code, text = self.faults.pop(path)
            return status, {"error": text, "code": code}, {}
        if path == "session":
            return self.at_session(method, headers, body)
        if not self.session or f"retryd={self.session}" not in headers.get("Cookie", ""):
            return 401, {"error": "not signed in", "code": "not_signed_in"}, {}
        if method != "GET" and headers.get("X-Retryd-Csrf") != self.session:
            return 403, {"error": "the token is another one", "code": "csrf"}, {}
        if method != "GET" and headers.get("Content-Type") != "application/json":
            return 415, {"error": "no JSON", "code": "content_type"}, {}
        if path == "runs":
            return 200, {"runs": [{**run, "result": None} for run in reversed(self.runs.values())]}, {}
        if path.startswith("runs/"):
            return self.at_run(method, self.runs[path.removeprefix("runs/")])
        return self.begin(path, body)

    def at_session(self, method, headers, body):
        if method == "POST":
            if body.get("password") != self.password:
                return 401, {"error": "That is not the password.", "code": "wrong_password"}, {}
            self.sessions += 1
            self.session = f"token{self.sessions}"
            return 200, self.described(), {"Set-Cookie": f"retryd={self.session}; Path=/; HttpOnly; SameSite=Strict"}
        if method == "DELETE":
            self.session = None
        elif f"retryd={self.session}" not in headers.get("Cookie", ""):
            return 200, {"signed_in": False}, {}
        return 200, self.described(), {}

    def at_run(self, method, run):
        if method == "DELETE" and not run["ended_at"]:
            self.stopped.append(run["id"])
            run["state"] = "stopping"
            return 202, run, {}
        return 200, run, {}

    def begin(self, path, body):
        self.posted.append((path, body))
        result = self.results.get(path)
        result = result(body) if callable(result) else result
        changes = path in ("parked/replay", "parked/drop", "parked/edit", "parked/undo", "waiting/send", "waiting/park", "queue/hold", "queue/release") and not body.get("dry_run")
        run = {"id": f"{len(self.runs) + 1:016x}", "action": path.replace("/", " "), "changes": changes, "state": "running", "started_at": f"2026-11-25T04:{len(self.runs):02}:00Z",
               "ended_at": None, "session": "5f0c3a9e", "address": "127.0.0.1", "request": self.shortened(body),
               "progress": {"doing": "looked at", "queue": "email.parked", "done": 120, "all": 412, "note": ""}, "ok": None, "error": None, "result": None, "result_dropped": False}
        self.runs[run["id"]] = run
        if not changes:
            self.finish(run["id"], result)
        return 202, run, {}

    @staticmethod
    def shortened(body):
        """A run tells only how many messages were chosen."""
        kept = {key: value for key, value in body.items() if key != "messages"}
        return {**kept, "messages_count": len(body["messages"])} if "messages" in body else kept

    def finish(self, run, result, state="done", **more):
        self.runs[run].update(state=state, ended_at="2026-11-25T05:00:00Z", result=result, ok=bool(result and result.get("ok")), **more)
        if result is None and "error" not in more:
            self.runs[run].update(state="failed", error="Gone meanwhile.")

    def last(self, path):
        """What was posted there last."""
        return next(body for at, body in reversed(self.posted) if at == path)
