# shellcheck shell=bash disable=SC2154
# Running Catch2 executables and counting their test cases. Sourced after say.sh and session.sh.

passed=0
failed=0
skipped=0
notes=()

# GCC 12's sanitizers cannot start where the kernel spreads addresses wider than they know (vm.mmap_rnd_bits=32).
fixed_addresses=()
if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
    fixed_addresses=(setarch "$(uname -m)" --addr-no-randomize)
fi

# The number before WORD in a summary of Catch2 ("test cases: 3 | 1 passed | 2 failed"), 0 where it is absent.
number_of() {
    if [[ $1 =~ ([0-9]+)\ $2 ]]; then echo "${BASH_REMATCH[1]}"; else echo 0; fi
}

# count LOG CODE - adds what the summary at the end of LOG tells. An executable that fails in another way than by a test
# case (a sanitizer's finding, a crash, an end without a summary, no test at all) counts as one failure.
count() {
    local line bad=0
    line=$(grep -aE '^(All tests passed|test cases:)' "$1" | tail -n 1) || true
    case $line in
        All*) passed=$((passed + $(number_of "$line" 'test case'))) ;;
        test*)
            bad=$(number_of "${line/failed as expected/xfailed}" failed)
            passed=$((passed + $(number_of "$line" passed) + $(number_of "$line" 'failed as expected')))
            skipped=$((skipped + $(number_of "$line" skipped)))
            ;;
        *) bad=1 ;;
    esac
    if (($2 != 0 && bad == 0)); then bad=1; fi
    failed=$((failed + bad))
    ((bad == 0))
}

# The names of the test cases that failed, from LOG: what Catch2 prints between two rules.
failed_cases() {
    awk 'length == 79 && /^-+$/ { inside = !inside; if (!inside && name != "") print name; name = ""; next }
         inside { sub(/^ +/, ""); name = name (name == "" ? "" : " ") $0 }' "$1" | sort -u
}

# run_suite LABEL EXECUTABLE SECONDS ARGUMENT... - all of its output when something fails; $notes names what failed.
run_suite() {
    local label=$1 executable=$2 limit=$3 log=$work/suite.log code=0 before=$passed case
    shift 3
    step "$label" "$log" "${fixed_addresses[@]}" timeout --kill-after=10 "$limit" "$executable" --durations yes "$@" ||
        code=$?
    if count "$log" "$code"; then
        say "$label: $((passed - before)) passed"
        return
    fi
    # step has shown the output of what failed with a code; an executable that ran no test may end with 0.
    if ((code == 0)); then cat "$log" >&2; fi
    if ((code == 124 || code == 137)); then say "$label: it hung and was ended after $limit s"; fi
    say "$label: FAILED"
    while read -r case; do notes+=("$label: $case"); done < <(failed_cases "$log")
    return 1
}

# run_program LABEL COMMAND... - a program that counts as one test and tells its findings on stdout, which are shown.
run_program() {
    local label=$1 log=$work/program.log said=$work/program.out code=0
    shift
    # shellcheck disable=SC2016  # the inner shell expands it
    step "$label" "$log" "${fixed_addresses[@]}" bash -c '"${@:2}" >"$1"' run "$said" "$@" || code=$?
    cat "$said" >&2
    if ((code == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    return "$code"
}

# How many test cases COMMAND has, as it lists them.
count_cases() {
    local line
    line=$("$@" --list-tests 2>/dev/null | grep -aE '^[0-9]+ (matching )?test cases?$' | tail -n 1) || true
    number_of "$line" '(matching )?test case'
}
