#include "core/plumbing.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace retryd::core {

namespace {

/// `MOL.EVENT.node`, with a namespace `MOL-shop.EVENT.node`. Not `MOL.REQB.action` and `MOL.EVENTB.group.event`, which
/// all nodes share: these are work.
bool is_of_moleculer_node(std::string_view queue) {
    constexpr std::array<std::string_view, 9> packets{"EVENT",      "REQ",       "RES",  "INFO", "DISCOVER",
                                                      "DISCONNECT", "HEARTBEAT", "PING", "PONG"};
    if (!queue.starts_with("MOL.") && !queue.starts_with("MOL-")) return false;
    queue.remove_prefix(queue.find('.') == std::string_view::npos ? queue.size() : queue.find('.') + 1);
    const std::size_t dot = queue.find('.');
    return dot != std::string_view::npos && dot + 1 < queue.size() &&
           std::find(packets.begin(), packets.end(), queue.substr(0, dot)) != packets.end();
}

/// `celery_delayed_N`, with a prefix `shop_celery_delayed_N`.
bool is_celery_delay(std::string_view queue) {
    constexpr std::string_view delay = "celery_delayed_";
    const std::size_t level = queue.find_last_not_of("0123456789") + 1;
    if (level == queue.size() || !queue.substr(0, level).ends_with(delay)) return false;
    const std::size_t prefix = level - delay.size();
    return prefix == 0 || (prefix > 1 && queue[prefix - 1] == '_');
}

}  // namespace

bool has_name_of_plumbing(std::string_view queue) {
    return is_celery_delay(queue) || queue.ends_with(".celery.pidbox") || queue.starts_with("celeryev.") ||
           queue.starts_with("nsb.delay-level-") || queue.starts_with("nsb.v2.delay-level-") ||
           queue.starts_with("nsb.v2.verify-") || is_of_moleculer_node(queue);
}

}  // namespace retryd::core
