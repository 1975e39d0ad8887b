#include "time_to_rung.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "support/environment.h"

namespace retryd::bench {

using namespace retryd::test;

namespace {

constexpr milliseconds between_probes{5};
constexpr milliseconds between_batches{10};
constexpr seconds probes_without_progress{30};
constexpr std::size_t body_bytes = 1024;

using Times = std::vector<Clock::time_point>;

std::size_t number_in(const Message& message) {
    return std::stoul(message.body.substr(0, 10));
}

/// At a steady pace, whether or not the ones before have arrived: a stall is felt by all that come during it.
void publish_probes(const Stage& stage, std::uint32_t probes) {
    Client producer(broker_address());
    auto due = Clock::now();
    for (std::uint32_t i = 0; i < probes; ++i) {
        std::this_thread::sleep_until(due += between_probes);
        Message message;
        message.body = std::to_string(i);
        message.body.resize(body_bytes, ' ');
        message.properties.delivery_mode = std::uint8_t{2};
        producer.send("", stage.work_queue(0), message);
    }
    producer.await_confirms(probes_without_progress);
}

Times reject_probes(const Stage& stage, std::uint32_t probes) {
    Client worker(broker_address());
    worker.consume(stage.work_queue(0), 100);
    Times rejected(probes);
    for (std::uint32_t i = 0; i < probes; ++i) {
        const auto received = worker.next(probes_without_progress);
        if (!received) throw std::runtime_error("the probes' work queue delivers no more");
        rejected[number_in(*received)] = Clock::now();
        worker.reject(received->tag, false);
    }
    worker.look_at(error_queue);
    return rejected;
}

Times await_probes(const Stage& stage, std::uint32_t probes) {
    Client observer(broker_address());
    observer.consume(stage.rung_queue(0, 0), 1000);
    Times arrived(probes);
    for (std::uint32_t i = 0; i < probes; ++i) {
        const auto received = observer.next(probes_without_progress);
        if (!received) throw std::runtime_error("not all probes came to their rung");
        arrived[number_in(*received)] = Clock::now();
        observer.ack(received->tag);
    }
    return arrived;
}

/// Straight into the error queue: on a machine this small the rejecting itself would be the greater load.
Message dead_message(const std::string& queue) {
    const Table death{{"count", int64(1)},       {"reason", longstr("rejected")},
                      {"queue", longstr(queue)}, {"time", timestamp(1'700'000'000)},
                      {"exchange", longstr("")}, {"routing-keys", array({longstr(queue)})}};
    Message message{.body = std::string(body_bytes, 'x'), .headers = {{"x-death", array({table(death)})}}};
    message.properties.delivery_mode = std::uint8_t{2};
    return message;
}

void publish_background(const Stage& stage, double rate, const std::atomic<bool>& over) {
    if (rate <= 0) return;
    Client producer(broker_address());
    const Message message = dead_message(stage.work_queue(1));
    const auto begun = Clock::now();
    auto due = begun;
    for (std::size_t sent = 0; !over;) {
        std::this_thread::sleep_until(due += between_batches);
        const double time = std::chrono::duration<double>(Clock::now() - begun).count();
        for (; static_cast<double>(sent) < rate * time; ++sent)
            producer.send("", error_queue, message);
    }
    producer.await_confirms(probes_without_progress);
}

TimeToRung result_of(const Times& rejected, const Times& arrived) {
    std::vector<double> ms;
    for (std::size_t i = 0; i < rejected.size(); ++i)
        ms.push_back(std::chrono::duration<double, std::milli>(arrived[i] - rejected[i]).count());
    std::sort(ms.begin(), ms.end());
    const auto at = [&](double share) {
        const auto index = static_cast<std::size_t>(share * static_cast<double>(ms.size()));
        return ms[std::min(index, ms.size() - 1)];
    };
    return {ms.size(), at(0.5), at(0.99), at(0.999), ms.back(), 0};
}

}  // namespace

TimeToRung time_to_rung(Stage& stage, std::uint32_t probes, double background) {
    std::atomic<bool> over = false;
    auto load = std::async(std::launch::async, publish_background, std::cref(stage), background, std::cref(over));
    const std::string& other_rung = stage.rung_queue(0, 1);
    await([&] { return background <= 0 || stage.depth(other_rung) > 0; });
    const std::uint32_t before = stage.depth(other_rung);
    const auto begun = Clock::now();
    auto arriving = std::async(std::launch::async, await_probes, std::cref(stage), probes);
    auto rejecting = std::async(std::launch::async, reject_probes, std::cref(stage), probes);
    publish_probes(stage, probes);
    const Times rejected = rejecting.get();
    const Times arrived = arriving.get();
    const double time = std::chrono::duration<double>(Clock::now() - begun).count();
    const double carried = stage.depth(other_rung) - before;
    over = true;
    load.get();
    TimeToRung result = result_of(rejected, arrived);
    result.background = carried / time;
    return result;
}

void to_json(nlohmann::json& object, const TimeToRung& time) {
    object = {{"probes", time.probes},   {"p50_ms", time.p50_ms}, {"p99_ms", time.p99_ms},
              {"p999_ms", time.p999_ms}, {"max_ms", time.max_ms}, {"background", time.background}};
}

}  // namespace retryd::bench
