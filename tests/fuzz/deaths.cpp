// Header tables that can be decoded, with forged content: what a hostile publisher would send.
#include <array>
#include <deque>
#include <vector>

#include "admin/replay.h"
#include "core/proof.h"
#include "fuzz/repeated_deaths.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

using core::Array;
using core::Field;
using core::Kind;
using core::Table;
using core::Value;
using namespace std::string_view_literals;

constexpr std::array texts{"rejected"sv,
                           "expired"sv,
                           "maxlen"sv,
                           "delivery_limit"sv,
                           "email"sv,
                           "web.1"sv,
                           "drop.x"sv,
                           "other"sv,
                           "retryd.errors"sv,
                           "email.retry.5s"sv,
                           "retryd.shared.1s"sv,
                           "retryd.return"sv,
                           "retryd.parked"sv,
                           ""sv,
                           "a\nb"sv,
                           "60000"sv,
                           "retryd"sv,
                           "guest"sv,
                           "web.*"sv,
                           "email.retry.30s.high"sv,
                           "retryd.detour.2s"sv,
                           "*"sv};
constexpr std::array header_names{"x-death"sv,
                                  "retryd-queue"sv,
                                  "retryd-attempt"sv,
                                  "retryd-reason"sv,
                                  "retryd-first-death"sv,
                                  "retryd-exchange"sv,
                                  "retryd-routing-key"sv,
                                  "retryd-user-id"sv,
                                  "retryd-cc"sv,
                                  "retryd-bcc"sv,
                                  "retryd-expiration"sv,
                                  "retryd-reply-to"sv,
                                  "retryd-parked-reason"sv,
                                  "retryd-delivery-time"sv,
                                  "retryd-deferral-token"sv,
                                  "retryd-parked-at"sv,
                                  "retryd-proof"sv,
                                  "retryd-replays"sv,
                                  "CC"sv,
                                  "BCC"sv,
                                  "x-opt-delivery-time"sv,
                                  "x-opt-deferral-token"sv,
                                  "x-first-death-queue"sv,
                                  "x-last-death-reason"sv,
                                  "x-delivery-count"sv,
                                  "x-acquired-count"sv,
                                  "x-match"sv,
                                  "trace"sv,
                                  "retryd-"sv,
                                  "retryd-other"sv};
constexpr std::array death_names{
    "queue"sv, "reason"sv, "count"sv, "time"sv, "exchange"sv, "routing-keys"sv, "original-expiration"sv, "odd"sv};
constexpr std::array<std::uint64_t, 10> numbers{
    0, 1, 2, 3, 100, 1'800'000'000, 0x7fff'ffff'ffff'fffe, 0x7fff'ffff'ffff'ffff, 0x8000'0000'0000'0000, ~0ULL};

constexpr int deepest = 6;

class Forger {
  public:
    explicit Forger(Bytes& bytes) : bytes_(bytes) {}

    Table headers() {
        std::vector<Field> fields;
        for (std::size_t left = bytes_.number(12); left > 0; --left) {
            const std::string_view name = bytes_.one_of<std::string_view>(header_names);
            fields.push_back({name, name == "x-death" ? deaths() : value(0)});
        }
        return keep(std::move(fields));
    }

    Array death_entries() {
        std::vector<Value> entries;
        for (std::size_t left = bytes_.number(5); left > 0; --left)
            entries.push_back(death());
        const auto& kept = arrays_.emplace_back(std::move(entries));
        return {kept.data(), kept.size()};
    }

    std::string_view text() {
        const std::size_t which = bytes_.number(texts.size() + 1);
        if (which < texts.size()) return texts[which];
        return bytes_.text(which == texts.size() ? bytes_.number(255) : 300);
    }

  private:
    Table keep(std::vector<Field> fields) {
        const auto& kept = tables_.emplace_back(std::move(fields));
        return {kept.data(), kept.size()};
    }

    Value deaths() {
        if (bytes_.number(15) == 15) return value(0);
        return {Kind::array, death_entries()};
    }

    Value death() {
        if (bytes_.number(15) == 15) return value(1);
        std::vector<Field> fields{{"queue", Value::of_longstr(text())}, {"reason", Value::of_longstr(text())}};
        for (std::size_t left = bytes_.number(6); left > 0; --left)
            fields.push_back({bytes_.one_of<std::string_view>(death_names), value(1)});
        return {Kind::table, keep(std::move(fields))};
    }

