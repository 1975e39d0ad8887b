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

}  // namespace

bool has_name_of_plumbing(std::string_view queue) {
    constexpr std::string_view celery_delay = "celery_delayed_";
    if (queue.starts_with(celery_delay)) {
        queue.remove_prefix(celery_delay.size());
        return !queue.empty() && queue.find_first_not_of("0123456789") == std::string_view::npos;
    }
    return queue.ends_with(".celery.pidbox") || queue.starts_with("celeryev.") ||
           queue.starts_with("nsb.delay-level-") || queue.starts_with("nsb.v2.delay-level-") ||
           queue.starts_with("nsb.v2.verify-") || is_of_moleculer_node(queue);
}

}  // namespace retryd::core
