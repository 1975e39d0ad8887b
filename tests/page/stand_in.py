"""A server in place of the daemon, for states that are hard to reach: it serves the daemon's own page with the daemon's own
headers, and the status that a test gives it."""
import http.server
import json
import threading


class StandIn:
    def __init__(self, page, headers, answer):
        self.answer = answer
        self.asked = 0
        kept = {name: value for name, value in headers.items() if name.lower().startswith(("content-", "x-", "referrer"))}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.path == "/status.json":
                    outer.asked += 1
                    self.reply(json.dumps(outer.answer).encode(), {"Content-Type": "application/json"})
                else:
                    self.reply(page, kept)

            def reply(self, body, more):
                self.send_response(200)
                for name, value in {**more, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
