// Messages of sources, whoever has put them there: the first byte says in which dialect, the next line is what stands
// in each header that a dialect reads, and the rest is the body.
#include <array>
#include <vector>

#include "core/death.h"
#include "core/failure.h"
#include "core/text.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

using namespace std::string_view_literals;

constexpr std::array read_headers{"MT-Fault-InputAddress"sv,
                                  "MT-Fault-Timestamp"sv,
                                  "NServiceBus.FailedQ"sv,
                                  "NServiceBus.TimeOfFailure"sv,
                                  "rbs2-source-queue"sv,
                                  "rbs2-delivery-count"sv,
                                  "x-original-exchange"sv,
                                  "x-original-routingKey"sv,
                                  "X-Message-Stamp-Symfony\\Component\\Messenger\\Stamp\\SentToFailureTransportStamp"sv,
                                  "X-Message-Stamp-Symfony\\Component\\Messenger\\Stamp\\ErrorDetailsStamp"sv,
                                  "retries"sv,
                                  "retryd-queue"sv,
                                  "retryd-attempt"sv,
                                  "retryd-first-death"sv,
                                  "retryd-cc"sv,
                                  "mine"sv};

constexpr std::string_view no_work_queue = "retryd.errors";

/// Looks at every byte of it.
void look_at(const core::Message& message) {
    const core::Table headers = message.properties.header_table();
    require(core::equal(headers, headers), "headers can be read");
    require(std::string{message.body}.size() == message.body.size(), "the body can be read");
}

void check_read(const core::Delivery& delivery, const core::Source& source, core::FailureScratch& scratch) {
    constexpr core::WallTime today{std::chrono::seconds{1'800'000'000}};
    const auto failure = core::read_failure(delivery, source, source.queue, today, scratch);
    std::string queue;
    if (failure) {
        queue = failure->death.queue;
        require(core::usable_queue_name(queue) && queue != source.queue, "a work queue is a queue, and another one");
        require(failure->death.count >= 1, "numbers are sound");
        require(failure->death.time <= 1'800'000'000U, "nothing has failed later than now");
        require(failure->exception.size() <= core::longest_exception, "an exception fits");
        look_at(failure->message);
    }
    const core::Delivery read = core::as_dead_lettered(delivery, source, source.queue, today, scratch);
    look_at(read.message);
    const core::Table headers = read.message.properties.header_table();
    const auto death = core::read_death(headers, no_work_queue);
    // Nobody's work queue is the error queue.
    const bool known = failure && queue != no_work_queue;
    require(death.has_value() == known, "what is read is dead-lettered, and nothing else");
    if (death) {
        require(death->queue == queue, "from the same queue");
        core::read_retry_history(headers, death->queue, {});
    }
}

}  // namespace

void failures(std::string_view input) {
    if (input.empty()) return;
    constexpr int dialects = static_cast<int>(core::Dialect::generic) + 1;
    core::Source source{"errors", static_cast<core::Dialect>(static_cast<unsigned char>(input.front()) % dialects)};
    input.remove_prefix(1);
    const std::string_view line = input.substr(0, input.find('\n'));
    core::Delivery delivery;
    delivery.routing_key = line;
    delivery.message.body = input.substr(std::min(input.size(), line.size() + 1));
    std::vector<core::Field> fields;
    for (const std::string_view name : read_headers)
        fields.push_back({name, core::Value::of_longstr(line)});
    delivery.message.properties.headers = core::Table{fields.data(), fields.size()};
    core::FailureScratch scratch;
    check_read(delivery, source, scratch);
    source.work_queue = {core::WorkQueueOf::Place::header, "mine"};
    source.reason_header = "mine";
    check_read(delivery, source, scratch);
    delivery.message.properties.headers.reset();
    source.work_queue = {};
    check_read(delivery, source, scratch);
}

}  // namespace retryd::fuzz
