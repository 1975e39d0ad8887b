// Every default, and config/retryd.yaml, which shows them.
#include <fstream>
#include <set>
#include <sstream>

#include "config/keys.h"
#include "config/tree.h"
#include "loading.h"

namespace retryd::config::defaults_test {
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
    CHECK(settings.broker.auth_mechanism == AuthMechanism::plain);
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
    CHECK(settings.policy.entries[0].ladder.return_path == core::ReturnPath::queue);
    CHECK(settings.policy.entries[0].ladder.jitter == core::Jitter{0, 1});
    CHECK(settings.policy.entries[0].parked == core::Parking{"{queue}.parked", "", {}});
    CHECK(settings.policy.entries[0].on ==
          core::OnDeath{core::Action::retry, core::Action::retry, core::Action::park, core::Action::park});
    CHECK_FALSE(settings.policy.entries[0].max_age.has_value());
    CHECK_FALSE(settings.policy.entries[0].hold);
    CHECK_FALSE(settings.policy.entries[0].verdict);
    CHECK(settings.policy.entries[0].failures == core::FailuresBy::error_queue);
    CHECK(settings.policy.entries[0].ladder.x_death == core::XDeath::remove);
    CHECK_FALSE(settings.policy.entries[0].outage.has_value());
    CHECK_FALSE(settings.policy.entries[0].parked_age.has_value());
    CHECK(settings.policy.error_bindings.empty());
    CHECK(settings.policy.sources.empty());
    CHECK(settings.proof_secrets.empty());
    CHECK_FALSE(settings.management.has_value());
    CHECK_FALSE(settings.http.has_value());
    CHECK(settings.declare);
}

/// The value of a key in config/retryd.yaml, `path` as in KeyInfo; of a list, in its first item. Null: not there.
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

std::string last_name(const std::string& path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string::npos ? path : path.substr(dot + 1);
}

/// The names of the keys that config/retryd.yaml has commented out, as `# name:` or `#   - name:`, as often as it does.
std::multiset<std::string> commented_names(const std::string& text) {
    std::multiset<std::string> names;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t mark = line.find_first_not_of(' ');
        if (mark == std::string::npos || line[mark] != '#') continue;
        const std::size_t start = line.find_first_not_of("# -", mark);
        const std::size_t end = line.find(':', mark);
        if (start != std::string::npos && end != std::string::npos) names.insert(line.substr(start, end - start));
    }
    return names;
}

/// Two files that differ in one key.
struct Change {
    std::string path;  // as in KeyInfo
    std::string with;
    std::string without = smallest;
};

/// With and without one key; `others` stand beside it in its section.
Change change(const std::string& section, const std::string& key, const std::string& value,
              const std::string& others = "") {
    const std::string name = section.empty() ? key : section + '.' + key;
    const std::string pair = key + ": " + value;
    if (section.empty()) return {name, pair + '\n' + smallest};
    const std::string opening = section + ": {" + others;
    const std::string comma = others.empty() ? "" : ", ";
    return {name, opening + comma + pair + "}\n" + smallest, opening + "}\n" + smallest};
}

/// `inside` and `outside`: the ladder's keys with that one and without.
Change ladder_change(const std::string& key, const std::string& inside, const std::string& outside) {
    const std::string queues = "}}\nqueues: [{match: email, ladder: s}]\n";
    return {"ladders.*." + key, "ladders: {s: {" + inside + queues, "ladders: {s: {" + outside + queues};
}

Change entry_change(const std::string& key, const std::string& inside, const std::string& outside = "match: email") {
    const std::string opening = "ladders: {s: {delays: [1s]}, t: {delays: [2s]}}\nqueues: [{";
    const auto entry = [](const std::string& keys) {
        return keys + (keys.find("ladder:") == std::string::npos ? ", ladder: s" : "") + "}]\n";
    };
    return {"queues[]." + key, opening + entry(inside), opening + entry(outside)};
}

Change outage_change(const std::string& key, const std::string& value) {
    const std::string opening =
        "management: {url: http://h:1}\nladders: {s: {delays: [1s]}}\nqueues: [{match: email, ladder: s, outage: {";
    return {"queues[].outage." + key, opening + key + ": " + value + "}}]\n", opening + "}}]\n"};
}

Change parked_age_change(const std::string& key, const std::string& inside, const std::string& outside) {
    const std::string opening = "ladders: {s: {delays: [1s]}}\nqueues: [{match: email, ladder: s, parked_age: {";
    return {"queues[].parked_age." + key, opening + inside + "}}]\n", opening + outside + "}}]\n"};
}

