// A configuration file of retryd, built by a test.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace retryd::test {

struct LadderSpec {
    std::string name;
    std::vector<std::string> delays;
    std::string queue_type = "quorum";
};

struct EntrySpec {
    std::string match;
    std::string ladder;
    std::optional<std::string> parked;
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

    std::string yaml() const;
};

}  // namespace retryd::test
