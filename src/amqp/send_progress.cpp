#include "amqp/send_progress.h"

#include <algorithm>

namespace retryd::amqp {

core::SteadyTime SendProgress::waits_since(core::SteadyTime sent, core::SteadyTime now, Position position) {
    if (sent <= covered_) return std::max(sent, covered_at_);
    const bool first = !mark_;
    if (first) mark_ = Mark{now, position.queued};
    if (first || position.taken != taken_) moved_at_ = now;
    taken_ = position.taken;
    if (position.taken < mark_->position) return std::max(sent, moved_at_);
    covered_ = mark_->at;
    covered_at_ = first ? sent : now;  // nothing was under way: it was taken when it was sent
    mark_.reset();
    return std::max(sent, covered_at_);
}

}  // namespace retryd::amqp
