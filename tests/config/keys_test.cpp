// Files with wrong keys and values: the whole text of each problem.
#include "loading.h"

namespace retryd::config::keys_test {

TEST_CASE("a file without content misses its queues") {
    CHECK(problems_of("") == "f: queues: is missing; expected a list of at least one entry\n");
    CHECK(problems_of("# nothing yet\n") == "f: queues: is missing; expected a list of at least one entry\n");
}

TEST_CASE("a file that is no map says so and nothing else") {
    CHECK(problems_of("- email\n") == "f:1:1: is a list; expected a map of keys and values\n");
}

TEST_CASE("an unknown key is answered with the nearest known one") {
    CHECK(problems_of("broker:\n  heartbeet: 20s\n" + smallest) ==
          "f:2:3: broker.heartbeet: unknown key; did you mean heartbeat?\n");
}

TEST_CASE("a key in the wrong section is answered with the right one") {
    CHECK(problems_of("heartbeat: 20s\n" + smallest) ==
          "f:1:1: heartbeat: unknown key; did you mean broker.heartbeat?\n");
}

TEST_CASE("an unknown key that is like no other is answered with all keys of its section") {
    CHECK(problems_of("log: {colour: never}\n" + smallest) ==
          "f:1:7: log.colour: unknown key; expected one of level, format\n");
    CHECK(problems_of("webhooks: {}\n" + smallest)
              .starts_with("f:1:1: webhooks: unknown key; expected one of broker, errors, ladders, queues, "));
}

TEST_CASE("a key that stands twice is reported, with the line of the first") {
    CHECK(problems_of("errors:\n  prefetch: 1\n  queue: a\n  prefetch: 2\n" + smallest) ==
          "f:4:3: errors.prefetch: is already on line 2; expected each key once\n");
    CHECK(problems_of("ladders:\n  s: {delays: [1s]}\n  s: {delays: [2s]}\nqueues: [{match: a, ladder: s}]\n") ==
          "f:3:3: ladders.s: is already on line 2; expected each key once\n");
}

TEST_CASE("values of the wrong type are reported at the value, or at the key of one that begins on a later line") {
    CHECK(problems_of("broker: amqp://h/\n"
                      "errors:\n"
                      "  prefetch:\n"
                      "    - 5\n"
                      "  queue: {name: q}\n"
                      "  exchange:\n"
                      "ladders: {s: {delays: 5s}}\n"
                      "queues: {match: email}\n") ==
          "f:1:9: broker: is a single value; expected a map of keys and values\n"
          "f:3:3: errors.prefetch: is a list; expected a whole number from 1 to 65535\n"
          "f:5:10: errors.queue: is a map; expected the name of a queue, 1 to 255 bytes\n"
          "f:6:3: errors.exchange: has no value; expected the name of an exchange, 1 to 255 bytes\n"
          "f:7:23: ladders.s.delays: is a single value; expected a list, each item a delay from 1ms to 3650d, such as "
          "30s, or 30s x3 for three attempts\n"
          "f:8:9: queues: is a map; expected a list of at least one entry\n");
}

TEST_CASE("shares and rates have a unit and bounds") {
    const std::string before =
        "management: {url: http://h:1}\nladders: {s: {delays: [1s]}}\nqueues:\n"
        "  - match: email\n    ladder: s\n    outage: ";
    CHECK(problems_of(before + "{failing: 90, release: 50}\n") ==
          "f:6:23: queues[0].outage.failing: \"90\" has no %; expected a percentage from 50% to 100%, such as 90%\n"
          "f:6:36: queues[0].outage.release: \"50\" has no /s; expected messages a second from 1/s to 10000/s, such as "
          "50/s\n");
    CHECK(
        problems_of(before + "{failing: 49%, release: 0/s}\n") ==
        "f:6:23: queues[0].outage.failing: \"49%\" is too small; expected a percentage from 50% to 100%, such as "
        "90%\n"
        "f:6:37: queues[0].outage.release: \"0/s\" is too small; expected messages a second from 1/s to 10000/s, such "
        "as 50/s\n");
    CHECK(problems_of(before + "{failing: 100%, of: 2, within: 5s, probe: 1s, release: 10000/s}\n") == "");
}

TEST_CASE("what yaml-cpp would take for a number or a boolean is not taken") {
    CHECK(problems_of("errors:\n  prefetch: 010\nbroker:\n  tls: {verify_peer: yes, verify_hostname: True}\n" +
                      smallest) ==
          "f:2:13: errors.prefetch: \"010\" begins with a 0; expected a whole number from 1 to 65535\n"
          "f:4:22: broker.tls.verify_peer: \"yes\" is not a boolean; expected true or false\n"
          "f:4:44: broker.tls.verify_hostname: \"True\" is not a boolean; expected true or false\n");
}

TEST_CASE("numbers and sizes out of their bounds are reported with the bounds") {
    CHECK(problems_of("errors: {prefetch: 0, prefetch_bytes: 0B}\n" + smallest) ==
          "f:1:20: errors.prefetch: \"0\" is too small; expected a whole number from 1 to 65535\n"
          "f:1:39: errors.prefetch_bytes: \"0B\" is too small; expected a size in bytes from 1B to 1024GiB, such as "
          "64MiB\n");
    CHECK(problems_of("errors: {prefetch: 65536, prefetch_bytes: 64}\n" + smallest) ==
          "f:1:20: errors.prefetch: \"65536\" is too large; expected a whole number from 1 to 65535\n"
          "f:1:43: errors.prefetch_bytes: \"64\" has no unit; expected a size in bytes from 1B to 1024GiB, such as "
          "64MiB\n");
    CHECK(problems_of("errors: {prefetch: -1, prefetch_bytes: 64 MiB}\n" + smallest) ==
          "f:1:20: errors.prefetch: \"-1\" is not a whole number; expected a whole number from 1 to 65535\n"
          "f:1:40: errors.prefetch_bytes: \"64 MiB\" is not a size; expected a size in bytes from 1B to 1024GiB, such "
          "as 64MiB\n");
}

TEST_CASE("durations need a unit and have bounds") {
    CHECK(
        problems_of("broker:\n"
                    "  heartbeat: 1500ms\n"
                    "  connect_timeout: 10\n"
                    "shutdown_timeout: 2h\n" +
                    smallest) ==
        "f:2:14: broker.heartbeat: \"1500ms\" is a fraction of a second; expected a duration in whole seconds from 1s "
        "to 18h12m15s, such as 20s\n"
        "f:3:20: broker.connect_timeout: \"10\" has no unit; expected a duration from 1ms to 1h, such as 10s\n"
        "f:4:19: shutdown_timeout: \"2h\" is too long; expected a duration from 0ms to 1h, such as 10s\n");
    CHECK(problems_of("broker: {heartbeat: 0s}\n" + smallest) ==
          "f:1:21: broker.heartbeat: \"0s\" is too short; expected a duration in whole seconds from 1s to 18h12m15s, "
          "such as 20s\n");
}

TEST_CASE("the bounds themselves are taken") {
    CHECK(problems_of("broker: {heartbeat: 65535s, connect_timeout: 1h}\nerrors: {prefetch: 1, prefetch_bytes: 1B}\n" +
                      smallest) == "");
    CHECK(problems_of("broker: {heartbeat: 1s, connect_timeout: 1ms}\nerrors: {prefetch_bytes: 1024GiB}\n" +
                      smallest) == "");
}

TEST_CASE("a choice lists what can be chosen") {
    CHECK(problems_of("errors: {queue_type: stream}\nlog: {level: warn, format: logfmt}\n" + smallest) ==
          "f:1:22: errors.queue_type: \"stream\" is not one of the choices; expected quorum or classic\n"
          "f:2:14: log.level: \"warn\" is not one of the choices; expected debug, info, warning or error; did you mean "
          "warning?\n"
          "f:2:28: log.format: \"logfmt\" is not one of the choices; expected text or json\n");
}

TEST_CASE("a part of a value that a comma has cut off is not shown: it may be half a password") {
    const std::string text = problems_of("broker: {username: bob, password: half,secret}\n" + smallest);
    CHECK(text ==
          "f:1:40: broker: an unknown key without a value; expected quotes around a value that holds a comma\n");
}

TEST_CASE("a value that is nearly one of the choices is told, but not where it comes from the environment") {
    CHECK(problems_of("log: {level: Error}\n" + smallest).ends_with("; did you mean error?\n"));
    CHECK(problems_of("log: {level: loud}\n" + smallest).ends_with("; expected debug, info, warning or error\n"));
    CHECK(problems_of("log: {format: jsn}\n" + smallest).ends_with("; did you mean json?\n"));
}

TEST_CASE("columns count characters, not bytes") {
    CHECK(problems_of("log: {level: \"ä€\", format: x}\n" + smallest) ==
          "f:1:14: log.level: \"ä€\" is not one of the choices; expected debug, info, warning or error\n"
          "f:1:28: log.format: \"x\" is not one of the choices; expected text or json\n");
}

TEST_CASE("control characters and endless values are made fit for a terminal") {
    CHECK(
        problems_of("log: {level: \"\\e[31mred\\n\"}\n" + smallest) ==
        "f:1:14: log.level: \"\\x1b[31mred\\x0a\" is not one of the choices; expected debug, info, warning or error\n");
    CHECK(problems_of("log: {level: " + std::string(500, 'x') + "}\n" + smallest) ==
          "f:1:14: log.level: \"" + std::string(60, 'x') +
              "…\" is not one of the choices; expected debug, info, warning or error\n");
}

}  // namespace retryd::config::keys_test
