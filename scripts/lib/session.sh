# shellcheck shell=bash disable=SC2154
# What ./test and ./demo have in common: a folder for what is temporary, brokers that end with the script however it ends,
# and waiting that a signal can interrupt. Sourced after say.sh; $project is the root of the project.

broker=$project/scripts/broker
work=$(mktemp -d "${TMPDIR:-/tmp}/retryd.XXXXXX")
brokers=()
at_exit=true # a command of the script's own

cleanup() {
    local dir job
    trap '' INT TERM HUP
    end_steps
    # A broker that is starting, roots that are being made: each tidies up behind itself.
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

# follow COMMAND... - runs it in the background and waits, so that a signal ends the wait at once; its exit code.
follow() {
    local code=0
    "$@" &
    wait $! || code=$?
    return "$code"
}

# sudo asks for its password here, once, and not from inside of something that runs in the background.
ask_sudo() {
    if ((EUID != 0)) && command -v sudo >/dev/null; then sudo --validate; fi
}

# begin_broker VERSION [OPTION...] - starts one that ends with this script; sets $broker_dir. It can be used once
# await_broker has returned. Its environment: . env
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
