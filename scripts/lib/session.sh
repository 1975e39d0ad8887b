# shellcheck shell=bash disable=SC2154
# What ./test and ./demo have in common: a temporary folder, brokers that are removed however the script ends (by the next
# run where it was killed), and a wait that a signal interrupts. Sourced after say.sh; $project is the root of the project.

broker=$project/scripts/broker
temporary=$(realpath -m "${TMPDIR:-/tmp}")
stat=$(</proc/$$/stat)
read -ra stat <<<"${stat##*) }" # the name before it may have a space
{ work=$(mktemp -d "$temporary/retryd.XXXXXX") && echo "$$ ${stat[19]} $(readlink /proc/self/ns/pid)" >"$work/owner"; } ||
    { rm -rf "${work:-}" && fail "nothing can be written to $temporary" "nothing was done" "set TMPDIR to a folder with room"; }
export TMPDIR=$work
brokers=()
at_exit=true # a command that the script may set

# end_job PID - a job that has just been forked still has our traps and may lose the first signal: it is sent again, but only
# after a second, since a script that cleans up by then must not be interrupted.
end_job() {
    local tick=0
    while kill -0 "$1" 2>/dev/null; do
        if ((tick++ % 20 == 0)); then kill -TERM "$1" 2>/dev/null || true; fi
        sleep 0.05
    done
}

cleanup() {
    local dir job
    trap '' INT TERM HUP
    end_steps
    # To what sudo has made root we may not send a signal.
    if ((EUID != 0)); then { sweep kill "$work"; } 2>/dev/null; fi # bash says which job was killed
    # Jobs that are starting a broker or making a root clean up by themselves.
    for job in $(jobs -p); do end_job "$job"; done
    for dir in "${brokers[@]}"; do if [[ -e $dir/settings ]]; then "$broker" remove "$dir" || true; fi; done
    "$at_exit" || true
    sweep end "$work"
    rm -rf "$work"
}

# Without root it can end and remove what is ours.
sweep() {
    local sudo=()
    if ((EUID != 0)) && sudo --non-interactive true 2>/dev/null; then sudo=(sudo --non-interactive); fi
    if [[ -x /usr/bin/python3 ]]; then "${sudo[@]}" /usr/bin/python3 "$project/scripts/lib/sweep.py" "$@" || true; fi
}

# claim PRESET - from now on its build folder is ours: another run would change what this one uses. The lock is held on 9, by
# what builds and tests there as well, not by brokers.
claim() {
    local lock=$project/build/$1.lock
    if ! { mkdir -p "$project/build" && : >>"$lock"; } 2>/dev/null; then
        fail "nothing can be written to $project/build" "retryd cannot be built there" \
            "make it writable (is the disk full?), or copy the project to a folder that is"
    fi
    sweep dead "$temporary"
    exec 9>>"$lock"
    flock --nonblock 9 ||
        fail "another $(<"$lock") works in build/$1 of this folder" "nothing was done" "wait until it has ended, or end it"
    echo "./$me (pid $$)" >"$lock"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# follow COMMAND... - runs it in the background and waits, so that a signal ends the wait at once. Returns its exit code.
follow() {
    local code=0
    "$@" &
    wait $! || code=$?
    return "$code"
}

# Whether we are root or may become it. sudo asks for its password here, once, and not in a background job.
may_be_root() { ((EUID == 0)) || { command -v sudo >/dev/null && sudo --validate; }; }

# begin_broker VERSION [OPTION...] - starts a broker that is removed when this script ends; sets $broker_dir. It can be used
# once await_broker has returned; the file env in it has its environment.
begin_broker() {
    broker_dir=$work/broker-$1
    brokers+=("$broker_dir")
    "$broker" start "$1" "$broker_dir" "${@:2}" &
    broker_starts=$!
}

await_broker() { wait "$broker_starts"; }

# After an upgrade of clang or of system headers clang refuses what it has precompiled before.
forget_precompiled() { # PRESET; fails where that was not the reason
    grep -qE 'precompiled (header|file)|(PCH|AST) file' "$work/build.log" &&
        find "$project/build/$1" -name '*.pch' -delete -print | grep -c . >/dev/null &&
        say "once more: what was precompiled before the last change of the installed packages is thrown away"
}

compile() { # PRESET TARGET...
    step "building ($1)" "$work/build.log" cmake --build "$project/build/$1" --parallel "$(nproc)" --target "${@:2}"
}

# build PRESET TARGET... - configures and builds, one compiler for each core.
build() {
    local cache=$project/build/$1/CMakeCache.txt
    # Of another generator, or of the folder that the project was in before: CMake would refuse it.
    if [[ -e $cache ]] && ! { grep -qx 'CMAKE_GENERATOR:INTERNAL=Ninja' "$cache" &&
        [[ $(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache") -ef $project ]]; }; then
        rm -r "$cache" "${cache%/*}/CMakeFiles"
    fi
    step "configuring ($1)" "$work/configure.log" cmake --preset "$1" -S "$project" &&
        { compile "$@" || { forget_precompiled "$1" && compile "$@"; }; }
}
