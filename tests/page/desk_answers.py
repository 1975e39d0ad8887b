"""What the stand-in of the desk answers: names, headers and bodies that are hostile among them."""
import base64
import copy

HOSTILE = "<img src=x onerror=alert(1)>'\u202e\x07\\\u200b"
SHOWN = "<img src=x onerror=alert(1)>'\\u202e\\x07\\\\\\u200b"
HANDLE = "000000000000000000000000000000aa"
AT_MESSAGE = f"#/message/email.parked/{HANDLE}"


def group(**more):
    return {"messages": 374, "bytes": 12345, "oldest": "2026-11-25T01:00:00Z", "newest": "2026-11-25T02:00:00Z", "replayed_before": 0, **more}


EMAIL = {"from": "email.parked", "queue": "email", "reason": "attempts-exhausted"}
ODD = {"from": "odd.parked", "queue": HOSTILE, "reason": "too-old"}


def groups(body):
    by = body.get("by")
    if not by:
        made = [group(work_queue="email", reason="attempts-exhausted", select=EMAIL), group(work_queue=HOSTILE, reason="too-old", messages=38, select=ODD)]
    else:
        made = [group(value=HOSTILE, select={"from": "email.parked", "headers": [{"name": by, "value": HOSTILE}]} if by == "tenant" else {"from": "email.parked", by: HOSTILE}),
                group(value_base64="/wA=", messages=5, select=None), group(value=None, others=True, messages=33, select=None)]
    return {"ok": True, "selected": 412, "queues": [{"queue": "email.parked", "messages": 412, "looked_at": 412, "selected": 412, "groups": made, "fault": None}], "not_seen": ["one queue is <b>away</b>"]}


def messages(body):
    after = body.get("after", 0)
    made = [{"number": after + i + 1, "handle": f"{after + i:032x}", "parking_queue": "email.parked" if i % 2 == 0 else "odd.parked", "work_queue": HOSTILE, "reason": "too-old",
             "parked_at": "2026-11-25T03:29:11Z", "exchange": "", "routing_key": "x", "type": HOSTILE, "message_id": "m", "bytes": 1200, "attempts": 5, "replayed_before": i == 0}
            for i in range(4 if after == 0 else 1)]
    return {"ok": True, "selected": len(made), "more": after == 0, "messages": made, "queues": [], "not_seen": []}


def message(body=b"plain", **more):
    data = body if isinstance(body, bytes) else b"plain"
    try:
        data.decode()
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    headers = [{"name": "tenant", "type": "longstr", "value": "acme"}, {"name": HOSTILE, "type": "longstr", "value": "</td><script>alert(1)</script>\n\u202ex"},
               {"name": "raw", "type": "longstr", "base64": "/wA="}, {"name": "big", "type": "long", "value": 9007199254740993},
               {"name": "nested", "type": "table", "value": [{"name": "n", "type": "long", "value": 9007199254740995}]}]
    return {"ok": True, "handle": HANDLE, "parking_queue": "email.parked", "work_queue": HOSTILE, "reason": "too-old", "parked_at": "2026-11-25T03:29:11Z", "attempts": 5, "proven": False,
            "exchange": "", "routing_key": HOSTILE, "verdict_reason": "", "first_death": "2026-11-25T02:00:00Z", "last_death_reason": "rejected",
            "deaths": [{"queue": HOSTILE, "reason": "rejected", "count": 3, "time": "2026-11-25T03:00:00Z", "exchange": "", "routing_keys": [HOSTILE], "original_expiration": None}],
            "replays": [{"time": "2026-11-24T03:29:11Z", "run": "eaabfc596641a11c", "from": "email.parked", "to": "email", "parked_reason": "too-old", "attempts": 5}],
            "edits": [{"time": "2026-11-24T04:29:11Z", "by": HOSTILE, "fields": ["body"]}],
            "properties": {"content-type": "application/json", "delivery-mode": 2}, "headers": headers, "editable_headers": copy.deepcopy(headers),
            "bytes": len(data), "body_base64": base64.b64encode(data).decode(), "body_cut": False, "body_is_utf8": is_utf8, **more}


RUNGS = {"ok": True, "rungs": [{"rung": "email.retry.1h", "work_queue": "email", "delay_ms": 3600000, "messages": 526}, {"rung": HOSTILE, "ladder": "shared", "delay_ms": 60000, "messages": 3}], "not_seen": []}


def done(run, count, selected, **queue):
    return {"ok": True, "run": run, "selected": selected, "done": count, "queues": [{"queue": "email.parked", "selected": selected, "done": count, **queue}], "notes": [], "not_seen": []}


# A dry run has done nothing: what it selected is on the rungs.
UNDO_TRIED = {"ok": True, "dry_run": True, "done": 0, "notes": [], "not_seen": [], "rungs": [
    {"rung": rung, "waiting": 9, "selected": selected, "done": 0, "not_selected": 0, "no_place_to_go_to": 0, "refused": 0, "unrouted": 0, "headers_too_large": 0, "outcome_unknown": 0, "ended": None}
    for rung, selected in (("email.retry.1s", 3), ("email.retry.1h", 4))]}
