#include "commands/parked/importer.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "amqp/timeouts.h"
#include "core/duration.h"
#include "core/message.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

constexpr core::Milliseconds patience_interrupted{10'000};

/// What would make the broker refuse it, send it elsewhere, delete it or forget it is set aside, as on a retry.
class SetAside {
  public:
    core::Message from(core::Message message, const std::string& connection_user) {
        core::Properties& properties = message.properties;
        fields_.clear();
        for (core::Field field : properties.header_table()) {
            if (field.name == "CC") field.name = core::header::cc;
            if (field.name == "BCC") field.name = core::header::bcc;
            if (field.name == core::delivery_time_annotation) field.name = core::header::delivery_time;
            if (field.name == core::deferral_token_annotation) field.name = core::header::deferral_token;
            fields_.push_back(field);
        }
        if (properties.user_id != connection_user) move(properties.user_id, core::header::user_id);
        move(properties.expiration, core::header::expiration);
        if (properties.reply_to == "amq.rabbitmq.reply-to") move(properties.reply_to, core::header::reply_to);
        properties.delivery_mode = 2;
        if (properties.headers || !fields_.empty()) properties.headers = core::Table{fields_.data(), fields_.size()};
        return message;
    }

  private:
    void move(std::optional<std::string_view>& property, std::string_view name) {
        if (!property) return;
        std::erase_if(fields_, [&](const core::Field& field) { return field.name == name; });
        fields_.push_back({name, core::Value::of_longstr(*property)});
        property.reset();
    }

    std::vector<core::Field> fields_;
};

}  // namespace

Importer::Importer(const config::Settings& settings, const BrokerIdentity& broker, const system::Signals& signals,
                   ImportFile& file, std::string to, std::size_t skip)
    : signals_(signals),
      file_(file),
      to_(std::move(to)),
      skip_(skip),
      user_(endpoint_of(settings, broker).username),
      writer_(endpoint_of(settings, broker), settings.broker, "retryd parked import") {}

void Importer::run(const Progress& progress) {
    try {
        work(progress);
    } catch (const amqp::Error& error) {
        why_ = std::string{error.what()} + "; " + amqp::remedy(error.kind());
    }
    unknown_ = in_flight_.size();
}

void Importer::work(const Progress& progress) {
    while (!ended_ || !in_flight_.empty()) {
        now_ = system::now().steady;
        if (given_up()) return;
        send_some();
        writer_.turn(*this);
        progress(imported_, writer_.blocked().empty() ? "" : "waiting: the broker takes no messages");
        if (!ended_ || !in_flight_.empty()) wait();
    }
}

std::size_t Importer::settled_lines() const {
    std::size_t line = file_.lines() + 1;
    if (pending_ || !file_.fault().empty()) line = file_.lines();
    if (!in_flight_.empty()) line = std::min(line, *in_flight_.begin());
    if (first_failed_) line = std::min(line, *first_failed_);
    return line - 1;
}

void Importer::end(const std::string& why) {
    if (why_.empty()) why_ = why;
    ended_ = true;
}

void Importer::end_at(std::size_t line, const std::string& why) {
    first_failed_ = std::min(line, first_failed_.value_or(line));
    end("the message of line " + std::to_string(line) + " " + why);
}

bool Importer::given_up() {
    if (signals_.pending() && !interrupted_at_) {
        interrupted_at_ = now_;
        end("interrupted");
    }
    if (interrupted_at_ && now_ - *interrupted_at_ >= patience_interrupted) return true;
    if (!writer_.closed().empty()) {
        end("the broker refused a message and closed the channel: " + writer_.closed());
        return true;
    }
    if (!confirms_are_late()) return false;
    end("the broker has not confirmed " + std::to_string(in_flight_.size()) + " messages for " +
        core::format_duration(amqp::confirm_timeout));
    return true;
}

bool Importer::confirms_are_late() {
    if (!writer_.blocked().empty()) unblocked_at_ = now_;
    const auto sent = unconfirmed_.oldest();
    if (!sent || now_ - std::max(*sent, unblocked_at_) < amqp::look_into_confirms_after) return false;
    return now_ - std::max(writer_.waits_since(*sent, now_), unblocked_at_) >= amqp::confirm_timeout;
}

void Importer::send_some() {
    SetAside set_aside;
    while (!ended_ && in_flight_.size() < most_in_flight) {
        if (!pending_) pending_ = file_.next(line_, skip_);
        if (!pending_) return end(file_.fault());
        if (!send(set_aside.from(line_.message(), user_))) return;
        pending_ = false;
    }
}

/// False: not yet.
bool Importer::send(const core::Message& message) {
    const std::string& queue = to_.empty() ? line_.queue() : to_;
    const auto result = writer_.publish({"", queue, message});
    if (result == relay::PublishResult::would_block) return false;
    if (result == relay::PublishResult::header_too_large) {
        end_at(file_.lines(),
               "has more properties and headers than this broker takes at once: it takes more with a larger frame_max");
        return true;
    }
    relay::Pending pending;
    pending.tag = file_.lines();
    pending.sent_at = now_;
    pending.published_as = relay::hash_of_address("", queue);
    unconfirmed_.add(std::move(pending));
    in_flight_.insert(file_.lines());
    return true;
}

void Importer::wait() {
    constexpr int longest = 100;
    const bool full = writer_.wants_room() || (pending_ && writer_.blocked().empty());
    std::array fds{pollfd{writer_.fd(), static_cast<short>(full ? POLLIN | POLLOUT : POLLIN), 0},
                   pollfd{interrupted_at_ ? -1 : signals_.fd(), POLLIN, 0}};
    poll(fds.data(), fds.size(), longest);
}

void Importer::on_confirm(relay::PublishSeq seq, bool multiple, bool acked) {
    answered_.clear();
    unconfirmed_.confirm(seq, multiple, answered_);
    for (const relay::Pending& pending : answered_) {
        const auto line = static_cast<std::size_t>(pending.tag);
        in_flight_.erase(line);
        if (!acked) {
            end_at(line, "was refused by its queue: is that full (x-max-length with reject-publish)?");
        } else if (pending.returned) {
            end_at(line, "could not be routed: its queue is gone");
        } else {
            ++imported_;
        }
    }
}

void Importer::on_returned(std::string_view exchange, std::string_view routing_key) {
    unconfirmed_.mark_returned(relay::hash_of_address(exchange, routing_key));
}

}  // namespace retryd::commands
