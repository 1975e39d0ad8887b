# shellcheck shell=bash disable=SC2154
# What is done to the service, and how it leaves. Each function is a step as in boot-steps.sh.

kill_under_load() {
    local pid before
    before=$(restarts)
    pid=$(of retryd MainPID)
    under_load 2000 9 inside kill -KILL "$pid"
    pid_is_not retryd "$pid"
    echo "started again $(($(restarts) - before)) time by systemd"
}

stop_under_load() { under_load 2000 9 stop_and_start; }

stop_and_start() {
    local began=$SECONDS
    inside systemctl stop retryd
    expect retryd Result success
    expect retryd ExecMainStatus 0
    echo "ended with 0 within $((SECONDS - began + 1)) s"
    inside systemctl start retryd
}

look_at_the_journal() {
    local pid
    pid=$(of retryd MainPID)
    journal --output json >"$work/journal"
    python3 - "$work/journal" <<'END'
import collections, json, sys
names = {"3": "err", "4": "warning", "6": "info"}
of = collections.Counter()
wrong = []
for line in open(sys.argv[1]):
    entry = json.loads(line)
    if entry.get("_COMM") != "retryd":
        continue
    text = entry["MESSAGE"]
    of[entry["PRIORITY"]] += 1
    should = {"started with": "6", "connected to": "6", "stopped": "6", "was not reloaded": "3", "nonsense": "3"}
    wrong += [(entry["PRIORITY"], text) for words, priority in should.items()
              if text.startswith(words) and entry["PRIORITY"] != priority]
if wrong or not of["3"] or not of["6"]:
    sys.exit(f"priorities {dict(of)}, wrong: {wrong}")
print(", ".join(f"{count} {names.get(priority, priority)}" for priority, count in sorted(of.items())), end="; ")
END
    {
        inside journalctl --quiet --no-pager --output export
        inside systemctl status --no-pager --lines 100 retryd
        inside systemctl show retryd
        tr '\0' '\n' <"/proc/$leader/root/proc/$pid/cmdline"
        tr '\0' '\n' <"/proc/$leader/root/proc/$pid/environ"
    } >"$work/seen"
    if grep --quiet --text "$password" "$work/seen"; then echo "the password shows" >&2 && return 1; fi
    echo "no password in the journal, the status, the command line or the environment"
}

watchdog_has_fired() {
    local pid
    pid=$(<"$work/hung")
    await 150 pid_is_not retryd@other "$pid"
    inside journalctl --quiet --boot --unit retryd@other --output cat >"$work/watchdog"
    grep 'Watchdog timeout' "$work/watchdog" >&2
    await 30 is_connected retryd@other
    echo "the stopped process was found, killed and replaced: $(traffic --vhost other load sms 20 1)"
}

disable_the_broker() {
    inside systemctl disable rabbitmq-server >&2
    traffic fail email 50
}

boot_without_a_broker() {
    expect retryd ActiveState active
    says retryd 'Connection refused'
    expect retryd NRestarts 0
    echo "active, and says: $(of retryd StatusText)"
}

broker_returns() {
    inside systemctl enable --now rabbitmq-server >&2
    await 60 is_connected
    await 60 is_connected retryd@other
    traffic collect email 50
}

# upgrade - to a package that differs in nothing but its version.
upgrade() {
    local pid
    pid=$(of retryd MainPID)
    inside apt-get -q install --yes --no-install-recommends /root/retryd-next.deb >"$work/upgrade" 2>&1 || {
        cat "$work/upgrade" >&2
        return 1
    }
    pid_is_not retryd "$pid"
    expect retryd ActiveState active
    # shellcheck disable=SC2016  # dpkg-query expands it
    echo "now $(inside dpkg-query -W -f '${Version}' retryd), restarted by its package"
}

upgrade_under_load() { under_load 2000 12 upgrade; }

remove_the_package() {
    local pid
    pid=$(of retryd MainPID)
    inside apt-get -q remove --yes retryd >&2
    if inside kill -0 "$pid" 2>/dev/null; then echo "the daemon still runs" >&2 && return 1; fi
    if inside pgrep -x retryd >&2; then echo "an instance still runs" >&2 && return 1; fi
    inside test -e "$config"
    echo "both instances stopped, $config kept"
}

purge_the_package() {
    # These are the operator's own.
    rm "$machine/etc/credstore/"retryd*.password "$machine/etc/retryd/other.yaml"
    inside apt-get -q purge --yes retryd >&2
    inside find /etc /usr /var/lib /var/cache /run /lib/systemd -xdev -name '*retryd*' \
        -not -path '/var/lib/rabbitmq/*' -not -name retryd-depends >"$work/left"
    inside systemctl list-unit-files --no-legend 'retryd*' >>"$work/left" || true # fails where there is none
    if [[ -s $work/left ]]; then echo "left: $(<"$work/left")" >&2 && return 1; fi
    echo "no file, unit, link or state of it is left"
}
