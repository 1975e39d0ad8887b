#!/usr/bin/env python3
"""What is in a package of retryd: sbom.py PACKAGE DAEMON >PACKAGE.spdx.json

An SPDX 2.3 document: retryd; the Debian packages whose libraries the daemon loads; those whose headers were compiled
into it; the tools that built it. Exact versions, of the system that this runs on: the one that built the package. Dated
by SOURCE_DATE_EPOCH, so that the same package has the same document.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time

HEADERS = ["libcli11-dev", "libfmt-dev", "libspdlog-dev", "nlohmann-json3-dev", "libyaml-cpp-dev", "prometheus-cpp-dev"]
TOOLS = ["g++", "cmake", "ninja-build", "binutils", "dpkg-dev"]
# Debian's names of licences, where SPDX has another one for the same text.
LICENCES = {"Expat": "MIT", "Apache-2": "Apache-2.0", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause",
            "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-2+": "LGPL-2.0-or-later", "GPL-2+": "GPL-2.0-or-later",
            "GPL-3+": "GPL-3.0-or-later", "MIT": "MIT", "Apache-2.0": "Apache-2.0", "curl": "curl"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def field(package, name):
    return output("dpkg-deb", "--field", package, name).strip()


def libraries(daemon):
    """The packages of the libraries that the loader maps. dpkg may list them in /lib, which is /usr/lib: both are tried."""
    paths = [os.path.realpath(path) for path in re.findall(r"(?:=> )?(/\S+) \(0x", output("ldd", daemon))]
    asked = [*paths, *(path.removeprefix("/usr") for path in paths)]
    said = subprocess.run(["dpkg", "--search", *asked], capture_output=True, text=True, check=False).stdout
    found = dict(reversed(line.split(": ")) for line in said.splitlines())
    for path in paths:
        if path not in found and path.removeprefix("/usr") not in found:
            raise SystemExit(f"no package owns {path}")
    return sorted(set(found.values()))


def actual(name):
    """The package g++ only depends on another, such as g++-12, which has the compiler's version."""
    depends = output("dpkg-query", "-W", "-f", "${Depends}", name)
    return re.search(r"g\+\+-\d+", depends)[0] if name == "g++" else name


def licence(name):
    """The licence that the package's copyright file gives for `Files: *`; NOASSERTION where it is more than one word."""
    try:
        with open(f"/usr/share/doc/{name.split(':')[0]}/copyright", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return "NOASSERTION"
    said = re.search(r"^Files: ?\n? ?\*\n(?:.+\n)*?License: *(\S+) *$", text, re.M)
    return LICENCES.get(said[1], "NOASSERTION") if said else "NOASSERTION"


def debian_package(name):
    query = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
    package, version, architecture, source, source_version = output("dpkg-query", "-W", "-f", query, name).split("\t")
    url = f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
    return {"name": package, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", package), "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "sourceInfo": f"built from Debian's source package {source} {source_version}",
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence(name), "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": url}]}


def main(package, daemon):
    with open(package, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    own = {"name": "retryd", "SPDXID": "SPDXRef-retryd", "versionInfo": field(package, "Version"),
           "packageFileName": os.path.basename(package), "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
           "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "primaryPackagePurpose": "APPLICATION",
           "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
           "supplier": "Organization: " + field(package, "Maintainer").split(" <")[0]}
    packages = {}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-retryd")]
    for names, relation in ((libraries(daemon), "DYNAMIC_LINK"), (HEADERS, "STATIC_LINK")):
        for found in map(debian_package, names):
            packages[found["SPDXID"]] = found
            relations.append(("SPDXRef-retryd", relation, found["SPDXID"]))
    for found in map(debian_package, map(actual, TOOLS)):
        packages[found["SPDXID"]] = found
        relations.append((found["SPDXID"], "BUILD_TOOL_OF", "SPDXRef-retryd"))
    created = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": os.path.basename(package),
               "documentNamespace": f"https://retryd.example/sbom/{digest}",
               "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created),
                                "creators": ["Tool: retryd-sbom.py"]},
               "packages": [own, *packages.values()],
               "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                                 for one, kind, other in relations]}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
