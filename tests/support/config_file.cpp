#include "support/config_file.h"

namespace retryd::test {

namespace {

std::string in_quotes(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

std::string list(const std::vector<std::string>& items) {
    std::string result = "[";
    for (const std::string& item : items)
        result += (result.size() > 1 ? ", " : "") + in_quotes(item);
    return result + "]";
}

}  // namespace

std::string ConfigFile::yaml() const {
    std::string text = "broker:\n  uris: " + list(uris) + "\n  heartbeat: " + heartbeat + "\n  tls: " + tls +
                       "\n  connect_timeout: 3s\n  reconnect: {first: 50ms, max: 300ms}\n";
    text += "errors:\n  exchange: " + in_quotes(error_exchange) + "\n  queue: " + in_quotes(error_queue) +
            "\n  queue_type: " + error_queue_type + "\n  prefetch: " + std::to_string(prefetch) +
            "\n  prefetch_bytes: " + prefetch_bytes + "\n";
    text += "ladders:\n";
    for (const LadderSpec& ladder : ladders)
        text += "  " + ladder.name + ":\n    delays: " + list(ladder.delays) +
                "\n    queue_type: " + ladder.queue_type + "\n";
    text += "queues:\n";
    for (const EntrySpec& entry : entries) {
        text += "  - match: " + in_quotes(entry.match) + "\n    ladder: " + entry.ladder + "\n";
        if (entry.parked) text += "    parked: " + in_quotes(*entry.parked) + "\n";
    }
    text += "parking:\n  queue: " + in_quotes(parking_template) + "\n  catch_all: " + in_quotes(catch_all) + "\n";
    return text + "log: {level: debug}\nshutdown_timeout: " + shutdown_timeout + "\n";
}

}  // namespace retryd::test
