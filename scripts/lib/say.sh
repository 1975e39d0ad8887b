# shellcheck shell=bash disable=SC2154
# How the scripts speak: one line for each step, a sign of life while a long one runs, the whole output of one that fails.
# Sourced; the sourcing script names itself in $me.

step_pid=

say() { printf '%s: %s\n' "$me" "$*" >&2; }

# fail CAUSE CONSEQUENCE REMEDY - says the three and ends the script.
fail() {
    printf '%s: %s\n  then: %s\n  do:   %s\n' "$me" "$1" "$2" "$3" >&2
    exit 1
}

# A box that nobody scrolls past.
banner() {
    local rule
    rule=$(printf '!%.0s' {1..100})
    printf '\n%s\n' "$rule" >&2
    printf '!! %s\n' "$@" >&2
    printf '%s\n\n' "$rule" >&2
}

# elapsed SECONDS - "48 s" or "3 min 12 s".
elapsed() {
    if (($1 < 60)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# The last line of a log that says something, cut to the width of a screen; without the escapes of a progress display.
last_line() {
    tail -c 4000 "$1" 2>/dev/null | tr '\r' '\n' | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | grep -v '^[[:space:]]*$' |
        tail -n 1 | cut -c 1-100 || true
}

# step LABEL LOG COMMAND... - runs the command with its output in LOG: a line when it starts, one every 15 seconds that
# tells what it is doing, one when it ends; all of LOG when it fails. Its exit code is the command's. The command runs
# in a process group of its own (set -m), so that an interrupted script can end all of it: end_steps.
step() {
    local label=$1 log=$2 began=$SECONDS code=0 told=0
    shift 2
    say "$label ..."
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    step_pid=$!
    set +m
    while kill -0 "$step_pid" 2>/dev/null; do
        sleep 0.2 &
        wait $! || true
        if ((SECONDS - began >= told + 15)); then
            told=$((SECONDS - began))
            say "$label: $(elapsed $told) ($(last_line "$log"))"
        fi
    done
    wait "$step_pid" || code=$?
    step_pid=
    if ((code == 0)); then
        say "$label: done in $(elapsed $((SECONDS - began)))"
    else
        cat "$log" >&2
        say "$label: failed with code $code after $(elapsed $((SECONDS - began))); its output is above"
    fi
    return "$code"
}

# Ends the step that is running, if one is: to be called from the EXIT trap.
end_steps() {
    if [[ -n $step_pid ]]; then kill -TERM -- "-$step_pid" 2>/dev/null || true; fi
    step_pid=
}
