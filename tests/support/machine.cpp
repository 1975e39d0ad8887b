#include "support/machine.h"

#include <algorithm>
#include <optional>

#include "support/environment.h"

namespace retryd::test {

namespace {

/// A question costs the broker about as much as a message: asked more often, it would make the machine slow itself.
constexpr milliseconds pause{100};
/// To connect and to declare the queue is more than an answer: what it takes where nothing is slow does not count.
constexpr milliseconds first_takes{300};
const std::string asked_queue = "machine";

/// Asks the broker, as long as it answers. A get from an empty quorum queue is answered when it is in the broker's log
/// on the disk, as a message in a rung is; unlike a publication it is answered during an alarm.
class Question {
  public:
    void ask() {
        if (gone_) return;
        try {
            if (!client_) connect();
            client_->get(asked_queue);
        } catch (const std::exception&) {
            // RabbitMQ 4 ends the connection (541) on a basic.get while the queue is being declared.
            client_.reset();
        }
    }

  private:
    /// A test that takes the broker away is judged by the processor alone from then on.
    void connect() {
        try {
            client_.emplace(broker_address());
            client_->declare_queue(asked_queue, {{"x-queue-type", longstr("quorum")}});
        } catch (const std::exception&) {
            gone_ = true;
            throw;
        }
    }

    std::optional<Client> client_;
    bool gone_ = false;
};

}  // namespace

Machine::Machine()
    : counts_from_(Clock::now() + first_takes), thread_([this](const std::stop_token& over) {
          const auto count = [this] { slowest_ = std::max(slowest_.load(), since(counts_from_.load())); };
          Question question;
          question.ask();
          count();
          while (!over.stop_requested()) {
              const Clock::time_point start = Clock::now();
              counts_from_ = start;
              question.ask();
              count();
              counts_from_ = start + pause;  // a thread that is woken late counts, too: then the processor is slow
              std::this_thread::sleep_for(pause);
              count();
          }
      }) {}

Machine::~Machine() = default;

milliseconds Machine::slack() const {
    // Read first: what is answered right after that is in slowest_.
    const milliseconds pending = since(counts_from_.load());
    return std::min(10 * std::max(slowest_.load(), pending), milliseconds(10'000));
}

}  // namespace retryd::test
