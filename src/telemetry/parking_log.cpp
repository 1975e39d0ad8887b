#include "telemetry/parking_log.h"

#include <iterator>

namespace retryd::telemetry {

namespace {

constexpr core::Milliseconds between_sums{300'000};
constexpr core::Milliseconds between_parking_looks{1'000};
/// Names come from headers and may be forged: what comes beyond these is not told.
constexpr std::size_t most_parkings = 1'000;

}  // namespace

bool ParkingLog::parked(std::string_view work_queue, std::string_view reason, std::string_view target,
                        core::SteadyTime now) {
    const auto queue = by_queue_.find(work_queue);
    if (queue != by_queue_.end()) {
        const auto known = queue->second.find(reason);
        if (known != queue->second.end()) {
            ++known->second.messages;
            return false;
        }
    }
    if (size_ >= most_parkings) return false;
    by_queue_[std::string{work_queue}].emplace(reason, Parking{std::string{target}, 0, now + between_sums});
    ++size_;
    return true;
}

std::vector<ParkingLog::Line> ParkingLog::due(core::SteadyTime now) {
    std::vector<Line> lines;
    if (size_ == 0 || now < next_) return lines;
    next_ = now + between_parking_looks;
    for (auto queue = by_queue_.begin(); queue != by_queue_.end();) {
        for (auto each = queue->second.begin(); each != queue->second.end();) {
            Parking& parking = each->second;
            const bool is_due = now >= parking.due;
            const bool over = is_due && parking.messages == 0;
            if (is_due && !over) {
                lines.push_back({queue->first, each->first, parking.target, parking.messages});
                parking.messages = 0;
                parking.due = now + between_sums;
            }
            size_ -= over ? 1 : 0;
            each = over ? queue->second.erase(each) : std::next(each);
        }
        queue = queue->second.empty() ? by_queue_.erase(queue) : std::next(queue);
    }
    return lines;
}

}  // namespace retryd::telemetry
