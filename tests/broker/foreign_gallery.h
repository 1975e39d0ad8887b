// A gallery of hostile messages that come in by other protocols than AMQP 0-9-1. Whoever finds a new one hangs it here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/client.h"

namespace retryd::test {

struct ForeignMessage {
    std::string what;
    /// Publishes it; throws where the broker refuses.
    std::function<void()> send;
};

/// To that queue, which is bound to amq.topic with #.
std::vector<ForeignMessage> foreign_gallery(const std::string& queue, const Version& version);

}  // namespace retryd::test
