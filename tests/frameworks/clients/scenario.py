"""What every client in Python does: see scenario.js."""
import datetime
import decimal
import json
import os
import sys
import threading

URI = os.environ["FRAMEWORKS_URI"]
QUEUE = os.environ["FRAMEWORKS_QUEUE"]
MESSAGES = json.loads(os.environ["FRAMEWORKS_MESSAGES"])
VERDICTS = json.loads(os.environ.get("FRAMEWORKS_VERDICTS", "{}"))

HEADERS = {"text": "grüße 👋", "integer": 42, "negative": -7, "large": 2 ** 40, "fraction": 1.5, "yes": True, "no": False,
           "nothing": None, "list": [1, "two", {"three": 3}], "table": {"inner": {"deep": "x"}},
           "when": datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc)}
PROPERTIES = {"delivery_mode": 2, "content_type": "application/json", "content_encoding": "utf-8",
              "correlation_id": "correlation", "reply_to": "answers", "message_id": "message", "timestamp": 1700000000,
              "type": "order", "app_id": "shop", "priority": 3}

seen = {}
lock = threading.Lock()


def say(**event):
    with lock:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()


def typed(value):
    """A value with its type, as far as the library told it."""
    if isinstance(value, dict):
        return {str(key): typed(each) for key, each in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, (list, tuple)):
        return [typed(each) for each in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, (datetime.datetime, decimal.Decimal)) or type(value).__module__ not in ("builtins", "__main__"):
        return {type(value).__name__: str(value)}
    return value


def body_of(message):
    return {**message, "text": "grüße 👋", "numbers": [1, 2.5]}


def succeeds(body, properties, headers, raw=None, **where):
    """Tells the driver what came; whether it is to succeed now. `body`: read."""
    seen[body["name"]] = seen.get(body["name"], 0) + 1
    success = seen[body["name"]] > body["fails"]
    say(delivery=body["name"], body=typed(body), raw=typed(raw), properties=typed(properties), headers=typed(headers or {}),
        success=success, **where)
    return success


def ready(version):
    say(ready=True, version=version)


def on_command(publish):
    """In a thread of its own: calls it when the driver says so, ends the process when that closes stdin."""
    def read():
        for _ in sys.stdin:
            publish()
        os._exit(0)
    threading.Thread(target=read, daemon=True).start()
