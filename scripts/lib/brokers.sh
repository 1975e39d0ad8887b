# shellcheck shell=bash disable=SC2154
# The parts of ./test: the suites without a broker, those on one RabbitMQ after the other, on clusters, the fuzzers, the
# instructions.
# Sourced after session.sh and suites.sh; the arrays $versions, $suites, $clusters and $filter say what is to be run.

tests=$project/build/dev/tests
declare -A root_makers=()

# Every Catch2 executable of the build but those that need a broker.
run_units() {
    local executables suite
    mapfile -t executables < <(find "$tests" -type f -executable -name '*_tests' \
        ! -name broker_tests ! -name fault_tests ! -name cluster_tests | sort)
    for suite in "${executables[@]}"; do
        run_suite "${suite##*/}" "$suite" 120 || notes+=("${suite##*/} failed")
    done
}

# The roots of the brokers are made while the compiler works: they mostly wait for the mirror and the disk.
make_roots() {
    local version
    if ((${#versions[@]} + ${#clusters[@]} == 0)); then return; fi
    ask_sudo
    for version in $(printf '%s\n' "${versions[@]}" "${clusters[@]}" | sort -u); do
        "$broker" root "$version" >/dev/null &
        root_makers[$version]=$!
    done
}

# What later parts take is built while the tests with brokers are run, which mostly wait: at the lowest priority. A part
# whose build fails here says so itself, when its turn comes.
build_ahead() {
    set -m
    nice -n 19 bash -c "$(declare -f build_threads); $(declare -p project fuzz_seconds instructions)
        if ((fuzz_seconds)); then \"\$project/scripts/fuzz\" --build; fi
        if ((instructions)); then \"\$project/scripts/instructions\" --build; fi
        if [[ '${suites[*]}' == *threads* ]]; then build_threads; fi" >"$work/ahead.log" 2>&1 </dev/null &
    ahead=$!
    set +m
}

await_ahead() {
    if [[ -n $ahead ]]; then step "what was built ahead" "$work/waited.log" tail --pid="$ahead" -n 0 -f "$work/ahead.log"; fi
    ahead=
}

run_on_broker() {
    local version=$1 kept=build/dev/rabbitmq-$1.log suite
    if ! root_is_there "$version"; then
        without_root "$version" "$tests/broker/broker_tests" "${filter[@]}"
        return
    fi
    if ! start_broker "$version" --management; then
        failed=$((failed + 1))
        notes+=("RabbitMQ $version could not be started: the reason is above")
        return
    fi
    # shellcheck source=/dev/null
    . "$broker_dir/env"
    for suite in ${suites[$version]}; do
        "run_$suite" "$version" || notes+=("$suite on RabbitMQ $version failed; what RabbitMQ logged: $kept")
    done
    cp "$broker_dir/node/log/rabbit.log" "$project/$kept" || true
    "$broker" remove "$broker_dir"
}

run_broker() {
    run_suite "broker tests on RabbitMQ $1" "$tests/broker/broker_tests" 900 "${filter[@]}"
}

# The one test that is too long for each broker.
run_replay() {
    run_suite "replay of 10,000 parked messages on RabbitMQ $1" "$tests/broker/broker_tests" 300 '[.ten-thousand]'
}

run_faults() {
    run_suite "fault tests on RabbitMQ $1" "$tests/faults/fault_tests" 900 "${filter[@]}"
}

# Counts as one test. What it found is told, whatever it is; without options a short one.
run_stress() {
    local options=("${filter[@]}")
    if ((${#options[@]} == 0)); then options=(--messages 3000 --faults 20); fi
    run_program "stress on RabbitMQ $1" "$tests/stress/stress" --broker-dir "$broker_dir" "${options[@]}"
}

# The status page in Chromium; with a folder, pictures of it. Debian's own Python: python3-selenium belongs to that. Each
# test method counts as one test.
run_page() {
    local log=$work/page.log options=() ran bad code=0
    if ((${#filter[@]})); then options=(--pictures "${filter[0]}"); fi
    RETRYD_BUILD=$project/build/dev step "page tests on RabbitMQ $1" "$log" timeout --kill-after=10 600 \
        /usr/bin/python3 "$project/tests/page/page_test.py" "${options[@]}" || code=$?
    ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$log" | tail -n 1)
    bad=$(grep -cE '^(FAIL|ERROR): ' "$log") || true
    if ((code != 0 && bad == 0 || ${ran:-0} == 0)); then bad=$((bad + 1)); fi
    failed=$((failed + bad))
    passed=$((passed + (${ran:-0} > bad ? ran - bad : 0)))
    say "page tests on RabbitMQ $1: ${ran:-0} ran, $bad failed"
    ((bad == 0))
}

# With the daemon as it is installed: a sanitizer has its own idea of memory.
run_soak() {
    build release || return 1
    RETRYD_TEST_BINARY=$project/build/release/src/retryd run_program "soak on RabbitMQ $1" \
        "$tests/stress/stress" --broker-dir "$broker_dir" --soak "${filter[0]:-60}"
}

# The tests of the daemon's threads, and the broker tests in which they meet: stopping, reloading, a stuck socket, HTTP. Not
# the one in which the log hangs: at the end ThreadSanitizer flushes standard error, and would hang there, too.
run_threads() {
    local filters=('*SIGTERM under*,*SIGTERM while*,*like SIGTERM*,*whose broker takes*,*reload*,*stopped*,*who counts*')
    local suite
    await_ahead
    step "building (tsan)" "$work/build.log" build_threads || return 1
    for suite in daemon telemetry http; do
        run_suite "$suite tests with ThreadSanitizer" "$project/build/tsan/tests/$suite/${suite}_tests" 120 || return 1
    done
    RETRYD_TEST_BINARY=$project/build/tsan/src/retryd TSAN_OPTIONS=halt_on_error=1 \
        run_suite "threads on RabbitMQ $1 with ThreadSanitizer" "$tests/broker/broker_tests" 300 "${filters[@]}"
}

build_threads() {
    cmake --preset tsan -S "$project" &&
        cmake --build "$project/build/tsan" --target retryd daemon_tests telemetry_tests http_tests --parallel "$(nproc)"
}

run_on_cluster() {
    local version=$1 dir=$work/cluster-$1
    if ! root_is_there "$version"; then
        without_root "$version" "$tests/cluster/cluster_tests" "${filter[@]}"
        return
    fi
    clusters_made+=("$dir")
    if ! follow "$project/scripts/cluster" start "$version" "$dir"; then
        failed=$((failed + 1))
        notes+=("a cluster of RabbitMQ $version could not be started: the reason is above")
        return
    fi
    # shellcheck source=/dev/null
    . "$dir/env"
    run_suite "cluster tests on RabbitMQ $version" "$tests/cluster/cluster_tests" 900 "${filter[@]}" ||
        notes+=("cluster tests on RabbitMQ $version failed")
    "$project/scripts/cluster" remove "$dir"
}

# Each target counts as one test.
run_fuzzers() {
    local log=$work/fuzzers.log good bad
    await_ahead
    follow "$project/scripts/fuzz" "$fuzz_seconds" >"$log" || notes+=("a fuzzer found something, or could not be run")
    cat "$log" >&2
    good=$(grep -c ' passed' "$log") || true
    passed=$((passed + good))
    bad=$(grep -c ' FOUND' "$log") || true
    if [[ ! -s $log ]]; then bad=1; fi
    failed=$((failed + bad))
}

# Each case counts as one test.
run_instructions() {
    local log=$work/instructions.log good bad code=0
    await_ahead
    follow "$project/scripts/instructions" >"$log" || code=$?
    cat "$log" >&2
    good=$(grep -c ' passed$' "$log") || true
    bad=$(grep -c ' OVER$' "$log") || true
    if ((code != 0 && bad == 0)); then bad=1; fi
    passed=$((passed + good))
    failed=$((failed + bad))
    if ((bad)); then notes+=("a message costs more than it may, or what it costs could not be counted"); fi
}

root_is_there() {
    if [[ -z ${root_makers[$1]:-} ]]; then return 0; fi
    wait "${root_makers[$1]}"
}

# forky is Debian's testing: on some days its packages cannot be installed. bullseye is on its way from the mirrors to the
# archive. Neither is a fault of retryd's: their tests count as skipped, never as passed. The other two are stable:
# without them the run has failed.
#
# without_root VERSION EXECUTABLE [FILTER]
without_root() {
    local missed
    if [[ $1 != 3.8 && $1 != 4.3 ]]; then
        failed=$((failed + 1))
        notes+=("no RabbitMQ $1 could be installed: the reason is above; nothing was tested on it")
        return
    fi
    missed=$(count_cases "${@:2}")
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
