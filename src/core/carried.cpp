#include "core/carried.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::core {

Carried read_carried(const Table& headers, std::string_view work_queue) {
    Carried carried;
    if (text_of(find(headers, header::queue)) != work_queue) return carried;
    carried.attempt = std::max<std::int64_t>(0, integer_of(find(headers, header::attempt)).value_or(0));
    if (const auto time = integer_of(find(headers, header::first_death)); time && *time >= 0) {
        carried.first_death = static_cast<std::uint64_t>(*time);
    }
    carried.exchange = text_of(find(headers, header::exchange));
    carried.routing_key = text_of(find(headers, header::routing_key));
    carried.user_id = text_of(find(headers, header::user_id));
    carried.expiration = text_of(find(headers, header::expiration));
    carried.cc = find(headers, header::cc);
    carried.bcc = find(headers, header::bcc);
    return carried;
}

}  // namespace retryd::core