std::vector<Change> broker_changes() {
    const std::string external = "uri: amqps://h/, tls: {cert_file: /p, key_file: /q}";
    return {change("broker", "uri", "amqp://rabbit/"),
            change("broker", "uris", "[amqp://rabbit-1/, amqp://rabbit-2/]"),
            change("broker", "username", "u", "password: p"),
            change("broker", "password", "p"),
            change("broker", "password_file", "/p"),
            change("broker", "auth_mechanism", "external", external),
            change("broker", "heartbeat", "1m"),
            change("broker", "connect_timeout", "5s"),
            {"broker.reconnect.first", "broker: {reconnect: {first: 1s}}\n" + smallest},
            {"broker.reconnect.max", "broker: {reconnect: {max: 1m}}\n" + smallest},
            {"broker.tls.ca_file", "broker: {uri: amqps://h/, tls: {ca_file: /p}}\n" + smallest,
             "broker: {uri: amqps://h/}\n" + smallest},
            {"broker.tls.cert_file", "broker: {uri: amqps://h/, tls: {cert_file: /q, key_file: /q}}\n" + smallest,
             "broker: {" + external + "}\n" + smallest},
            {"broker.tls.key_file", "broker: {uri: amqps://h/, tls: {cert_file: /p, key_file: /p}}\n" + smallest,
             "broker: {" + external + "}\n" + smallest},
            {"broker.tls.verify_peer", "broker: {tls: {verify_peer: false}}\n" + smallest},
            {"broker.tls.verify_hostname", "broker: {tls: {verify_hostname: false}}\n" + smallest}};
}

std::vector<Change> flow_changes() {
    const std::string bound = "errors: {bind: [{exchange: x}]}\n" + smallest;
    const std::string formula = "first: 1s, attempts: 3";
    return {change("errors", "exchange", "x"),
            change("errors", "queue", "q"),
            change("errors", "queue_type", "classic"),
            change("errors", "key_file", "/k"),
            change("errors", "prefetch", "1"),
            change("errors", "prefetch_bytes", "1MiB"),
            {"errors.bind[].exchange", bound},
            {"errors.bind[].routing_key", "errors: {bind: [{exchange: x, routing_key: k}]}\n" + smallest, bound},
            ladder_change("delays", "delays: [2s]", "delays: [1s]"),
            ladder_change("first", "first: 2s, attempts: 3", formula),
            ladder_change("factor", formula + ", factor: 3", formula),
            ladder_change("max", formula + ", max: 2s", formula),
            ladder_change("attempts", "first: 1s, attempts: 4", formula),
            ladder_change("return", "delays: [1s], return: headers", "delays: [1s]"),
            ladder_change("queue_type", "delays: [1s], queue_type: classic", "delays: [1s]"),
            ladder_change("jitter.width", "delays: [9s], jitter: {width: 20%, lanes: 2}",
                          "delays: [9s], jitter: {width: 10%, lanes: 2}"),
            ladder_change("jitter.lanes", "delays: [9s], jitter: {width: 20%, lanes: 3}",
                          "delays: [9s], jitter: {width: 20%, lanes: 2}"),
            entry_change("match", "match: sms"),
            entry_change("ladder", "match: email, ladder: t"),
            entry_change("max_age", "match: email, max_age: 1d"),
            entry_change("hold", "match: email, hold: true"),
            entry_change("verdict", "match: email, verdict: true"),
            entry_change("x_death", "match: email, x_death: keep"),
            outage_change("failing", "80%"),
            outage_change("of", "30"),
            outage_change("within", "1m"),
            outage_change("probe", "20s"),
            outage_change("release", "10/s"),
            parked_age_change("max", "max: 2d, drop: true", "max: 1d, drop: true"),
            parked_age_change("archive", "max: 1d, archive: /a", "max: 1d, archive: /b"),
            parked_age_change("drop", "max: 1d, drop: true", "max: 1d, archive: /b"),
            entry_change("on.rejected", "match: email, on: {rejected: drop}"),
            entry_change("on.delivery_limit", "match: email, on: {delivery_limit: drop}"),
            entry_change("on.expired", "match: email, on: {expired: drop}"),
            entry_change("on.maxlen", "match: email, on: {maxlen: drop}"),
            entry_change("parked", "match: email, parked: graves"),
            entry_change("parked.exchange", "match: email, parked: {exchange: x}"),
            entry_change("parked.routing_key", "match: email, parked: {exchange: x, routing_key: k}",
                         "match: email, parked: {exchange: x}")};
}