    Value value(int depth) {
        switch (bytes_.number(9)) {
            case 0:
            case 1:
                return Value::of_longstr(text());
            case 2:
                return Value::of_long(static_cast<std::int64_t>(number()));
            case 3:
                return Value::of_timestamp(number());
            case 4:
                return {Kind::bytes, text()};
            case 5:
                return narrow();
            case 6:
                return {Kind::float64, static_cast<double>(number())};
            case 7:
                return nested(depth, true);
            case 8:
                return nested(depth, false);
            default:
                return {Kind::nothing, std::monostate{}};
        }
    }

    Value narrow() {
        const auto byte = static_cast<std::int8_t>(bytes_.byte());
        if (bytes_.number(1) == 0) return {Kind::int8, std::int64_t{byte}};
        return {Kind::boolean, byte < 0};
    }

    Value nested(int depth, bool as_table) {
        std::vector<Value> values;
        std::vector<Field> fields;
        for (std::size_t left = depth < deepest ? bytes_.number(3) : 0; left > 0; --left) {
            if (as_table) {
                const std::string_view name = text().substr(0, 255);
                fields.push_back({name, value(depth + 1)});
            } else {
                values.push_back(value(depth + 1));
            }
        }
        if (as_table) return {Kind::table, keep(std::move(fields))};
        const auto& kept = arrays_.emplace_back(std::move(values));
        return {Kind::array, Array{kept.data(), kept.size()}};
    }

    std::uint64_t number() {
        const std::size_t which = bytes_.number(numbers.size());
        return which < numbers.size() ? numbers[which] : bytes_.eight();
    }

    Bytes& bytes_;
    std::deque<std::vector<Field>> tables_;
    std::deque<std::vector<Value>> arrays_;
};

/// Whatever its headers say, a parked message is replayed with a fresh attempt count and a short record of its replays.
void replay(const core::Message& parked, std::string_view to) {
    const admin::ReplayStamp stamp{1'800'000'000, "0123456789abcdef", "email.parked"};
    admin::ReplayScratch scratch;
    const Table told = parked.properties.header_table();
    const admin::Parked read = admin::read_parked(told, "retryd.errors", core::test::proof_keys);
    const core::ComposeContext context = admin::compose_context_of(read, "retryd", core::test::proof_keys);
    const core::Message returned = admin::compose_replay(parked, read, to, stamp, context, scratch);
    const Table headers = returned.properties.header_table();
    require(admin::newest_replay_id(headers) == stamp.id, "a replay is written down");
    require(admin::read_replays(headers).size() <= admin::most_replays, "of replays only the newest stay");
    const bool known = read.death || read.carried.proven;
    require(core::OwnHeaders(headers).proven(core::test::proof_keys) == known, "what a message claims is not signed");
    require(core::read_claimed_history(headers, to).attempt == 0, "a replayed message begins anew");
    for (const std::string_view gone : {"x-death"sv, "x-delivery-count"sv, "CC"sv, "BCC"sv, "retryd-parked-reason"sv})
        require(core::find(headers, gone) == nullptr, "a replayed message leaves its past behind");
}

}  // namespace

void deaths(std::string_view input) {
    Bytes bytes{input};
    const std::uint8_t options = bytes.byte();
    Forger forger{bytes};
    core::Message message;
    message.body = "body";
    message.properties.headers = forger.headers();
    if ((options & 2U) != 0) message.properties.expiration = forger.text().substr(0, 255);
    if ((options & 4U) != 0) message.properties.user_id = forger.text().substr(0, 255);
    if ((options & 8U) != 0) message.properties.priority = bytes.byte();
    if ((options & 16U) != 0) message.properties.delivery_mode = bytes.byte();
    if ((options & 32U) != 0) message.properties.reply_to = "amq.rabbitmq.reply-to";
    replay(message, forger.text().substr(0, 255));
    const Array forged = forger.death_entries();
    CheckedFlow flow{policy_of((options & 1U) == 0)};
    retry_until_parked(flow, message, forged, bytes);
}

}  // namespace retryd::fuzz
