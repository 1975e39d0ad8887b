#include "support/proof.h"

#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "amqp/proof_keys.h"
#include "config/addresses.h"
#include "core/own_headers.h"

namespace retryd::test {

namespace {

const core::ProofKeys& keys_of(const ConfigFile& config) {
    using Secrets = std::tuple<std::string, std::string, std::string>;
    static std::map<Secrets, core::ProofKeys> known;  // to make one from a password takes a while
    const auto uri = std::get<config::Uri>(config::parse_uri(config.uris.front()));
    const auto [found, is_new] = known.try_emplace({uri.vhost, config.error_queue, config.key_file});
    if (is_new) {
        config::Settings settings;
        settings.broker.endpoints.front().vhost = uri.vhost;
        settings.broker.endpoints.front().password = uri.password.value_or("guest");
        settings.policy.error_queue = config.error_queue;
        std::ifstream file(config.key_file);
        for (std::string line; std::getline(file, line);)
            settings.proof_secrets.push_back(line);
        found->second = amqp::proof_keys(settings);
    }
    return found->second;
}

core::Value core_value(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value.data)) return core::Value::of_longstr(*text);
    if (const auto* number = std::get_if<std::int64_t>(&value.data)) return core::Value::of_long(*number);
    if (const auto* number = std::get_if<std::uint64_t>(&value.data)) return core::Value::of_timestamp(*number);
    return {};
}

}  // namespace

Table proven(Table headers, const ConfigFile& config) {
    std::vector<core::Field> fields;
    for (const Field& field : headers)
        fields.push_back({field.name, core_value(field.value)});
    const core::OwnHeaders own({fields.data(), fields.size()});
    const core::ProofText text = core::proof_text(own.digest(keys_of(config).front()));
    headers.push_back({"retryd-proof", longstr(std::string{text.data(), text.size()})});
    return headers;
}

}  // namespace retryd::test
