# shellcheck shell=bash disable=SC2154
# The messages of the scripts: one line for each step, one every 15 seconds while a long one runs, and all output of one
# that fails. Sourced; the sourcing script sets $me to its name.

export PATH LC_ALL=C.UTF-8 # bash warns of a locale that is not installed, and other programs read that
step_pid=

say() { printf '%s: %s\n' "$me" "$*" >&2; }

# fail CAUSE CONSEQUENCE REMEDY - prints the three and ends the script with exit code 1.
fail() {
    printf '%s: %s\n  then: %s\n  do:   %s\n' "$me" "$1" "$2" "$3" >&2
    exit 1
}

# banner LINE... - a box that cannot be overlooked.
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

# The last line of a log that is not blank, cut to 100 columns and without escape sequences.
last_line() {
    tail -c 4000 "$1" 2>/dev/null | tr '\r' '\n' | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | grep -v '^[[:space:]]*$' |
        tail -n 1 | cut -c 1-100 || true
}

# step LABEL LOG COMMAND... - runs the command with its output in LOG: a line when it starts, one every 15 seconds with the last
# line of LOG and how long it has been that, one when it ends; all of LOG when it fails. Its exit code is the command's. The
# command runs in a process group of its own (set -m), so that an interrupted script can end all of it: end_steps.
step() {
    local label=$1 log=$2 began=$SECONDS code=0 shown=0 since=$SECONDS last='' now
    shift 2
    say "$label ..."
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    step_pid=$!
    set +m
    while kill -0 "$step_pid" 2>/dev/null; do
        sleep 0.2 &
        wait $! || true
        if ((SECONDS - began >= shown + 15)); then
            shown=$((SECONDS - began))
            now=$(last_line "$log")
            if [[ $now != "$last" ]]; then since=$SECONDS last=$now; fi
            say "$label: $(elapsed $shown) (${now:-no output}$( ((SECONDS > since)) && echo "; nothing new for $(elapsed $((SECONDS - since)))"))"
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
