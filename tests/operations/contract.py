"""The metrics that retryd promises, and the parts of an expression of Prometheus that name them."""
import re

# What Prometheus itself adds to each series, and what Kubernetes adds mostly.
TARGET = {"job", "instance"}
SOMETIMES = {"pod"}

# Each metric's labels, with all their values where these are few.
METRICS = {
    "retryd_messages_total": {"queue": None, "outcome": ("retried", "parked", "dropped", "held", "sent_home"), "reason": None},
    "retryd_retries_total": {"queue": None, "delay": None},
    "retryd_detoured_total": {"queue": None},
    "retryd_in_flight": {},
    "retryd_oldest_unsettled_seconds": {},
    "retryd_confirm_seconds_bucket": {"le": ("0.1", "+Inf")},
    "retryd_confirm_seconds_sum": {},
    "retryd_confirm_seconds_count": {},
    "retryd_connected": {},
    "retryd_blocked": {},
    "retryd_error_queue_silent": {},
    "retryd_reconnects_total": {},
    "retryd_requeued_total": {"cause": ("nacked", "returned", "unanswered", "detour_refused", "channel_closed", "stuck")},
    "retryd_queue_messages": {"queue": None, "role": ("rung", "detour", "held", "parked", "errors"), "delay": None},
    "retryd_queue_held_messages": {"queue": None, "role": ("rung", "detour"), "delay": None},
    "retryd_held_messages": {"queue": None},
    "retryd_outage": {"queue": None},
    "retryd_parked_aged_total": {"queue": None, "outcome": ("archived", "dropped")},
    "retryd_build_info": {"version": None},
    "retryd_config_reloads_total": {"result": ("success", "failure")},
    "retryd_findings": {"code": None, "severity": ("problem", "warning")},
    "retryd_last_check_timestamp_seconds": {},
    "up": {},
}

SELECTOR = re.compile(r"\b(up|retryd_\w+)(?:\s*\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
NEW_LABEL = re.compile(r'label_replace\([^"]*(?:"[^"]*"[^"]*)*?,\s*"(\w+)",\s*"\$1"')


def labels_of(expression):
    """Those that its series can have."""
    labels = set(TARGET)
    for name, _ in SELECTOR.findall(expression):
        labels |= set(METRICS.get(name, {}))
    return labels | set(NEW_LABEL.findall(expression))


def wrong_selectors(expression):
    for name, selector in SELECTOR.findall(TEXT.sub(lambda text: text.group().replace("}", ""), expression)):
        if name not in METRICS:
            yield "no metric is called " + name
            continue
        for label, operator, value in MATCHER.findall(selector):
            if label not in set(METRICS[name]) | TARGET:
                yield "%s has no label %s" % (name, label)
                continue
            values = METRICS[name].get(label)
            if operator == "=" and values and value not in values:
                yield "%s: %s is never %s" % (name, label, value)


def wrong(expression):
    """What is wrong with the names in an expression, one text for each."""
    found = list(wrong_selectors(expression))
    known = labels_of(expression) | SOMETIMES
    for group in GROUPING.findall(TEXT.sub('""', expression)):
        found += ["nothing in it has a label " + label for label in re.findall(r"\w+", group) if label not in known]
    return found


def samples():
    """A series of each metric and each value, as `promtool test rules` takes them: they grow, so that rates are there."""
    for name, labels in METRICS.items():
        few = [(label, value) for label, values in labels.items() for value in values or ()] or [("", "")]
        for chosen, value in few:
            filled = {label: (values or ("1",))[0] for label, values in labels.items()}
            filled.update({"job": "retryd", "instance": "a"})
            if chosen:
                filled[chosen] = value
            text = ", ".join('%s="%s"' % pair for pair in sorted(filled.items()))
            yield {"series": "%s{%s}" % (name, text), "values": "0+7x60"}
