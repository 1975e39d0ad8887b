// One parked message out of those that are selected, by its number.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "commands/parked/browser.h"
#include "core/message.h"

namespace retryd::commands {

struct FoundMessage {
    std::string from;  // the parking queue
    core::OwnedDelivery delivery;

    const core::Message& message() const { return delivery.get().message; }
};

struct OneMessage {
    std::optional<FoundMessage> found;
    std::string fault;  // why there is none; empty where there is one
};

/// `number`: which of the selected, counted from the oldest, from 1 on. Throws amqp::Error.
OneMessage find_one(ParkedBrowser& browser, std::size_t number);

}  // namespace retryd::commands
