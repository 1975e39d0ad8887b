"""For tests in Python: a RabbitMQ that the environment names (see tests/support/environment.h), and a daemon of the test's
own on it. The management API serves as producer and consumer: it can publish, and it can reject."""
import base64
import contextlib
import json
import os
import pathlib
import random
import shlex
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from waiting import wait_until

PREFIX = f"test{os.getpid()}."


def free_port():
    """Below those that Linux takes for outgoing connections: nobody takes it before the server does."""
    while True:
        port = random.randrange(10000, 20000)
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port


class Broker:
    def __init__(self):
        self.uri = os.environ["RETRYD_TEST_AMQP_URI"]
        self.api = os.environ["RETRYD_TEST_MANAGEMENT_URL"] + "/api"
        self.vhost = os.environ["RETRYD_TEST_VHOST"]
        self.queues = set()

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.api + path, method=method, data=json.dumps(body or {}).encode())
        request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def at(self, queue):
        return f"/queues/{self.vhost}/" + urllib.parse.quote(queue, safe="")

    def work_queue(self, name, exchange):
        self.queues.add(name)
        self.ask("PUT", self.at(name), {"durable": True, "arguments": {"x-dead-letter-exchange": exchange}})
        return name

    def publish(self, queue, messages=1):
        for _ in range(messages):
            self.ask("POST", f"/exchanges/{self.vhost}/amq.default/publish",
                     {"routing_key": queue, "payload": "x", "payload_encoding": "string", "properties": {}})

    def reject(self, queue, messages=1):
        """Waits for this many messages and rejects each."""
        def reject_some():
            nonlocal messages
            messages -= len(self.ask("POST", self.at(queue) + "/get",
                                     {"count": messages, "ackmode": "reject_requeue_false", "encoding": "auto"}))
            return messages == 0
        wait_until(reject_some, f"messages come to {queue}")

    def fail(self, queue, messages=1):
        self.publish(queue, messages)
        self.reject(queue, messages)

    def depths(self):
        """Messages by queue, as the broker counts them at this moment. By an expression on the node: rabbitmqctl starts an
        Erlang node each time, which is most of what a test that asks again and again costs."""
        expression = ("base64:encode_to_string(iolist_to_binary(rabbit_json:encode("
                      "[[element(4, proplists:get_value(name, Q)), proplists:get_value(messages_ready, Q, 0)]"
                      " || Q <- rabbit_amqqueue:info_all(<<\"" + self.vhost + "\">>, [name, messages_ready])]))).")
        told = subprocess.run([*shlex.split(os.environ["RETRYD_TEST_BROKER"]), "eval", os.environ["RETRYD_TEST_BROKER_DIR"],
                               expression], check=False, capture_output=True, text=True).stdout
        if told.startswith('{ok, "'):
            return dict(json.loads(base64.b64decode(told.split('"')[1])))
        # A node that is very busy may not take it.
        listed = subprocess.run([*shlex.split(os.environ["RETRYD_TEST_CTL"]), "-q", "list_queues", "-p", self.vhost,
                                 "name", "messages_ready", "--formatter", "json"], check=True, capture_output=True, text=True).stdout
        return {queue["name"]: queue["messages_ready"] for queue in json.loads(listed)}

    @staticmethod
    def control(action):
        subprocess.run([*shlex.split(os.environ["RETRYD_TEST_BROKER"]), action, os.environ["RETRYD_TEST_BROKER_DIR"]],
                       check=True, capture_output=True)

    def remove_all(self):
        for queue in list(self.depths()):
            if PREFIX in queue:
                self.ask("DELETE", self.at(queue))


class Daemon:
    """`retryd run` with a status page. `queues`: a list of (work queue, delays); `sections`: of the configuration, besides
    or instead of those that follow from that."""

    def __init__(self, broker, queues, /, **sections):
        self.folder = tempfile.TemporaryDirectory(prefix="retryd-test-")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.config = os.path.join(self.folder.name, "retryd.yaml")
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.process = None
        # JSON is YAML, and no name needs quoting by hand; but YAML knows no surrogate pairs.
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump({
                "broker": {"uri": broker.uri, "reconnect": {"first": "100ms", "max": "500ms"}},
                "errors": {"exchange": PREFIX + "dlx", "queue": PREFIX + "errors"},
                "ladders": {f"ladder{i}": {"delays": delays} for i, (_, delays) in enumerate(queues)},
                "queues": [{"match": name, "ladder": f"ladder{i}"} for i, (name, _) in enumerate(queues)],
                "parking": {"catch_all": PREFIX + "parked"},
                "http": {"listen": self.url.removeprefix("http://")},
                **sections,
            }, file, ensure_ascii=False)

    exchange = PREFIX + "dlx"

    def add_desk(self, password):
        """Before it starts."""
        path = pathlib.Path(self.folder.name)
        (path / "password").write_text(password + "\n", encoding="utf-8")
        with open(self.config, encoding="utf-8") as file:
            config = json.load(file)
        config["http"].update(admin={"password_file": str(path / "password")}, audit=str(path / "audit"))
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(config, file, ensure_ascii=False)

    def audit(self):
        return (pathlib.Path(self.folder.name) / "audit").read_text(encoding="utf-8")

    @staticmethod
    def binary():
        return os.environ.get("RETRYD_TEST_BINARY") or os.path.join(os.environ["RETRYD_BUILD"], "src/retryd")

    def start(self):
        self.process = subprocess.Popen([self.binary(), "run", "-c", self.config], stdout=self.log, stderr=self.log)
        wait_until(lambda: self.process.poll() is not None or self.status().get("ready"), "the daemon is ready", 60)
        if self.process.poll() is not None:
            raise AssertionError("the daemon ended:\n" + self.said())

    def said(self):
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()

    def command(self, *words):
        """What that command of retryd's prints, as JSON, and its exit code."""
        ended = subprocess.run([self.binary(), *words, "--json", "-c", self.config], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=240, check=False)
        try:
            return json.loads(ended.stdout), ended.returncode
        except json.JSONDecodeError:
            raise AssertionError(f"retryd {' '.join(words)}: {ended.returncode}\n{ended.stdout}{ended.stderr}") from None

    def status(self):
        try:
            with urllib.request.urlopen(self.url + "/status.json", timeout=20) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError):
            return {}

    def history(self):
        with urllib.request.urlopen(self.url + "/history.json", timeout=20) as answer:
            return json.load(answer)

    def page(self):
        """The bytes and the headers of the page."""
        with urllib.request.urlopen(self.url + "/", timeout=60) as answer:
            return answer.read(), dict(answer.headers)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(60) == 0, "the daemon did not end with 0"

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()
