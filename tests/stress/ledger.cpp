#include "stress/ledger.h"

#include <algorithm>
#include <ctime>

namespace retryd::stress {
namespace {

using test::Message;
using test::Received;

/// Mostly small, some of several frames.
std::string body_of(std::size_t id) {
    const std::size_t filling = id % 500 == 499 ? 200'000 : id * 37 % 3'000;
    return std::to_string(id) + " " + std::string(filling, 'x');
}

std::string told(const Received& message) {
    return std::to_string(Ledger::id_of(message)) + " (attempt " +
           std::to_string(test::long_header(message, "retryd-attempt")) + ", " +
           test::text_header(message, "retryd-parked-reason") + ")";
}

}  // namespace

std::string clock_time(std::chrono::system_clock::time_point time) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    char text[16];
    std::tm parts{};
    std::strftime(text, sizeof text, "%H:%M:%S", gmtime_r(&seconds, &parts));
    return text;
}

std::size_t Ledger::id_of(const Message& message) {
    return std::stoul(message.body);
}

std::size_t Ledger::issue(const std::string& queue, int failures) {
    const std::lock_guard lock(mutex_);
    lines_.push_back({queue, failures});
    return lines_.size() - 1;
}

int Ledger::failures_of(std::size_t id) const {
    const std::lock_guard lock(mutex_);
    return lines_.at(id).failures;
}

Message Ledger::message(std::size_t id) const {
    return {.body = body_of(id), .properties = {.delivery_mode = 2, .message_id = std::to_string(id)}};
}

void Ledger::resent(std::size_t id) {
    const std::lock_guard lock(mutex_);
    lines_.at(id).resent = true;
}

/// Nothing, and a note of it, when no such message was ever issued or its body is not what it was.
Ledger::Line* Ledger::find(const std::string& place, const Received& message) {
    const std::size_t id = id_of(message);
    if (id < lines_.size() && message.body == body_of(id)) return &lines_[id];
    wrong_.push_back(told(message) + " in " + place + ": not the message that was sent");
    return nullptr;
}

void Ledger::rejected(std::size_t id, std::int64_t attempt) {
    const std::lock_guard lock(mutex_);
    lines_.at(id).rejections = attempt;
    lines_.at(id).rejected_at = std::chrono::system_clock::now();
}

void Ledger::done(const std::string& queue, const Received& message) {
    const std::lock_guard lock(mutex_);
    Line* line = find(queue, message);
    if (line == nullptr) return;
    if (line->queue != queue) wrong_.push_back(told(message) + " of " + line->queue + " came to " + queue);
    ++line->done;
    ++done_count_;
}

void Ledger::judge_parked(const Line& line, const std::string& queue, const Received& message) {
    const std::string reason = test::text_header(message, "retryd-parked-reason");
    const bool catch_all = queue.empty();
    const bool for_catch_all = parking_may_be_refused_ || reason == "queue-gone" || reason == "unpublishable";
    const bool right_place = catch_all ? for_catch_all : line.queue == queue;
    const bool too_early = reason == "attempts-exhausted" && test::long_header(message, "retryd-attempt") <= steps_;
    if (!right_place || too_early) {
        wrong_.push_back(told(message) + " of " + line.queue + " was parked " +
                         (catch_all ? "in the catch-all" : "for " + queue));
    }
}

void Ledger::parked(const std::string& queue, const Received& message) {
    const std::lock_guard lock(mutex_);
    Line* line = find("parking of '" + queue + "'", message);
    if (line == nullptr) return;
    judge_parked(*line, queue, message);
    ++line->parked;
    ++reasons_[test::text_header(message, "retryd-parked-reason")];
}

void Ledger::parking_may_be_refused() {
    const std::lock_guard lock(mutex_);
    parking_may_be_refused_ = true;
}

void Ledger::left(const std::string& place, const Received& message) {
    const std::lock_guard lock(mutex_);
    if (Line* line = find(place, message)) ++line->left;
}

bool Ledger::settled(const std::vector<std::size_t>& ids) const {
    const std::lock_guard lock(mutex_);
    return std::all_of(ids.begin(), ids.end(), [&](std::size_t id) { return lines_[id].done + lines_[id].parked > 0; });
}

std::size_t Ledger::done_count() const {
    const std::lock_guard lock(mutex_);
    return done_count_;
}

Summary Ledger::summary() const {
    const std::lock_guard lock(mutex_);
    Summary summary;
    summary.messages = lines_.size();
    summary.parked = reasons_;
    summary.wrong = wrong_;
    for (std::size_t id = 0; id < lines_.size(); ++id) {
        const Line& line = lines_[id];
        const int copies = line.done + line.parked + line.left;
        if (line.done > 0) ++summary.done;
        if (line.left > 0 && line.done + line.parked == 0) ++summary.left;
        if (copies == 0) {
            ++summary.lost;
            ++summary.lost_of[line.queue];
            summary.lost_ones.push_back(std::to_string(id) + " of " + line.queue + " is lost: rejected " +
                                        std::to_string(line.rejections) + " times, the last time at " +
                                        clock_time(line.rejected_at));
        }
        if (copies > 1) summary.duplicates += static_cast<std::size_t>(copies - 1);
        if (line.resent) ++summary.resent;
    }
    return summary;
}

}  // namespace retryd::stress
