#include "act.h"

#include <poll.h>

#include <algorithm>
#include <array>

#include "interrupt.h"

namespace retryd::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds between_mails{600};      // so that the eye can follow
constexpr milliseconds patience = seconds{60};  // far more than the ladder, for a machine that is busy
constexpr milliseconds a_moment{100};

}  // namespace

Act::Act(const Setting& setting, Stage& stage, Chronicle& chronicle)
    : stage_(stage),
      chronicle_(chronicle),
      consumer_(setting.broker, chronicle),
      watcher_(std::in_place, setting.broker, chronicle),
      producer_(setting.broker, chronicle) {}

bool Act::send_and_climb() {
    for (const Mail& mail : all_mails()) {
        producer_.send(mail);
        await([] { return false; }, between_mails);
    }
    const auto all_confirmed = [this] { return producer_.confirmed() == all_mails().size(); };
    return await([&] { return all_confirmed() && chronicle_.settled(); }, patience);
}

bool Act::mend_and_replay() {
    consumer_.mend();
    const auto replay = stage_.begin_replay();
    if (!await([&] { return replay->exit_code() && chronicle_.all_done(); }, patience)) return false;
    stage_.show_replay(*replay->exit_code());
    return true;
}

bool Act::await(const Condition& condition, milliseconds time) {
    const auto deadline = Clock::now() + time;
    while (!condition()) {
        const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
        if (left <= milliseconds::zero()) return false;
        turn(std::min(left, a_moment));
    }
    return true;
}

void Act::turn(milliseconds longest_wait) {
    stop_if_interrupted();
    stage_.require_retryd();
    std::array sockets{pollfd{consumer_.fd(), POLLIN, 0}, pollfd{watcher_ ? watcher_->fd() : -1, POLLIN, 0},
                       pollfd{producer_.fd(), POLLIN, 0}};
    poll(sockets.data(), sockets.size(), static_cast<int>(longest_wait.count()));
    consumer_.turn();
    if (watcher_) watcher_->turn();
    producer_.turn();
}

}  // namespace retryd::demo
