#include "commands/common/checked_queue.h"

#include <utility>

#include "amqp/empty_answers.h"
#include "core/time.h"

namespace retryd::commands {
namespace {

CheckedQueue check_queue(Broker& broker, const std::string& queue, int quick_zeros, int most_times_asked) {
    amqp::EmptyAnswers answers{quick_zeros};
    for (int asked = 1;; ++asked) {
        const core::SteadyTime begun = broker.now();
        auto there = broker.carry_out(amqp::Declarer::CheckQueue{queue});
        if (there.result != amqp::Declarer::Result::done) return {std::move(there), true};
        const bool believed = answers.believed(there.counts, broker.now() - begun);
        if (believed || asked >= most_times_asked) return {std::move(there), believed};
    }
}

}  // namespace

CheckedQueue count_messages(Broker& broker, const std::string& queue) {
    return check_queue(broker, queue, 1, 4);
}

CheckedQueue make_sure_of_messages(Broker& broker, const std::string& queue) {
    return check_queue(broker, queue, 2, 40);
}

}  // namespace retryd::commands
