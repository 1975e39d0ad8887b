#include "measurement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "processes.h"
#include "support/await.h"

namespace retryd::bench {

namespace {

using test::Clock;
using test::milliseconds;
using test::seconds;

constexpr milliseconds between_looks{10};
constexpr milliseconds last_acks_take{300};
constexpr seconds longest_standstill{60};

/// What had been used at a moment.
struct Used {
    Clock::time_point time = Clock::now();
    double contender = 0;
    double broker = 0;
    std::uint32_t arrived = 0;
};

class Watch {
  public:
    Watch(Stage& stage, const Contender& contender, const Load& load)
        : stage_(stage), pids_(contender.pids()), steps_(static_cast<std::uint32_t>(load.steps)) {
        before_ = stage_.depth(stage_.rung_queue(0));
    }

    /// One rung tells for all: each gets as many messages as the others, in turn. Asking for many would cost the
    /// broker.
    Used look() const {
        Used used;
        used.arrived = (stage_.depth(stage_.rung_queue(0)) - before_) * steps_;
        used.time = Clock::now();
        used.contender = cpu_seconds(pids_);
        used.broker = cpu_seconds(broker_);
        return used;
    }

  private:
    Stage& stage_;
    std::vector<pid_t> pids_;
    pid_t broker_ = find_broker();
    std::uint32_t steps_;
    std::uint32_t before_ = 0;
};

void warm_up(Stage& stage, Contender& contender, const Load& load) {
    Load one = load;
    one.messages = static_cast<std::uint32_t>(std::max(stage.layout().work_queues, load.steps));
    reject_messages(stage, one);
    if (!test::await([&] { return stage.on_rungs() == one.messages; }, seconds(120))) {
        throw std::runtime_error("the contender carries nothing: see its log in " + stage.folder());
    }
    await_idle(contender.pids());
}

struct Course {
    Used begun;  // before the first message was touched
    Used first;  // something had arrived
    Used last;   // everything had, or nothing more came
};

/// A contender that cannot be held up begins when it likes: then `begun` is the last look at an empty rung.
Course follow(const Watch& watch, std::uint32_t messages, const Used& begun, bool held) {
    Course course{begun, {}, begun};
    for (auto progress = Clock::now(); course.last.arrived < messages;) {
        std::this_thread::sleep_for(between_looks);
        const Used now = watch.look();
        if (now.arrived == 0 && !held) course.begun = now;
        if (now.arrived > 0 && course.first.arrived == 0) course.first = now;
        if (now.arrived > course.last.arrived) progress = now.time;
        course.last = now;
        if (now.time - progress > longest_standstill) break;
    }
    return course;
}

void note_difference(std::string& note, std::uint32_t expected, std::uint32_t found, const std::string& where) {
    if (expected == found) return;
    note +=
        (note.empty() ? "" : "; ") + std::to_string(found) + " instead of " + std::to_string(expected) + " " + where;
}

Measurement result_of(const Course& course, const Used& end, std::uint32_t messages) {
    Measurement measured;
    const double time = std::chrono::duration<double>(course.last.time - course.first.time).count();
    if (time > 0) measured.rate = (course.last.arrived - course.first.arrived) / time;
    measured.cpu_us = (end.contender - course.begun.contender) * 1e6 / messages;
    measured.broker_cpu_us = (end.broker - course.begun.broker) * 1e6 / messages;
    return measured;
}

}  // namespace

Measurement measure_backlog(Stage& stage, Contender& contender, const Load& load) {
    stage.reset();
    contender.start();
    if (contender.holds()) {
        warm_up(stage, contender, load);
        contender.hold();
    }
    const std::uint32_t before = stage.on_rungs();
    make_backlog(stage, load, contender.unacknowledged());
    await_idle({find_broker()});
    const Watch watch(stage, contender, load);
    const Used begun = watch.look();
    contender.go();
    const Course course = follow(watch, load.messages, begun, contender.holds());
    std::this_thread::sleep_for(last_acks_take);
    Measurement measured = result_of(course, watch.look(), load.messages);
    for (const pid_t pid : contender.pids())
        measured.peak_kib = std::max(measured.peak_kib, peak_kib(pid));
    contender.stop();
    test::await([&] { return stage.on_rungs() == before + load.messages; }, seconds(2));
    note_difference(measured.note, load.messages, stage.on_rungs() - before, "on the rungs");
    note_difference(measured.note, 0, stage.depth(error_queue), "left in the error queue");
    return measured;
}

void to_json(nlohmann::json& json, const Measurement& measured) {
    json = {{"rate", measured.rate},
            {"cpu_us", measured.cpu_us},
            {"broker_cpu_us", measured.broker_cpu_us},
            {"peak_kib", measured.peak_kib},
            {"note", measured.note}};
}

}  // namespace retryd::bench
