# How CTest knows the tests that need a RabbitMQ: each test case of Catch2 is one test of CTest for each version of the
# broker, in a vhost of its own, and the brokers are fixtures that CTest starts before and ends after.
#
#   label broker-4.3, faults-4.3 …   what is run on that version      label night   what only `./test --all` runs
#
# CTest ends what it has started when all is done; a run that was interrupted leaves brokers behind, which the next run
# takes away (or `./test`, at once).

# GCC 12's and clang 14's sanitizers cannot start where the kernel spreads addresses wider than they know
# (vm.mmap_rnd_bits=32).
find_program(SETARCH setarch)
set(RETRYD_RUN "")
if(RETRYD_SANITIZE AND SETARCH)
  execute_process(COMMAND ${SETARCH} --addr-no-randomize true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(NOT refused)
    set(RETRYD_RUN ${SETARCH} --addr-no-randomize)
  endif()
endif()

set(RETRYD_BROKERS ${PROJECT_BINARY_DIR}/brokers)  # a folder for each broker that runs
set(RETRYD_VERSIONS 3.8 3.10 4.0 4.3)

# Debian's oldest moves from the mirrors to the archive, its testing cannot be installed on some days: neither is a fault of
# retryd's. What would have run there counts as skipped then, never as passed; where anything else goes wrong, as failed.
set(may_lack_root 3.8 4.3)

# A broker of that version as the fixture NAME, in the folder NAME of ${RETRYD_BROKERS}. They come first, by their cost, in
# the order in which they are named here, one after the other in each LINE; what needs none of them is run while they start.
# Two at a time: a dozen of them at once starve each other until one gives up.
function(retryd_broker name version kind line)
  set(dir ${RETRYD_BROKERS}/${name})
  set(fixture ${PROJECT_SOURCE_DIR}/tests/support/broker-fixture)
  add_test(NAME "${name} starts" COMMAND ${fixture} start ${kind} ${version} ${dir})
  add_test(NAME "${name} ends" COMMAND ${fixture} end ${kind} ${dir})
  get_property(cost GLOBAL PROPERTY RETRYD_NEXT_START_COST)
  set_tests_properties("${name} starts" PROPERTIES FIXTURES_SETUP ${name} LABELS fixture COST ${cost} TIMEOUT 900
                       RESOURCE_LOCK broker-start-${line} DEPENDS "${builds_before_brokers}")
  set_tests_properties("${name} ends" PROPERTIES FIXTURES_CLEANUP ${name} LABELS fixture TIMEOUT 120)
  math(EXPR cost "${cost} - 1")
  set_property(GLOBAL PROPERTY RETRYD_NEXT_START_COST ${cost})
  if(version IN_LIST may_lack_root)
    set_tests_properties("${name} starts" PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

set_property(GLOBAL PROPERTY RETRYD_NEXT_START_COST 1900)
set(builds_before_brokers "tsan builds;fuzz builds;instructions builds;release builds")  # where they are asked for

# Each version has one broker for all tests that harm nobody, and one for those that restart it, change its limits or raise
# its alarms: tag [own-broker]. Where one start of a quorum queue has taken too long, RabbitMQ 4.3.6 takes that queue away
# again, 5 s for each, one after the other, while other starts wait and take too long as well: a node that a dozen such tests
# flooded at once did not recover in ten minutes. They have one of their own, in turn: tag [flood].
#
# First what most tests need. Both lines take about as long.
retryd_broker(rabbitmq-4.3 4.3 broker 1)
retryd_broker(rabbitmq-4.3-alone 4.3 broker 2)
retryd_broker(page-alone 4.3 broker 1)
retryd_broker(cluster-4.3 4.3 cluster 1)
retryd_broker(cluster-3.10 3.10 cluster 1)
foreach(version 3.10 4.0 3.8)
  retryd_broker(rabbitmq-${version} ${version} broker 2)
endforeach()
foreach(version 3.10 4.0 3.8)
  retryd_broker(rabbitmq-${version}-alone ${version} broker 2)
endforeach()
retryd_broker(rabbitmq-4.3-flood 4.3 broker 2)
retryd_broker(stress-alone 4.3 broker 2)

# retryd_broker_tests(TARGET SUITE VERSIONS… [NIGHTLY VERSIONS…] [THREADS VERSION]) - registers the test cases of that
# executable as it is built; those that are tagged [threads] once more with the daemon of the preset tsan.
function(retryd_broker_tests target suite)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "THREADS" "VERSIONS;NIGHTLY")
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_cases.cmake)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/tests/discover.cmake)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${target}>" "-DRUN=${RETRYD_RUN}" "-DSUITE=${suite}"
            "-DVERSIONS=${arg_VERSIONS}" "-DNIGHTLY=${arg_NIGHTLY}" "-DMAY_SKIP=${may_lack_root}"
            "-DTHREADS_VERSION=${arg_THREADS}" "-DTSAN_BINARY=${PROJECT_SOURCE_DIR}/build/tsan/src/retryd"
            "-DBROKERS=${RETRYD_BROKERS}" "-DWITH_BROKER=${PROJECT_SOURCE_DIR}/tests/support/with-broker"
            "-DOUTPUT=${file}" -P ${PROJECT_SOURCE_DIR}/tests/discover.cmake
    COMMENT "Listing the test cases of ${target}")
  # Until it is built, a test that fails says so.
  file(WRITE ${file}.in "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n"
                        "  add_test(\"${target} is not built\" ${target})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file}.in)
endfunction()

# Some tests take what another preset builds: fixtures as well, built before what needs a broker, two at a time,
# because each has moments with work for one processor. Beside a broker a build would take half an hour, and the tests
# would wait for a processor until they give up.
#
# retryd_preset(NAME TARGET...) - the fixture NAME.
function(retryd_preset name)
  set(dir ${PROJECT_SOURCE_DIR}/build/${name})
  add_test(NAME "${name} builds" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND flock ${dir}.lock sh -c
    "echo \"./test --all (pid $PPID)\" >'${dir}.lock' && cmake --preset ${name} >/dev/null && cmake --build '${dir}' --parallel ${RETRYD_CORES} --target $*" build ${ARGN})
  set_tests_properties("${name} builds" PROPERTIES FIXTURES_SETUP ${name} LABELS fixture COST 2000 TIMEOUT 3600
                       PROCESSORS 7)
endfunction()

include(ProcessorCount)
ProcessorCount(RETRYD_CORES)
retryd_preset(tsan retryd daemon_tests telemetry_tests http_tests)
retryd_preset(fuzz fuzzers)
retryd_preset(release retryd)
retryd_preset(instructions message_cost)

add_test(NAME "bench shows its help" COMMAND retryd-bench --help)
set_tests_properties("bench shows its help" PROPERTIES LABELS "bench;night" TIMEOUT 60)

foreach(layer daemon telemetry http)
  add_test(NAME "threads ${layer}"
           COMMAND ${RETRYD_RUN} ${PROJECT_SOURCE_DIR}/build/tsan/tests/${layer}/${layer}_tests)
  set_tests_properties("threads ${layer}" PROPERTIES LABELS "threads;night" FIXTURES_REQUIRED tsan TIMEOUT 300
                       DEPENDS "${builds_before_brokers}")
endforeach()
