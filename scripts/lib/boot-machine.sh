# shellcheck shell=bash disable=SC2154
# One booted Debian: a container of systemd-nspawn with its own systemd, processes and network. Sourced after say.sh.

machine=       # the folder of its root
nspawn=        # the process that holds it
leader=        # its systemd, as this system numbers it
boot_deadline=120

# make_machine ROOT FOLDER - a copy to boot from, that may be changed.
make_machine() {
    machine=$2
    cp -a --reflink=auto "$1" "$machine"
    echo retryd-trial >"$machine/etc/hostname"
    printf '127.0.0.1 localhost retryd-trial\n::1 localhost\n' >"$machine/etc/hosts"
    : >"$machine/etc/resolv.conf"
    : >"$machine/etc/machine-id"
}

# power_on - boots it, and returns when nothing is being started any more. On a system that systemd runs, nspawn asks that
# for a control group; elsewhere it stays in this script's. A systemd of 256 or later wants the second version of control
# groups, and takes the first one where it is told to.
power_on() {
    local options=(--quiet --boot --register=no --private-network --console=pipe --link-journal=no)
    if [[ ! -d /run/systemd/system ]]; then options+=(--keep-unit); fi
    SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 setsid systemd-nspawn --directory="$machine" "${options[@]}" \
        SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 \
        >>"$work/console.log" 2>&1 </dev/null &
    nspawn=$!
    await_booted
}

await_booted() {
    local until=$((SECONDS + boot_deadline))
    while ((SECONDS < until)) && kill -0 "$nspawn" 2>/dev/null; do
        leader=$(pgrep --parent "$nspawn" || true)
        if [[ -n $leader ]] && [[ -e /proc/$leader/root/run/systemd/private ]]; then
            inside systemctl is-system-running --wait >"$work/state" 2>&1 || true
            if grep --quiet -E '^(running|degraded)$' "$work/state"; then return; fi
        fi
        sleep 0.2
    done
    tail -n 30 "$work/console.log" >&2
    fail "the machine did not boot within $boot_deadline s" "nothing was tried in it" "its last words are above"
}

# inside COMMAND... - runs it in the machine.
inside() { nsenter --target "$leader" --all -- "$@"; }

# reboot_machine - as an operator does it. nspawn boots it again by itself, or ends with 133 for whoever started it.
reboot_machine() {
    local former=$leader code=0
    inside systemctl reboot || true
    while kill -0 "$former" 2>/dev/null; do sleep 0.2; done
    if [[ -d /run/systemd/system ]]; then
        await_booted
        return
    fi
    wait "$nspawn" || code=$?
    if ((code != 133)); then fail "the machine ended with code $code, not to boot again" "the trial ends" "see above"; fi
    power_on
}

# power_off - for good; whatever it is doing.
power_off() {
    if [[ -n $leader ]] && kill -0 "$leader" 2>/dev/null; then
        kill -KILL "$leader" 2>/dev/null || true
    fi
    if [[ -n $nspawn ]]; then wait "$nspawn" 2>/dev/null || true; fi
    nspawn=
    leader=
}
