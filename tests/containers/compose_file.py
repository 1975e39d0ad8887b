"""Whether docker/compose.yaml is valid, and what it mounts fits together."""
import json
import os
import re
import shutil
import subprocess
import tempfile

import typos
from project import PORT, against, path_of, schema_of, text_of, yaml_of

FOLDER = "docker"
COMPOSE = yaml_of("docker/compose.yaml")
SERVICES = COMPOSE["services"]


def mounts(service):
    """(file of the project, path in the container) of each."""
    for volume in SERVICES[service].get("volumes", []):
        source, target, mode = volume.split(":")
        yield os.path.normpath(os.path.join(FOLDER, source)), target, mode


def mounted(service, target):
    return next(source for source, where, _ in mounts(service) if where == target)


def refused(value):
    return against(schema_of("compose.json"), value)


# Maps whose keys are ours to choose.
FREE = ("services", "environment", "depends_on", "secrets")


def unseen_typos():
    yield from typos.unseen(COMPOSE, FREE, refused)


def wrong():
    yield from refused(COMPOSE)
    for name, service in SERVICES.items():
        if "build" not in service and not re.search(r":v?\d+\.\d+\.\d+", service["image"]):
            yield name + ": its image is not pinned to a version"
        yield from ("%s: port %s is open to others" % (name, port) for port in service.get("ports", [])
                    if not port.startswith("127.0.0.1:"))


def wrong_mounts():
    """What is not there, docker would make as an empty folder."""
    for name in SERVICES:
        for source, _, mode in mounts(name):
            if not os.path.isfile(path_of(source)):
                yield "%s: there is no file %s" % (name, source)
            if mode != "ro":
                yield "%s: %s is not mounted read-only" % (name, source)
    for name, secret in COMPOSE["secrets"].items():
        if not os.path.isfile(path_of(os.path.join(FOLDER, secret["file"]))):
            yield "secret %s: there is no file %s" % (name, secret["file"])
    for name, service in SERVICES.items():
        build = service.get("build", {})
        context = os.path.normpath(os.path.join(FOLDER, build if isinstance(build, str) else build.get("context", "..")))
        file = "Dockerfile" if isinstance(build, str) else build.get("dockerfile", "docker/Dockerfile")
        if not os.path.isfile(path_of(os.path.join(context, file))):
            yield "%s: there is no %s in %s" % (name, file, context)


def wrong_names():
    """Who is called by name is there, and listens where it is called."""
    retryd = text_of(mounted("retryd", "/etc/retryd/retryd.yaml"))
    prometheus = text_of(mounted("prometheus", "/etc/prometheus/prometheus.yml"))
    datasource = text_of(mounted("grafana", "/etc/grafana/provisioning/datasources/retryd.yaml"))
    called = {
        "retryd": re.findall(r"amqp://retryd@([^/:]+)/", retryd),
        "flaky": re.findall(r"@([^/:]+)/", SERVICES["flaky"]["environment"]["AMQP_URL"]),
        "prometheus": re.findall(r'"([^":]+):%d"' % PORT, prometheus),
        "grafana": re.findall(r"http://([^/:]+):9090", datasource),
    }
    for who, names in called.items():
        if len(names) != 1 or names[0] not in SERVICES:
            yield "%s calls %s, and the services are %s" % (who, names, ", ".join(SERVICES))
    if "listen: 0.0.0.0:%d" % PORT not in retryd:
        yield "retryd does not listen to others on port %d" % PORT
    definitions = json.loads(text_of(mounted("rabbitmq", "/etc/rabbitmq/definitions.json")))
    passwords = {user["name"]: user["password"] for user in definitions["users"]}
    if passwords.get("retryd") != text_of("docker/compose/retryd.password").rstrip("\n"):
        yield "the broker has another password for retryd than the secret"
    if "demo:%s@" % passwords.get("demo") not in SERVICES["flaky"]["environment"]["AMQP_URL"]:
        yield "flaky has another password than the broker"
    if "load_definitions = /etc/rabbitmq/definitions.json\n" not in text_of("docker/compose/rabbitmq.conf"):
        yield "rabbitmq does not load its definitions"


def wrong_prometheus():
    """As promtool sees it, every file at its place."""
    tool = shutil.which("promtool") or os.path.join(os.environ.get("RETRYD_CACHE", "/var/cache/retryd"), "bin/promtool")
    if not os.access(tool, os.X_OK):
        yield "there is no promtool: the configuration cannot be tried; run scripts/install-deps"
        return
    with tempfile.TemporaryDirectory() as folder:
        for source, target, _ in mounts("prometheus"):
            shutil.copy(path_of(source), os.path.join(folder, os.path.basename(target)))
        ran = subprocess.run([tool, "check", "config", os.path.join(folder, "prometheus.yml")], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if ran.returncode:
            yield ran.stdout
        if not re.search(r"\b\d+ rules found", ran.stdout):
            yield "it has no rules: " + ran.stdout


def wrong_grafana():
    """Grafana's own words for its files: apiVersion, datasources of a known type, a folder of dashboards."""
    datasources = yaml_of(mounted("grafana", "/etc/grafana/provisioning/datasources/retryd.yaml"))
    dashboards = yaml_of(mounted("grafana", "/etc/grafana/provisioning/dashboards/retryd.yaml"))
    if datasources["apiVersion"] != 1 or dashboards["apiVersion"] != 1:
        yield "a file of Grafana's is not of apiVersion 1"
    if [source["type"] for source in datasources["datasources"]] != ["prometheus"]:
        yield "there is not one datasource, a Prometheus"
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    folders = [provider["options"]["path"] for provider in dashboards["providers"]]
    if os.path.dirname(home) not in folders:
        yield "the dashboard %s is in none of %s" % (home, folders)
    if mounted("grafana", home) != "config/monitoring/grafana-dashboard.json":
        yield "the first page is not the dashboard"
    if "__inputs" in json.loads(text_of("config/monitoring/grafana-dashboard.json")):
        yield "the dashboard asks questions that only an import by hand answers"
