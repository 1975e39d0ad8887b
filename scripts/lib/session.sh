# shellcheck shell=bash disable=SC2154
# What ./test and ./demo have in common: a temporary folder, brokers that are removed however the script ends, and a wait
# that a signal interrupts. Sourced after say.sh; $project is the root of the project.

broker=$project/scripts/broker
work=$(mktemp -d "${TMPDIR:-/tmp}/retryd.XXXXXX")
brokers=()
at_exit=true # a command that the script may set

cleanup() {
    local dir job
    trap '' INT TERM HUP
    end_steps
    # Jobs that are starting a broker or making a root clean up by themselves.
    for job in $(jobs -p); do
        if kill -TERM "$job" 2>/dev/null; then wait "$job" 2>/dev/null || true; fi
    done
    for dir in "${brokers[@]}"; do "$broker" remove "$dir" || true; done
    "$at_exit" || true
    rm -rf "$work"
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

# sudo asks for its password here, once, and not in a background job.
ask_sudo() {
    if ((EUID != 0)) && command -v sudo >/dev/null; then sudo --validate; fi
}

# begin_broker VERSION [OPTION...] - starts a broker that is removed when this script ends; sets $broker_dir. It can be used
# once await_broker has returned; the file env in it has its environment.
begin_broker() {
    broker_dir=$work/broker-$1
    brokers+=("$broker_dir")
    "$broker" start "$1" "$broker_dir" "${@:2}" &
    broker_starts=$!
}

await_broker() { wait "$broker_starts"; }

start_broker() {
    begin_broker "$@"
    await_broker
}

# build PRESET TARGET [OPTION...] - configures, with these options, and builds, one compiler for each core.
build() {
    step "configuring ($1)" "$work/configure.log" cmake --preset "$1" -S "$project" "${@:3}" &&
        step "building ($1)" "$work/build.log" cmake --build "$project/build/$1" --parallel "$(nproc)" --target "$2"
}
