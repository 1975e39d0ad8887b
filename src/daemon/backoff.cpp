#include "daemon/backoff.h"

#include <algorithm>

namespace retryd::daemon {

core::Milliseconds Backoff::next(double dice) {
    const core::Milliseconds full = next_;
    next_ = std::min(next_ * 2, settings_.max);
    const core::Milliseconds half = full / 2;
    return half +
           core::Milliseconds{static_cast<core::Milliseconds::rep>(dice * static_cast<double>((full - half).count()))};
}

}  // namespace retryd::daemon
