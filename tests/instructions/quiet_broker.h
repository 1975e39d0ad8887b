// A broker that takes everything and costs next to nothing: it counts publications and remembers what is to be
// declared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "relay/relay.h"

namespace retryd::instructions {

class QuietBroker : public relay::Broker {
  public:
    relay::PublishResult publish(const core::Publication&) override {
        ++published;
        return relay::PublishResult::sent;
    }
    void ack(core::DeliveryTag tag, bool) override { acked = tag; }
    void requeue(core::DeliveryTag) override {}
    void dead_letter(core::DeliveryTag) override {}
    void declare(std::string_view key, const core::Topology&) override { declares_.emplace_back(key); }
    void check(std::string_view) override {}
    void bind_to_return_exchange(std::string_view) override {}

    /// Answers every declare: it is there.
    void answer_declares(relay::Relay& relay, const core::Now& now) {
        for (const std::string& key : std::exchange(declares_, {}))
            relay.on_declared(key, relay::DeclareOutcome::ready, "", now);
    }

    relay::PublishSeq published = 0;
    core::DeliveryTag acked = 0;

  private:
    std::vector<std::string> declares_;
};

class QuietReporter : public relay::Reporter {
  public:
    void settled(const relay::Settled&) override { ++reported; }
    void dead_lettered(std::string_view, std::string_view) override {}
    void stuck(std::string_view, std::string_view, core::Milliseconds) override {}
    void requeued(relay::Role, std::string_view, relay::RequeueCause, core::Milliseconds) override {}
    void refused(relay::Role, std::string_view, std::string_view) override {}
    void healed(relay::Role, std::string_view) override {}

    std::size_t reported = 0;
};

}  // namespace retryd::instructions
