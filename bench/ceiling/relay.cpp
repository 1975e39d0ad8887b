#include "ceiling/relay.h"

#include <poll.h>

#include <array>

namespace retryd::bench::ceiling {

namespace {

/// As the daemon does: confirms get their turn after so many deliveries.
constexpr std::size_t deliveries_a_turn = 128;
constexpr std::size_t all = SIZE_MAX;

}  // namespace

Relay::Relay(const Task& task)
    : consuming_(task.uri),
      publishing_(task.uri),
      outgoing_(publishing_, task.exchange, task.key),
      confirmed_(task.prefetch) {
    publishing_.confirm_select();
    consuming_.consume(task.queue, task.prefetch);
}

void Relay::run(const volatile bool& stop) {
    while (!stop) {
        if (confirms_there_) take_confirms();
        const bool more = deliveries_there_ && take_deliveries();
        outgoing_.flush();
        ack();
        if (more) {
            confirms_there_ = true;  // perhaps
        } else {
            wait();
        }
    }
}

void Relay::take_confirms() {
    publishing_.drain(
        all, [](const Delivery&) {}, [this](std::uint64_t tag, bool multiple) { confirmed_.confirm(tag, multiple); });
    confirms_there_ = false;
}

bool Relay::take_deliveries() {
    return consuming_.drain(
        deliveries_a_turn, [this](const Delivery& delivery) { outgoing_.publish(delivery); },
        [](std::uint64_t, bool) {});
}

void Relay::ack() {
    if (const std::uint64_t tag = confirmed_.take(); tag != 0) {
        check(amqp_basic_ack(consuming_.state(), channel, tag, 1), "ack");
    }
}

/// The signal that ends the run ends the wait, too.
void Relay::wait() {
    std::array fds{pollfd{consuming_.fd(), POLLIN, 0}, pollfd{publishing_.fd(), POLLIN, 0}};
    const bool told = poll(fds.data(), fds.size(), 1000) > 0;
    deliveries_there_ = told && fds[0].revents != 0;
    confirms_there_ = told && fds[1].revents != 0;
}

}  // namespace retryd::bench::ceiling
