# Writes what CTest includes: a test for each test case of PROGRAM and each version of RabbitMQ. Its own, because
# catch_discover_tests of Debian 12 sees no tags, and because one test case is several tests here. What the tags of
# Catch2 mean:
#
#   [own-broker]  it harms others on the same broker: runs on one that such tests have in turn
#   [flood]       all queues of its node feel it: on one that such tests have in turn, on the newest version
#   [tls]         it replaces the broker's certificate: one at a time, beside others
#   [3.8]         worth a run on 3.8 in every run: what differs there
#   [threads]     threads meet in it: runs with ThreadSanitizer, too
#   [slow]        begins early, so that nobody waits for it in the end
#   [busy]        it works where most tests wait: fewer run beside it
#   [busiest]     it keeps processors busy for long: half as many run beside it, and of these one on each node
#   [two-versions]  RabbitMQ 4.0 does there what 4.3 does: on 4.0 at night
#   [since-3.10]  what it is about, earlier versions do not have; so [since-4.0], [since-4.3]
#   [one-version] what it is about is retryd's for the most part: on the newest version in every run, on the others at night
#   [night]       takes too long for every run: at night, those of the suite broker on 3.10 and the newest version, with
#                 [one-version] on the newest, with [every-version] on all

cmake_minimum_required(VERSION 3.25)

function(cases_with spec result)
  # Catch2 3 prints the names alone with --verbosity quiet, Catch2 2 with an option that 3 has given up.
  execute_process(COMMAND ${RUN} ${PROGRAM} --list-test-names-only "${spec}"
                  OUTPUT_VARIABLE names ERROR_QUIET RESULT_VARIABLE code)
  if(code AND NOT names)
    execute_process(COMMAND ${RUN} ${PROGRAM} --list-tests --verbosity quiet "${spec}" OUTPUT_VARIABLE names)
  endif()
  # A list of CMake's breaks at semicolons and brackets: they are set aside.
  string(REPLACE ";" "<semicolon>" names "${names}")
  string(REPLACE "[" "<open>" names "${names}")
  string(REPLACE "]" "<close>" names "${names}")
  string(REGEX REPLACE "\n+$" "" names "${names}")
  string(REPLACE "\n" ";" names "${names}")
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# The name as Catch2 wants it on its command line.
function(escaped name result)
  foreach(char "\\" "," "\"")
    string(REPLACE "${char}" "\\${char}" name "${name}")
  endforeach()
  string(REPLACE "<open>" "\\[" name "${name}")
  string(REPLACE "<close>" "]" name "${name}")
  string(REPLACE "<semicolon>" ";" name "${name}")
  set(${result} "${name}" PARENT_SCOPE)
endfunction()

cases_with("~[.]" cases)
if(NOT cases)
  message(FATAL_ERROR "${PROGRAM} lists no test case")
endif()
foreach(tag own-broker flood tls 3.8 threads slow busy busiest one-version two-versions night every-version since-3.10 since-4.0 since-4.3)
  cases_with("[${tag}]" with_${tag})
endforeach()

set(text "")
list(SORT VERSIONS COMPARE NATURAL)
list(GET VERSIONS -1 newest)
foreach(case IN LISTS cases)  # the versions in turn: all brokers have about as much to do at any moment
  set(versions ${VERSIONS} ${NIGHTLY})
  if(SUITE STREQUAL "broker" AND case IN_LIST with_night AND NOT case IN_LIST with_every-version)
    set(versions 3.10 ${newest})
    if(case IN_LIST with_one-version)
      set(versions ${newest})
    endif()
  endif()
  foreach(first 3.10 4.0 4.3)
    if(case IN_LIST with_since-${first})
      foreach(version IN LISTS versions)
        if(version VERSION_LESS first)
          list(REMOVE_ITEM versions ${version})
        endif()
      endforeach()
    endif()
  endforeach()
  foreach(version IN LISTS versions)
    string(REPLACE "<semicolon>" ";" title "${case}")
    string(REPLACE "<open>" "[" title "${title}")
    string(REPLACE "<close>" "]" title "${title}")
    escaped("${case}" spec)
    set(broker rabbitmq-${version})
    set(properties "")
    set(timeout 300)
    if(SUITE STREQUAL "cluster")
      set(broker cluster-${version})
      set(timeout 600)  # three nodes on two processors
      string(APPEND properties " RESOURCE_LOCK ${broker} COST 300")
    elseif(case IN_LIST with_own-broker)
      set(broker rabbitmq-${version}-alone)
      string(APPEND properties " RESOURCE_LOCK ${broker} COST 200")
    elseif(case IN_LIST with_flood AND version STREQUAL newest)
      set(broker rabbitmq-${version}-flood)
      string(APPEND properties " RESOURCE_LOCK ${broker} COST 200")
    elseif(case IN_LIST with_tls)
      string(APPEND properties " RESOURCE_LOCK ${broker}-tls COST 150")
    elseif(case IN_LIST with_slow)
      string(APPEND properties " COST 100")
    endif()
    if(case IN_LIST with_slow)
      set(timeout 900)
    endif()
    if(case IN_LIST with_busy)
      string(APPEND properties " PROCESSORS 3")
    endif()
    if(case IN_LIST with_busiest)
      string(APPEND properties " PROCESSORS 7")
      if(NOT properties MATCHES "RESOURCE_LOCK")
        string(APPEND properties " RESOURCE_LOCK ${broker}-busiest")
      endif()
    endif()
    set(labels "${SUITE};${SUITE}-${version}")
    if(version IN_LIST NIGHTLY OR case IN_LIST with_night
       OR (version STREQUAL "3.8" AND SUITE STREQUAL "broker" AND NOT case IN_LIST with_3.8)
       OR (case IN_LIST with_two-versions AND version STREQUAL "4.0")
       OR (case IN_LIST with_one-version AND NOT version STREQUAL newest))
      string(APPEND labels ";night")
    endif()
    if(version IN_LIST MAY_SKIP)
      string(APPEND properties " SKIP_RETURN_CODE 77")
    endif()
    set(name "${SUITE} ${version}: ${title}")
    string(JOIN "]==] [==[" command "${WITH_BROKER}" "${BROKERS}/${broker}" ${RUN} "${PROGRAM}" "${spec}")
    string(APPEND text "add_test([==[${name}]==] [==[${command}]==])\n"
           "set_tests_properties([==[${name}]==] PROPERTIES FIXTURES_REQUIRED ${broker} TIMEOUT ${timeout}"
           " LABELS \"${labels}\"${properties})\n")
    if(version STREQUAL THREADS_VERSION AND case IN_LIST with_threads)
      string(APPEND text "add_test([==[threads ${version}: ${title}]==] [==[${command}]==])\n"
             "set_tests_properties([==[threads ${version}: ${title}]==] PROPERTIES LABELS \"threads;night\" TIMEOUT ${timeout}"
             " FIXTURES_REQUIRED \"${broker};tsan\" ENVIRONMENT"
             " \"RETRYD_TEST_BINARY=${TSAN_BINARY};TSAN_OPTIONS=halt_on_error=1\"${properties})\n")
    endif()
  endforeach()
endforeach()
file(WRITE ${OUTPUT} "${text}")
