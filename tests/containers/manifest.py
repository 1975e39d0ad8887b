"""Whether docker/kubernetes.yaml is valid, and its objects fit together."""
import re

import typos
import yaml
from project import PORT, against, schema_of, text_of, version

OBJECTS = {value["kind"]: value for value in yaml.safe_load_all(text_of("docker/kubernetes.yaml"))}
SCHEMA = schema_of("kubernetes.json")


def refused(kind, value):
    if kind not in SCHEMA["kinds"]:
        return ["there is no schema of it; schemas/make makes one"]
    return against({**SCHEMA["kinds"][kind], "definitions": SCHEMA["definitions"]}, value)


def wrong():
    for kind, value in OBJECTS.items():
        yield from (kind + ": " + what for what in refused(kind, value))


# Maps whose keys are ours to choose.
FREE = ("labels", "matchLabels", "data", "stringData", "requests", "limits")


def unseen_typos():
    for kind, value in OBJECTS.items():
        yield from (kind + ": " + what for what in typos.unseen(value, FREE, lambda spoilt: refused(kind, spoilt)))


def configuration():
    yield OBJECTS["ConfigMap"]["data"]["retryd.yaml"]


def container():
    return OBJECTS["Deployment"]["spec"]["template"]["spec"]["containers"][0]


def wrong_wiring():
    pod = OBJECTS["Deployment"]["spec"]["template"]
    if {"configMap": {"name": OBJECTS["ConfigMap"]["metadata"]["name"]}} not in [
            {"configMap": volume.get("configMap")} for volume in pod["spec"]["volumes"]]:
        yield "the pod does not mount the ConfigMap"
    yield from wrong_password(pod["spec"]["volumes"])
    yield from wrong_ports()
    if pod["spec"]["terminationGracePeriodSeconds"] <= 10:
        yield "the pod is killed before shutdown_timeout, 10s, is over"
    if container()["image"] != "retryd:" + version():
        yield "the image is not that of version " + version()
    labels = pod["metadata"]["labels"]
    monitor = OBJECTS["PodMonitor"]["spec"]
    for who, selector in (("Deployment", OBJECTS["Deployment"]["spec"]["selector"]), ("PodMonitor", monitor["selector"])):
        if not selector["matchLabels"].items() <= labels.items():
            yield who + " does not select the pod"
    if labels.get(monitor["jobLabel"]) != "retryd":
        yield "the job is not called retryd, as the alerts expect"


def wrong_password(volumes):
    path = re.search(r"password_file: (\S+)", next(configuration())).group(1)
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    secret = OBJECTS["Secret"]
    there = [mounts[volume["name"]] + "/" + key for volume in volumes for key in secret["stringData"]
             if volume.get("secret", {}).get("secretName") == secret["metadata"]["name"]]
    if path not in there:
        yield "retryd looks for its password in %s; there is %s" % (path, there)


def wrong_ports():
    names = {port["name"]: port["containerPort"] for port in container()["ports"]}
    if names != {"http": PORT} or "listen: 0.0.0.0:%d" % PORT not in next(configuration()):
        yield "the pod does not listen on port %d" % PORT
    asked = [container()[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")]
    asked += [endpoint["port"] for endpoint in OBJECTS["PodMonitor"]["spec"]["podMetricsEndpoints"]]
    yield from ("there is no port " + port for port in asked if port not in names)
    paths = [container()[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")]
    if paths != ["/healthz", "/readyz"]:
        yield "the probes ask " + ", ".join(paths)
