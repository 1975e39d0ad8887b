// Every default, and the shipped reference that states them.
#include <fstream>
#include <sstream>

#include "config/keys.h"
#include "config/tree.h"
#include "loading.h"

namespace retryd::config {
namespace {

using namespace std::chrono_literals;

std::string reference() {
    std::ifstream file{RETRYD_REFERENCE};
    REQUIRE(file);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Everything but the ladders and entries, which have no defaults.
void check_defaults(const Settings& settings) {
    REQUIRE(settings.broker.endpoints.size() == 1);
    const Endpoint& endpoint = settings.broker.endpoints[0];
    CHECK(endpoint.host == "127.0.0.1");
    CHECK(endpoint.port == 5672);
    CHECK_FALSE(endpoint.tls);
    CHECK(endpoint.vhost == "/");
    CHECK(endpoint.username == "guest");
    CHECK(endpoint.password == "guest");
    CHECK(settings.broker.heartbeat == 20s);
    CHECK(settings.broker.connect_timeout == 10s);
    CHECK(settings.broker.reconnect.first == 500ms);
    CHECK(settings.broker.reconnect.max == 30s);
    CHECK(settings.broker.tls.ca_file.empty());
    CHECK(settings.broker.tls.cert_file.empty());
    CHECK(settings.broker.tls.key_file.empty());
    CHECK(settings.broker.tls.verify_peer);
    CHECK(settings.broker.tls.verify_hostname);
    CHECK(settings.prefetch.messages == 500);
    CHECK(settings.prefetch.body_bytes == 64 * 1024 * 1024);
    CHECK(settings.policy.error_exchange == "retryd.errors");
    CHECK(settings.policy.error_queue == "retryd.errors");
    CHECK(settings.policy.error_queue_type == core::QueueType::quorum);
    CHECK(settings.policy.catch_all == "retryd.parked");
    CHECK(settings.log.level == LogLevel::info);
    CHECK(settings.log.format == LogFormat::text);
    CHECK(settings.shutdown_timeout == 10s);
    REQUIRE(settings.policy.entries.size() == 1);
    CHECK(settings.policy.entries[0].ladder.queue_type == core::QueueType::quorum);
    CHECK(settings.policy.entries[0].parked == "{queue}.parked");
}

/// The value of a key of the reference, `path` as in KeyInfo; the first entry stands for all. Null: not there.
const Node* find(const Node* node, std::string_view path) {
    while (node != nullptr && !path.empty()) {
        const std::size_t dot = path.find('.');
        std::string_view name = path.substr(0, dot);
        path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
        const bool list = name.ends_with("[]");
        if (list) name.remove_suffix(2);
        const Node* next = nullptr;
        for (const Child& child : node->children) {
            if (child.key == name || name == "*") next = child.node;
        }
        node = next != nullptr && list ? next->children.at(0).node : next;
    }
    return node;
}

/// Whether the reference shows the key as a comment at least.
bool mentions(const std::string& text, const std::string& path) {
    const std::size_t dot = path.rfind('.');
    const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    return text.find("# " + name + ": ") != std::string::npos;
}

}  // namespace

TEST_CASE("what the smallest file leaves out has its default") {
    check_defaults(settings_of(smallest));
}

TEST_CASE("sections without a key are as good as none") {
    check_defaults(settings_of("broker:\nerrors:\nparking:\nlog: {}\n" + smallest));
}

TEST_CASE("the shipped configuration means the defaults") {
    const Settings settings = settings_of(reference());
    check_defaults(settings);
    CHECK(settings.policy.entries[0].match == "*");
    CHECK(settings.policy.entries[0].ladder.steps == std::vector<core::Milliseconds>{5s, 30s, 2min, 10min, 1h});
}

TEST_CASE("the shipped configuration shows every key, with its default where it has one") {
    const std::string text = reference();
    Problems problems;
    const Tree tree = parse_tree(text, problems);
    REQUIRE(problems.empty());
    for (const KeyInfo& key : all_keys()) {
        CAPTURE(key.path, key.fallback);
        const Node* node = find(tree.root.node, key.path);
        const bool shown = node != nullptr || mentions(text, key.path);
        CHECK(shown);
        if (node != nullptr && !key.fallback.empty()) CHECK(node->text == key.fallback);
    }
}

TEST_CASE("every key is described") {
    const auto keys = all_keys();
    CHECK(keys.size() == 37);
    for (const KeyInfo& key : keys) {
        CAPTURE(key.path);
        CHECK(key.meaning.ends_with('.'));
        const bool has_values =
            key.type != Type::section && key.type != Type::sections && key.type != Type::named_sections;
        CHECK(key.expected.empty() != has_values);
    }
}

TEST_CASE("every key can be set to something else") {
    const Settings settings = settings_of(
        "broker: {heartbeat: 1m, connect_timeout: 5s, tls: {verify_peer: false, verify_hostname: false}}\n"
        "errors: {exchange: ex, queue: q, queue_type: classic, prefetch: 65535, prefetch_bytes: 10MB}\n"
        "parking: {queue: graves, catch_all: lost}\n"
        "log: {level: debug, format: json}\n"
        "shutdown_timeout: 0s\n" +
        smallest);
    CHECK(settings.broker.heartbeat == 60s);
    CHECK(settings.broker.connect_timeout == 5s);
    CHECK_FALSE(settings.broker.tls.verify_peer);
    CHECK_FALSE(settings.broker.tls.verify_hostname);
    CHECK(settings.policy.error_exchange == "ex");
    CHECK(settings.policy.error_queue == "q");
    CHECK(settings.policy.error_queue_type == core::QueueType::classic);
    CHECK(settings.prefetch.messages == 65535);
    CHECK(settings.prefetch.body_bytes == 10'000'000);
    CHECK(settings.policy.entries[0].parked == "graves");
    CHECK(settings.policy.catch_all == "lost");
    CHECK(settings.log.level == LogLevel::debug);
    CHECK(settings.log.format == LogFormat::json);
    CHECK(settings.shutdown_timeout == 0s);
}

}  // namespace retryd::config
