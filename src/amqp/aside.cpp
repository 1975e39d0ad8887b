#include "amqp/aside.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>
#include <variant>

#include "amqp/error.h"
#include "amqp/sync_admin.h"

namespace retryd::amqp {

bool ConnectionClosingSteps::add(const Declarer::Step& step) {
    constexpr std::size_t most = 1'000;
    if (contains(step)) return false;
    if (steps_.size() == most) steps_.erase(steps_.begin());
    steps_.push_back(step);
    return true;
}

bool ConnectionClosingSteps::add_asked(const Declarer& declarer) {
    bool any_new = false;
    for (const Declarer::Step& step : declarer.asked())
        any_new = add(step) || any_new;
    return any_new;
}

bool ConnectionClosingSteps::contains(const Declarer::Step& step) const {
    return std::find(steps_.begin(), steps_.end(), step) != steps_.end();
}

namespace {

/// What the broker would have to name. Arguments are only known to it.
struct NameOf {
    std::string operator()(const core::ExchangeSpec& exchange) const { return exchange.name; }
    std::string operator()(const core::QueueSpec& queue) const { return queue.name; }
    std::string operator()(const core::BindingSpec& binding) const { return binding.queue; }
    std::string operator()(const core::ForeignExchange& exchange) const { return exchange.name; }
    std::string operator()(const Declarer::CheckQueue& check) const { return check.queue; }
    std::string operator()(const Declarer::CheckExchange& check) const { return check.exchange; }
    std::string operator()(const Declarer::DeleteQueue& step) const { return step.queue; }
    std::string operator()(const Declarer::DeleteExchange& step) const { return step.exchange; }
};

}  // namespace

bool is_too_long_to_refuse(const Declarer::Step& step, const std::string& vhost) {
    constexpr std::size_t most = 255;
    constexpr std::string_view words = "NOT_FOUND - no exchange '' in vhost ''";
    const std::string name = std::visit(NameOf{}, step);
    const auto takes_several_bytes = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    return words.size() + name.size() + vhost.size() > most &&
           (std::any_of(name.begin(), name.end(), takes_several_bytes) ||
            std::any_of(vhost.begin(), vhost.end(), takes_several_bytes));
}

/// What the thread uses; it may outlive the session.
struct AsideDeclarer::Shared {
    struct Task {
        std::size_t number = 0;
        Declarer::Step step;
    };
    struct Answer {
        std::size_t number = 0;
        Declarer::Outcome outcome;
    };

    explicit Shared(config::Broker broker) : settings(std::move(broker)) {}

    std::optional<Task> next() {
        const std::lock_guard lock(mutex);
        if (tasks.empty()) return std::nullopt;
        Task task = std::move(tasks.front());
        tasks.pop_front();
        return task;
    }
    void answer(Answer answer) {
        const std::lock_guard lock(mutex);
        answers.push_back(std::move(answer));
    }
    std::vector<Answer> take_answers() {
        const std::lock_guard lock(mutex);
        return std::exchange(answers, {});
    }
    bool has_tasks() {
        const std::lock_guard lock(mutex);
        return !tasks.empty();
    }

    const config::Broker settings;
    std::mutex mutex;
    std::deque<Task> tasks;
    std::vector<Answer> answers;
};

AsideDeclarer::AsideDeclarer(const config::Endpoint& endpoint, const config::Broker& settings) {
    config::Broker here = settings;
    here.endpoints = {endpoint};
    shared_ = std::make_shared<Shared>(std::move(here));
}

AsideDeclarer::~AsideDeclarer() = default;

void AsideDeclarer::submit(Declarer::Step step, Declarer::Sink sink) {
    waiting_.push_back({++submitted_, std::move(sink)});
    const std::lock_guard lock(shared_->mutex);
    shared_->tasks.push_back({submitted_, std::move(step)});
}

void AsideDeclarer::turn() {
    if (thread_ && thread_->done()) thread_.reset();
    if (!thread_ && shared_->has_tasks()) {
        thread_.emplace([shared = shared_](const Background<bool>::GoOn& go_on) {
            std::optional<SyncAdminConnection> connection;
            for (auto task = shared->next(); task && go_on(); task = shared->next()) {
                try {
                    if (!connection) connection.emplace(shared->settings, "retryd declare");
                    shared->answer({task->number, connection->carry_out(task->step)});
                } catch (const Error&) {
                    connection.reset();
                    shared->answer({task->number, Declarer::unanswered(task->step)});
                }
            }
            return true;
        });
    }
    for (Shared::Answer& answer : shared_->take_answers()) {
        const auto asked = std::find_if(waiting_.begin(), waiting_.end(),
                                        [&](const Waiting& each) { return each.number == answer.number; });
        const Declarer::Sink sink = std::move(asked->sink);
        waiting_.erase(asked);
        sink(answer.outcome);
    }
}

void delegate_closing_steps(AsideDeclarer& aside, const ConnectionClosingSteps& known, const std::string& vhost,
                            Declarer& declarer) {
    declarer.carry_out_elsewhere([&aside, &known, vhost](Declarer::Step& step, Declarer::Sink& sink) {
        if (!known.contains(step) && !is_too_long_to_refuse(step, vhost)) return false;
        aside.submit(std::move(step), std::move(sink));
        return true;
    });
}

}  // namespace retryd::amqp
