#include "amqp/sync_admin.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "core/reply_code.h"
#include "system/clock.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

SyncAdminConnection::SyncAdminConnection(const config::Broker& settings, const std::string& name,
                                         core::Milliseconds longest_answer)
    : settings_(settings), name_(name), longest_answer_(longest_answer) {
    std::string refusals;
    auto kind = Error::Kind::unreachable;
    for (const config::Endpoint& endpoint : settings.endpoints) {
        try {
            open(endpoint);
            return;
        } catch (const Error& error) {
            refusals.append(refusals.empty() ? "" : "; ").append(error.what());
            kind = error.kind();
        }
    }
    throw Error(kind, refusals);
}

void SyncAdminConnection::open(const config::Endpoint& endpoint) {
    std::unique_ptr<Connection> connection = Connection::open(endpoint, settings_, name_);
    declarer_.reset();
    connection_ = std::move(connection);
    endpoint_ = &endpoint;
    declarer_ = std::make_unique<Declarer>(*connection_, only_channel, only_channel);
}

SyncAdminConnection::~SyncAdminConnection() {
    connection_->close(close_timeout);
}

Declarer::Outcome SyncAdminConnection::carry_out(Declarer::Step step) {
    try {
        return ask(step);
    } catch (const Error& error) {
        const bool ended_over_it = error.code() == core::reply_code::internal_error && !declarer_->asked().empty();
        if (!ended_over_it) throw;
        open(*endpoint_);
        return Declarer::ended(step, error.words());
    }
}

Declarer::Outcome SyncAdminConnection::ask(Declarer::Step step) {
    std::optional<Declarer::Outcome> answer;
    declarer_->submit(std::move(step), [&](const Declarer::Outcome& outcome) { answer = outcome; });
    const auto deadline = Clock::now() + longest_answer_;
    for (;;) {
        connection_->drain(*this, 1);
        if (answer) return *answer;
        if (Clock::now() >= deadline) {
            throw Error(Error::Kind::lost,
                        "the broker has not answered for " + std::to_string(longest_answer_.count() / 1'000) + " s");
        }
        wait_for_frames(system::left_until(deadline));
    }
}

void SyncAdminConnection::wait(core::Milliseconds time) {
    const auto deadline = Clock::now() + time;
    while (Clock::now() < deadline) {
        connection_->drain(*this, 1);
        wait_for_frames(system::left_until(deadline));
    }
}

void SyncAdminConnection::wait_for_frames(core::Milliseconds longest) {
    pollfd readable{connection_->fd(), POLLIN, 0};
    poll(&readable, 1, static_cast<int>(std::clamp(longest, core::Milliseconds{0}, longest_poll).count()));
}

core::BrokerVersion SyncAdminConnection::version() const {
    return connection_->version();
}

int SyncAdminConnection::fd() const {
    return connection_->fd();
}

}  // namespace retryd::amqp
