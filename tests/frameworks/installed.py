"""What the clients need, in the folder frameworks of the build: npm's packages as the lock file has them, the programs in
Go, and the results of the runs."""
import filecmp
import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def folder():
    path = pathlib.Path(os.environ["RETRYD_BUILD"]) / "frameworks"
    path.mkdir(exist_ok=True)
    return path


def all_of(clients):
    build = folder()
    if any(client.from_npm for client in clients):
        npm(build)
    for client in clients:
        if client.program.endswith(".go"):
            go(HERE / "clients" / client.program, build)
    return build


def npm(build):
    """Once for each lock file: npm starts by deleting what it installed."""
    lock, done = build / "package-lock.json", build / "node_modules" / ".installed"
    if done.exists() and filecmp.cmp(HERE / lock.name, done, shallow=False):
        return
    for name in ("package.json", lock.name):
        shutil.copy(HERE / name, build / name)
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"], build)
    shutil.copy(lock, done)


def go(source, build):
    """Debian has the sources of its libraries where the compiler of long ago looked for them."""
    target = build / source.stem
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return
    run(["go", "build", "-o", target, source], build,
        {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(build / "go"), "GOFLAGS": ""})


def run(command, where, environment=None):
    ended = subprocess.run(command, cwd=where, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == 0, f"{' '.join(map(str, command))}: {ended.returncode}\n{ended.stdout}{ended.stderr}"


def write_results(version, results):
    text = json.dumps(results, indent=2, sort_keys=True, ensure_ascii=False)
    (folder() / f"{version}.json").write_text(text + "\n", encoding="utf-8")
