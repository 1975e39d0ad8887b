# shellcheck shell=bash disable=SC2154
# The parts of ./test: the suites without a broker, and the broker tests on one RabbitMQ after the other. Sourced after
# session.sh and suites.sh; the arrays $versions and $filter say what is to be run.

broker_tests=$project/build/dev/tests/broker/broker_tests
declare -A root_makers=()
notes=()

# Every Catch2 executable of the build but the one that needs a broker.
run_units() {
    local suites suite
    mapfile -t suites < <(find "$project/build/dev/tests" -type f -executable -name '*_tests' ! -name broker_tests | sort)
    for suite in "${suites[@]}"; do
        run_suite "${suite##*/}" "$suite" 120 || notes+=("${suite##*/} failed")
    done
}

# The roots of the brokers are made while the compiler works: they mostly wait for the mirror and the disk.
make_roots() {
    local version
    if ((${#versions[@]} == 0)); then return; fi
    ask_sudo
    for version in "${versions[@]}"; do
        "$broker" root "$version" >/dev/null &
        root_makers[$version]=$!
    done
}

run_on_broker() {
    local version=$1 label="broker tests on RabbitMQ $1" kept=build/dev/rabbitmq-$1.log
    if ! wait "${root_makers[$version]}"; then
        without_root "$version"
        return
    fi
    if ! start_broker "$version" --management; then
        failed=$((failed + 1))
        notes+=("RabbitMQ $version could not be started: the reason is above")
        return
    fi
    # shellcheck source=/dev/null
    . "$broker_dir/env"
    run_suite "$label" "$broker_tests" 600 "${filter[@]}" || notes+=("$label failed; what RabbitMQ logged: $kept")
    cp "$broker_dir/node/log/rabbit.log" "$project/$kept" || true
    "$broker" remove "$broker_dir"
}

# forky is Debian's testing: on some days its packages cannot be installed. bullseye is on its way from the mirrors to the
# archive. Neither is a fault of retryd's: their tests count as skipped, never as passed. The other two are stable:
# without them the run has failed.
without_root() {
    local missed
    if [[ $1 != 3.8 && $1 != 4.3 ]]; then
        failed=$((failed + 1))
        notes+=("no RabbitMQ $1 could be installed: the reason is above; nothing was tested on it")
        return
    fi
    missed=$(count_cases "$broker_tests" "${filter[@]}")
    skipped=$((skipped + missed))
    notes+=("no RabbitMQ $1 could be installed today (Debian $(suite_of "$1")): $missed tests were NOT run on it")
    banner "${notes[-1]}" "retryd goes on with the other versions; try again tomorrow, or see the reason above"
}

# give_up REASON - the verdict when there is nothing to test.
give_up() {
    failed=$((failed + 1))
    notes+=("$1: nothing was tested; the reason is above")
    finish
}

# The verdict; ends the script.
finish() {
    local verdict="$passed passed, $failed failed"
    if ((${#notes[@]})); then banner "${notes[@]}"; fi
    if ((skipped)); then verdict+=", $skipped skipped"; fi
    if ((passed + failed == 0)); then say "nothing ran: that is a failure"; fi
    say "took $(elapsed "$SECONDS")"
    echo "$verdict"
    ((failed == 0 && passed > 0)) || exit 1
    exit 0
}