std::vector<Change> source_changes() {
    const auto source = [](const std::string& keys) { return "sources: [{" + keys + "}]\n" + smallest; };
    const std::string generic = "queue: q_e, dialect: generic";
    const std::string by_source =
        "sources: [{queue: q, dialect: rebus}]\nladders: {s: {delays: [1s]}}\nqueues: [{match: email, ladder: s";
    return {{"sources[].queue", source("queue: r, dialect: rebus"), source("queue: q, dialect: rebus")},
            {"queues[].failures", by_source + ", failures: source}]\n", by_source + "}]\n"},
            {"sources[].dialect", source("queue: q, dialect: spring"), source("queue: q, dialect: rebus")},
            {"sources[].work_queue", source(generic + ", work_queue: w"), source(generic)},
            {"sources[].work_queue.header", source(generic + ", work_queue: {header: h}"), source(generic)},
            {"sources[].work_queue.suffix", source(generic + ", work_queue: {suffix: _e}"), source(generic)},
            {"sources[].reason.header", source(generic + ", reason: {header: h}"), source(generic)}};
}

Change http_change(const std::string& key, const std::string& inside, const std::string& outside) {
    const std::string opening = "http: {listen: \"127.0.0.1:1\"";
    return {"http." + key, opening + ", " + inside + "}\n" + smallest,
            opening + (outside.empty() ? "" : ", " + outside) + "}\n" + smallest};
}

std::vector<Change> changes() {
    std::vector<Change> all = broker_changes();
    for (std::vector<Change>& more : std::vector<std::vector<Change>>{
             flow_changes(),
             source_changes(),
             {change("parking", "queue", "graves"),
              change("parking", "catch_all", "lost"),
              {"http.listen", "http: {listen: 127.0.0.1:1}\n" + smallest},
              http_change("admin.password_file", "admin: {password_file: /p}", ""),
              http_change("admin.session", "admin: {password_file: /p, session: 1h}", "admin: {password_file: /p}"),
              http_change("audit", "admin: {password_file: /p}, audit: /a", "admin: {password_file: /p}"),
              change("log", "level", "debug"),
              change("log", "format", "json"),
              {"management.url", "management: {url: http://h:1}\n" + smallest},
              change("management", "username", "u", "url: http://h:1, password: p"),
              change("management", "password", "p", "url: http://h:1"),
              change("management", "password_file", "/p", "url: http://h:1"),
              change("", "declare", "false"),
              change("", "shutdown_timeout", "0s")}})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

TEST_CASE("what the smallest file leaves out has its default") {
    check_defaults(settings_of(smallest));
}

TEST_CASE("sections without a key are as good as none") {
    check_defaults(settings_of("broker:\nerrors: {bind: }\nparking:\nlog: {}\nmanagement:\nhttp:\n" + smallest));
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
    auto comments = commented_names(text);
    for (const KeyInfo& key : all_keys()) {
        CAPTURE(key.path, key.value.default_value);
        const Node* node = find(tree.root.node, key.path);
        // Each comment shows one key: `password` is two of them.
        const auto comment = comments.find(last_name(key.path));
        const bool shown = node != nullptr || comment != comments.end();
        CHECK(shown);
        if (node == nullptr && comment != comments.end()) comments.erase(comment);
        if (node != nullptr && !key.value.default_value.empty()) CHECK(node->text == key.value.default_value);
    }
}

TEST_CASE("every key is described") {
    const auto keys = all_keys();
    CHECK_FALSE(keys.empty());
    for (const KeyInfo& key : keys) {
        CAPTURE(key.path);
        CHECK(key.description.ends_with('.'));
        CHECK(key.value.expected.empty() == (key.kind == KeyKind::section || key.kind == KeyKind::named_sections));
        CHECK(key.value.choices.empty() == (key.value.type != Type::choice));
    }
}

TEST_CASE("every key can be set to something else") {
    const Settings settings = settings_of(
        "broker: {heartbeat: 1m, connect_timeout: 5s, tls: {verify_peer: false, verify_hostname: false}}\n"
        "errors: {exchange: ex, queue: q, queue_type: classic, prefetch: 65535, prefetch_bytes: 10MB}\n"
        "parking: {queue: graves, catch_all: lost}\n"
        "log: {level: debug, format: json}\n"
        "declare: false\n"
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
    CHECK(settings.policy.entries[0].parked.queue == "graves");
    CHECK(settings.policy.catch_all == "lost");
    CHECK(settings.log.level == LogLevel::debug);
    CHECK(settings.log.format == LogFormat::json);
    CHECK_FALSE(settings.declare);
    CHECK(settings.shutdown_timeout == 0s);
}

TEST_CASE("every key changes something") {
    std::set<std::string> tried;
    for (const Change& change : changes()) {
        CAPTURE(change.path, change.without, change.with);
        const World world{{}, {{"/p", "p"}, {"/q", "q"}, {"/k", "0123456789abcdef0123456789abcdef"}}};
        CHECK_FALSE(settings_of(change.with, world) == settings_of(change.without, world));
        tried.insert(change.path);
    }
    std::set<std::string> keys;
    for (const KeyInfo& key : all_keys())
        if (!key.value.expected.empty() && key.kind != KeyKind::sections) keys.insert(key.path);
    CHECK(tried == keys);
}

}  // namespace retryd::config::defaults_test
