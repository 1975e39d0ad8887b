// A gallery of hostile AMQP 0-9-1 messages: all that a producer can put into one that RabbitMQ takes. Whoever finds a
// new one hangs it here.
#pragma once

#include <string>
#include <vector>

#include "support/message.h"

namespace retryd::test {

/// Names that forged headers claim, and what must not get anything.
struct GalleryNames {
    std::string work;         // has an entry and a ladder
    std::string shared;       // has an entry with a shared ladder
    std::string ghost;        // an entry matches it, but there is no such queue
    std::string victim;       // somebody else's: no entry matches it
    std::string error_queue;  // retryd's own
    std::string catch_all;
    std::string parking;
    std::string rung;
};

struct HostileMessage {
    std::string what;
    Message message;
    /// rabbitmq-c of the test's own client gives up on it, so it must come to none of the test's consumers: it has died
    /// in the ghost.
    bool unreadable = false;
    /// Before 3.13 the broker believes an x-death of a producer's: the queue in which the message dies crashes
    /// (rabbit_dead_letter:update_x_death_header), whosever that is; or, where a count is a double, the broker cannot
    /// hand the message over any more and ends the consuming connection (541).
    bool breaks_old_brokers = false;
};

/// Without an x-death of its own a message dies in no queue that retryd can name.
std::vector<HostileMessage> hostile_gallery(const GalleryNames& names);

/// Names of queues that a terminal, a log or a page must not show as they are, or that look like something else. All
/// are UTF-8 without CR and LF, so that a queue may have them.
std::vector<std::string> hostile_names();

}  // namespace retryd::test
