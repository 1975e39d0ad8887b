#include "shovel.h"

#include <nlohmann/json.hpp>

#include "support/await.h"
#include "support/environment.h"

namespace retryd::bench {

namespace {

constexpr int prefetch_of_shovel = 1000;  // the plugin's default
constexpr test::milliseconds begins_after{3'000};

/// A string as Erlang writes it.
std::string in_erlang(const std::string& text) {
    std::string result = "<<\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\">>";
}

std::string in_shell(const std::string& text) {
    return "'" + text + "'";  // there is no quote in it
}

}  // namespace

Shovel::~Shovel() {
    try {
        stop();
    } catch (const std::exception&) {
        // the broker is going away, and the shovel with it
    }
}

void Shovel::go() {
    const Place rung = stage_.first_rung();
    const nlohmann::json definition{{"src-protocol", "amqp091"},      {"src-uri", "amqp://"},
                                    {"src-queue", error_queue},       {"src-prefetch-count", prefetch_of_shovel},
                                    {"dest-protocol", "amqp091"},     {"dest-uri", "amqp://"},
                                    {"dest-exchange", rung.exchange}, {"dest-exchange-key", rung.key},
                                    {"ack-mode", "on-confirm"}};
    const std::string set = "timer:apply_after(" + std::to_string(begins_after.count()) +
                            ", rabbit_runtime_parameters, parse_set, [<<\"/\">>, <<\"shovel\">>, <<\"bench\">>, " +
                            in_erlang(definition.dump()) + ", none]).";
    set_ = true;
    test::rabbitmqctl("eval " + in_shell(set));
}

void Shovel::stop() {
    if (!set_) return;
    set_ = false;
    test::rabbitmqctl("clear_parameter shovel bench");
    test::await([this] { return stage_.consumers() == 0; });
}

}  // namespace retryd::bench
