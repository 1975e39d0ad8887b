#include "commands/check/schema_cases.h"

namespace retryd::commands {
namespace {

const std::string smallest = "ladders: {s: {delays: [1s]}}\nqueues: [{match: a, ladder: s}]\n";

std::string top(const std::string& keys) {
    return keys + "\n" + smallest;
}

std::string ladder(const std::string& keys) {
    return "ladders: {s: {" + keys + "}}\nqueues: [{match: a, ladder: s}]\n";
}

std::string entry(const std::string& keys) {
    return "ladders: {s: {delays: [1s]}}\nqueues: [{" + keys + "}]\n";
}

std::string more(const std::string& keys) {
    return entry("match: a, ladder: s, " + keys);
}

void add_broken_keys(std::vector<SchemaCase>& cases) {
    cases.insert(cases.end(),
                 {
                     {"an unknown key of the file", false, top("brokers: {}")},
                     {"an unknown key of a section", false, top("broker: {hart_beat: 20s}")},
                     {"an unknown key two sections deep", false, top("broker: {tls: {verify: true}}")},
                     {"an unknown key of errors", false, top("errors: {exchanges: x}")},
                     {"an unknown key of a binding", false, top("errors: {bind: [{exchange: x, key: y}]}")},
                     {"an unknown key of a ladder", false, ladder("delays: [1s], delay: 1s")},
                     {"an unknown key of jitter", false, ladder("delays: [1s], jitter: {width: 1%, lanes: 2, x: y}")},
                     {"an unknown key of an entry", false, more("maxage: 1h")},
                     {"an unknown key of parked_age", false, more("parked_age: {max: 1d, drop: true, to: /a}")},
                     {"parked_age without max", false, more("parked_age: {drop: true}")},
                     {"failures by anything else", false, more("failures: reject")},
                     {"an unknown reason", false, more("on: {reject: park}")},
                     {"an unknown key of an exchange to park in", false, more("parked: {exchange: x, queue: y}")},
                     {"an unknown key of management", false, top("management: {url: http://h, host: h}")},
                     {"an unknown key of http", false, top("http: {listen: \"h:1\", port: 1}")},
                     {"http without listen", false, top("http: {}")},
                     {"no queues", false, "ladders: {s: {delays: [1s]}}\n"},
                     {"an entry without match", false, entry("ladder: s")},
                     {"an entry without ladder", false, entry("match: a")},
                     {"a source without a dialect", false, top("sources: [{queue: q}]")},
                     {"a binding without an exchange", false, top("errors: {bind: [{routing_key: x}]}")},
                     {"an exchange to park in without a name", false, more("parked: {routing_key: x}")},
                     {"jitter without lanes", false, ladder("delays: [1s], jitter: {width: 5%}")},
                     {"jitter without width", false, ladder("delays: [1s], jitter: {lanes: 4}")},
                     {"management without a URL", false, top("management: {username: guest}")},
                     {"a ladder without anything", false, ladder("")},
                     {"a ladder of null", false, "ladders: {s: }\nqueues: [{match: a, ladder: s}]\n"},
                     {"a formula without first", false, ladder("attempts: 3")},
                     {"a formula without attempts", false, ladder("first: 1s, factor: 2")},
                     {"delays and a formula", false, ladder("delays: [1s], first: 1s, attempts: 3")},
                     {"a ladder's name with a blank", false, "ladders: {a b: {delays: [1s]}}\n" + smallest.substr(29)},
                     {"a ladder with the name of the detours", false,
                      "ladders: {detour: {delays: [1s]}}\nqueues: [{match: a, ladder: detour}]\n"},
                 });
}

void add_broken_types(std::vector<SchemaCase>& cases) {
    cases.insert(cases.end(), {
                                  {"a file that is a list", false, "- a\n"},
                                  {"a text for a section", false, top("broker: amqp://h/")},
                                  {"a list for a section", false, top("log: [info]")},
                                  {"a map for a text", false, top("errors: {queue: {name: q}}")},
                                  {"a list for a text", false, top("errors: {exchange: [x]}")},
                                  {"nothing for a text that has a default", false, top("errors: {queue: }")},
                                  {"a list for text or map", false, more("parked: [a]")},
                                  {"nothing for text or map", false, more("parked: ")},
                                  {"a text for a list", false, ladder("delays: 1s")},
                                  {"an empty list", false, ladder("delays: []")},
                                  {"a text for a list of sections", false, top("errors: {bind: legacy}")},
                                  {"a text as an item of a list of sections", false, top("errors: {bind: [legacy]}")},
                                  {"a map for a list of sections", false, "queues: {match: a}\n"},
                                  {"no entries", false, "ladders: {s: {delays: [1s]}}\nqueues: []\n"},
                                  {"a list of ladders", false, "ladders: [s]\n" + smallest.substr(29)},
                                  {"a text for a ladder", false, "ladders: {s: 5s}\n" + smallest.substr(29)},
                                  {"a number for a choice", false, top("errors: {queue_type: 3}")},
                                  {"nothing for a number", false, top("errors: {prefetch: }")},
                                  {"a word for a boolean", false, top("declare: yes")},
                                  {"a number for a boolean", false, top("declare: 1")},
                              });
}

void add_broken_values(std::vector<SchemaCase>& cases) {
    cases.insert(cases.end(),
                 {
                     {"a bad choice", false, top("log: {level: warn}")},
                     {"a bad choice of a ladder", false, ladder("delays: [1s], return: exchange")},
                     {"a bad action", false, more("on: {expired: ignore}")},
                     {"a choice in another case of letters", false, top("log: {format: JSON}")},
                     {"a duration without a unit", false, top("shutdown_timeout: 10")},
                     {"a duration with a wrong unit", false, top("shutdown_timeout: 10sec")},
                     {"a duration with a blank", false, top("shutdown_timeout: 10 s")},
                     {"a duration in the wrong order", false, top("shutdown_timeout: 30s1m")},
                     {"an empty duration", false, top("shutdown_timeout: \"\"")},
                     {"a drop that is no boolean", false, more("parked_age: {max: 1d, drop: yes}")},
                     {"an archive without a name", false, more("parked_age: {max: 1d, archive: \"\"}")},
                     {"a fraction of a unit", false, more("max_age: 1.5h")},
                     {"a delay without a unit", false, ladder("delays: [1s, 30]")},
                     {"a delay with a bad repetition", false, ladder("delays: [1s x]")},
                     {"a delay repeated no time", false, ladder("delays: [1s x0]")},
                     {"a size without a unit", false, top("errors: {prefetch_bytes: 1000}")},
                     {"a size with a wrong unit", false, top("errors: {prefetch_bytes: 64Mib}")},
                     {"a number that is too small", false, top("errors: {prefetch: 0}")},
                     {"a number that is too large", false, top("errors: {prefetch: 65536}")},
                     {"a number that is a word", false, top("errors: {prefetch: many}")},
                     {"a number with a fraction", false, top("errors: {prefetch: 1.5}")},
                     {"too many attempts", false, ladder("first: 1s, attempts: 1001")},
                     {"a factor below 1", false, ladder("first: 1s, attempts: 2, factor: 0.5")},
                     {"a factor that is no number", false, ladder("first: 1s, attempts: 2, factor: x2")},
                     {"a width without %", false, ladder("delays: [1s], jitter: {width: 20, lanes: 4}")},
                     {"a width with a fraction", false, ladder("delays: [1s], jitter: {width: 2.5%, lanes: 4}")},
                     {"one lane", false, ladder("delays: [1s], jitter: {width: 20%, lanes: 1}")},
                     {"an empty name", false, entry("match: \"\", ladder: s")},
                     {"an empty exchange", false, more("parked: {exchange: \"\"}")},
                     {"an empty URL", false, top("management: {url: \"\"}")},
                     {"nothing to listen on", false, top("http: {listen: \"\"}")},
                     {"a listen address without a port", false, top("http: {listen: localhost}")},
                 });
}

}  // namespace

std::vector<SchemaCase> good_cases() {
    return {
        {"the smallest file", true, smallest},
        {"sections without a value", true, top("broker:\nerrors:\nparking:\nlog:\nmanagement:\nhttp:")},
        {"maps without a key", true, top("broker: {}\nerrors: {bind: []}\nlog: {}")},
        {"TLS files without a value", true, top("broker: {tls: {ca_file: , cert_file: , key_file: }}")},
        {"an empty password", true, top("broker: {username: bob, password: \"\"}")},
        {"a password that is a number", true, top("broker: {username: bob, password: 12345}")},
        {"names that YAML takes for something else", true, entry("match: 2024, ladder: s, parked: 1.5")},
        {"numbers in quotes", true, top("errors: {prefetch: \"5\"}\ndeclare: \"true\"")},
        {"variables", true,
         top("errors: {prefetch: \"${X:-5}\", prefetch_bytes: \"${X:-1}MiB\", queue_type: \"${X:-classic}\"}\n"
             "shutdown_timeout: ${X:-1s}\ndeclare: ${X:-false}")},
        {"variables in a ladder", true,
         ladder("first: \"${X:-1s}\", factor: \"${X:-2}\", attempts: \"${X:-3}\", jitter: {width: \"${X:-5%}\", "
                "lanes: \"${X:-2}\"}")},
        {"every duration", true, top("shutdown_timeout: 30m5s10ms\nbroker: {connect_timeout: 1h}")},
        {"repeated delays", true, ladder("delays: [1s x3, 1h30m  x2, 3650d]")},
        {"a formula", true, ladder("first: 1s, factor: 1.5, max: 5m, attempts: 10, return: headers")},
        {"a whole factor", true, ladder("first: 1s, factor: 2, attempts: 10, queue_type: classic")},
        {"jitter", true, ladder("delays: [1s], jitter: {width: 99%, lanes: 16}")},
        {"no jitter", true, ladder("delays: [1s], jitter: ")},
        {"all of an entry", true,
         more("max_age: 24h, on: {rejected: drop, delivery_limit: park, expired: retry, maxlen: retry}, parked: "
              "\"{queue}.dead\"")},
        {"an archive for what is too old", true, more("parked_age: {max: 30d, archive: /var/lib/retryd}")},
        {"what is too old is dropped", true, more("parked_age: {max: 1m, drop: true}")},
        {"an exchange to park in", true, more("parked: {exchange: team.dlx, routing_key: \"\"}")},
        {"an exchange to park in, with the producer's key", true, more("parked: {exchange: team.dlx, routing_key: }")},
        {"sources", true,
         top("sources: [{queue: q, dialect: rebus}, {queue: r, dialect: generic, work_queue: {header: h}, reason: "
             "{header: h}}, {queue: s, dialect: spring, work_queue: w}]")},
        {"failures by a source", true, more("failures: source") + "sources: [{queue: q, dialect: rebus}]\n"},
        {"bindings", true, top("errors: {bind: [{exchange: a}, {exchange: a, routing_key: b}]}")},
        {"management", true,
         top("management: {url: \"https://h:15671/x\", username: eve, password: x}\ndeclare: false")},
        {"http", true, top("http: {listen: 127.0.0.1:9467}")},
        {"http where the environment says", true, top("http: {listen: \"${X:-h:1}\"}")},
        {"http over IPv6", true, top("http: {listen: \"[::1]:0\"}")},
        {"several URIs", true, top("broker: {uris: [amqp://a/, amqps://b/]}")},
    };
}

std::vector<SchemaCase> broken_cases() {
    std::vector<SchemaCase> cases;
    add_broken_keys(cases);
    add_broken_types(cases);
    add_broken_values(cases);
    return cases;
}

}  // namespace retryd::commands
