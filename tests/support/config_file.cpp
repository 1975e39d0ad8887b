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

std::string optional_key(const std::string& key, const std::string& value) {
    return value.empty() ? "" : "    " + key + ": " + value + "\n";
}

std::string steps_of(const LadderSpec& ladder) {
    if (ladder.formula.empty()) return "    delays: " + list(ladder.delays) + "\n";
    std::string text;
    for (const std::string& key : ladder.formula)
        text += "    " + key + "\n";
    return text;
}

std::string yaml_of(const LadderSpec& ladder) {
    return "  " + in_quotes(ladder.name) + ":\n" + steps_of(ladder) + "    queue_type: " + ladder.queue_type + "\n" +
           optional_key("return", ladder.return_path) + optional_key("jitter", ladder.jitter);
}

std::string yaml_of(const EntrySpec& entry) {
    return "  - match: " + in_quotes(entry.match) + "\n    ladder: " + in_quotes(entry.ladder) + "\n" +
           optional_key("parked", entry.parked ? in_quotes(*entry.parked) : entry.parked_to) +
           optional_key("on", entry.on) + optional_key("max_age", entry.max_age) +
           optional_key("hold", entry.hold ? "true" : "") + optional_key("outage", entry.outage) +
           optional_key("verdict", entry.verdict ? "true" : "") + optional_key("x_death", entry.x_death) +
           optional_key("parked_age", entry.parked_age) + optional_key("failures", entry.failures);
}

}  // namespace

std::string ConfigFile::yaml() const {
    std::string text = "broker:\n  uris: " + list(uris) + "\n  heartbeat: " + heartbeat +
                       "\n  auth_mechanism: " + auth_mechanism + "\n  tls: " + tls +
                       "\n  connect_timeout: 10s\n  reconnect: {first: 50ms, max: 300ms}\n";
    text += "errors:\n  exchange: " + in_quotes(error_exchange) + "\n  queue: " + in_quotes(error_queue) +
            "\n  queue_type: " + error_queue_type + "\n  prefetch: " + std::to_string(prefetch) +
            "\n  prefetch_bytes: " + prefetch_bytes + "\n";
    if (!key_file.empty()) text += "  key_file: " + in_quotes(key_file) + "\n";
    if (!error_bindings.empty()) text += "  bind: " + error_bindings + "\n";
    text += "ladders:\n";
    for (const LadderSpec& ladder : ladders)
        text += yaml_of(ladder);
    text += "queues:\n";
    for (const EntrySpec& entry : entries)
        text += yaml_of(entry);
    if (!sources.empty()) text += "sources: " + sources + "\n";
    text += "parking:\n  queue: " + in_quotes(parking_template) + "\n  catch_all: " + in_quotes(catch_all) + "\n";
    if (!management_url.empty()) text += "management: {url: " + in_quotes(management_url) + "}\n";
    if (!declare) text += "declare: false\n";
    if (!http.empty())
        text += "http: {listen: " + in_quotes(http) + (http_more.empty() ? "" : ", " + http_more) + "}\n";
    return text + "log: {level: debug}\nshutdown_timeout: " + shutdown_timeout + "\n";
}

}  // namespace retryd::test
