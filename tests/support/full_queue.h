// A queue that takes no messages.
#pragma once

#include <string>

#include "support/catch.h"
#include "support/environment.h"
#include "support/management.h"

namespace retryd::test {

/// As long as this lives a policy has the queue nack everything. It holds messages "filling".
class FullQueue {
  public:
    explicit FullQueue(std::string queue) : queue_(std::move(queue)) {
        // Before it has a leader a queue may not hear of its policy (3.10).
        REQUIRE(await([&] { return !refuses(); }));
        set_policy("full", "^" + pattern_of(queue_) + "$", R"({"max-length": 1, "overflow": "reject-publish"})");
        // One message fills it; a quorum queue tells its publishers a moment later.
        REQUIRE(await([&] { return refuses(); }));
    }
    ~FullQueue() { clear_policy("full"); }
    FullQueue(const FullQueue&) = delete;
    FullQueue& operator=(const FullQueue&) = delete;

  private:
    static std::string pattern_of(std::string name) {
        for (std::size_t at = 0; (at = name.find('.', at)) != std::string::npos; at += 2)
            name.replace(at, 1, "\\.");
        return name;
    }
    bool refuses() const {
        Client probe(broker_address());
        try {
            probe.publish("", queue_, {.body = "filling"});
        } catch (const std::exception&) {
            return true;
        }
        return false;
    }

    std::string queue_;
};

}  // namespace retryd::test
