"""Whether docker/Dockerfile agrees with the rest of the project."""
import re

from project import PORT, text_of, version

TEXT = text_of("docker/Dockerfile")


def packages_to_build():
    """Those that scripts/install-deps installs for building."""
    return re.search(r"# to build\n(.*?)# to ", text_of("scripts/install-deps"), flags=re.S).group(1).split()


def wrong():
    installed = set(re.search(r"AS build\n.*?install(.*?)&& rm", TEXT, flags=re.S).group(1).replace("\\", "").split())
    yield from ("it builds without " + package for package in packages_to_build() if package not in installed)
    label = re.search(r'image\.version="([^"]*)"', TEXT).group(1)
    if label != version():
        yield "its label says version %s, CMakeLists.txt says %s" % (label, version())
    if not re.search(r"(?m)^EXPOSE %d$" % PORT, TEXT) or "http://127.0.0.1:%d/healthz" % PORT not in TEXT:
        yield "it does not speak of port %d" % PORT
    user = re.findall(r"(?m)^USER (\S+)$", TEXT)
    if not user or not re.fullmatch(r"[1-9]\d*:[1-9]\d*", user[-1]):
        yield "its user is no number: Kubernetes cannot tell whether it is root"
