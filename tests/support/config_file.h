// A configuration file of retryd, built by a test.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace retryd::test {

/// Optional keys are YAML, and not written where they are empty.
struct LadderSpec {
    std::string name;
    std::vector<std::string> delays;  // empty: by formula
    std::string queue_type = "quorum";
    std::string return_path = {};           // queue, headers
    std::string jitter = {};                // {width: 20%, lanes: 4}
    std::vector<std::string> formula = {};  // "first: 1s", "factor: 2", "max: 5m", "attempts: 10"
};

struct EntrySpec {
    std::string match;
    std::string ladder;
    std::optional<std::string> parked = std::nullopt;  // a queue's name
    std::string parked_to = {};                        // {exchange: a, routing_key: b}, instead of `parked`
    std::string on = {};                               // {expired: retry}
    std::string max_age = {};                          // 24h
    bool hold = false;
    std::string outage = {};  // {of: 20, within: 5s}
    bool verdict = false;
    std::string x_death = {};     // keep
    std::string parked_age = {};  // {max: 30d, drop: true}
    std::string failures = {};    // source
};

/// Everything that tests set; yaml() writes it the way an operator would.
struct ConfigFile {
    std::vector<std::string> uris;
    std::string error_exchange;
    std::string error_queue;
    std::string error_queue_type = "quorum";
    int prefetch = 500;
    std::vector<LadderSpec> ladders;
    std::vector<EntrySpec> entries;
    std::string parking_template = "{queue}.parked";
    std::string catch_all;
    std::string shutdown_timeout = "10s";
    std::string heartbeat = "5s";
    std::string prefetch_bytes = "64MiB";
    std::string tls = "{}";  // YAML
    std::string auth_mechanism = "plain";
    std::string key_file;        // empty: none
    std::string error_bindings;  // YAML: [{exchange: a, routing_key: b}]; empty: none
    std::string sources;         // YAML: [{queue: a, dialect: rebus}]; empty: none
    bool declare = true;
    std::string management_url;  // empty: not configured
    std::string http;            // HOST:PORT; empty: none
    std::string http_more;       // YAML: the other keys of `http`: "admin: {password_file: /p}"; empty: none

    std::string yaml() const;
};

}  // namespace retryd::test
