#include "telemetry/seldom.h"

#include <utility>

namespace retryd::telemetry {
namespace {

constexpr core::Milliseconds pause{60'000};
/// The broker's words and the names of queues are part of the key: more kinds than this are made on purpose.
constexpr std::size_t most_kinds = 1'000;

}  // namespace

std::optional<std::int64_t> Seldom::may_say(const std::string& what, core::SteadyTime now) {
    if (said_.size() >= most_kinds) said_.clear();
    const auto [found, is_new] = said_.try_emplace(what, Said{now, 0});
    Said& said = found->second;
    if (is_new) return 0;
    if (now - said.at < pause) {
        ++said.silent;
        return std::nullopt;
    }
    said.at = now;
    return std::exchange(said.silent, 0);
}

}  // namespace retryd::telemetry
