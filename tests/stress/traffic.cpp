#include "stress/traffic.h"

#include <algorithm>
#include <exception>

namespace retryd::stress {
namespace {

using test::Client;
using test::milliseconds;
using test::Received;
using test::seconds;

constexpr std::size_t batch = 25;

void pause(milliseconds time) {
    std::this_thread::sleep_for(time);
}

}  // namespace

std::unique_ptr<Client> connect(const Addresses& addresses, std::size_t from) {
    for (std::size_t tried = 0; tried + 1 < addresses.size(); ++tried) {
        try {
            return std::make_unique<Client>(addresses[(from + tried) % addresses.size()]);
        } catch (const std::exception&) {  // that node is away: the next one
        }
    }
    return std::make_unique<Client>(addresses[(from + addresses.size() - 1) % addresses.size()]);
}

bool publish_all(const Addresses& addresses, Ledger& ledger, const std::string& queue,
                 const std::vector<std::size_t>& ids, const std::atomic<bool>& ending) {
    for (std::size_t turn = 0; !ending; ++turn) {
        try {
            const auto client = connect(addresses, turn);
            for (const std::size_t id : ids)
                client->send("", queue, ledger.message(id));
            client->await_confirms();
            return true;
        } catch (const std::exception&) {
            for (const std::size_t id : ids)
                ledger.resent(id);
            pause(milliseconds(200));
        }
    }
    return false;
}

// ── Producer ────────────────────────────────────────────────────────────────────────────────────────────────────

Producer::Producer(Addresses addresses, Ledger& ledger, std::vector<std::string> queues, unsigned seed)
    : addresses_(std::move(addresses)), ledger_(ledger), queues_(std::move(queues)), random_(seed), thread_([this] {
          run();
      }) {}

Producer::~Producer() {
    ending_ = true;
    thread_.join();
}

void Producer::run() {
    while (!ending_) {
        if (published_ < allowed_)
            publish_some();
        else
            pause(milliseconds(5));
    }
}

void Producer::publish_some() {
    // Of ten messages one never fails, four fail once … and one more often than its ladder has steps.
    static constexpr int failures[] = {0, 1, 1, 1, 1, 2, 2, 3, 3, 99};
    const std::string& queue = queues_[random_() % queues_.size()];
    std::vector<std::size_t> ids;
    for (std::size_t n = std::min<std::size_t>(batch, allowed_ - published_); n > 0; --n)
        ids.push_back(ledger_.issue(queue, failures[random_() % std::size(failures)]));
    publish_all(addresses_, ledger_, queue, ids, ending_);
    published_ += ids.size();
}

// ── Consumer ────────────────────────────────────────────────────────────────────────────────────────────────────

Consumer::Consumer(Addresses addresses, Ledger& ledger, std::string queue, std::size_t first_node)
    : addresses_(std::move(addresses)), ledger_(ledger), queue_(std::move(queue)), node_(first_node), thread_([this] {
          run();
      }) {}

Consumer::~Consumer() {
    ending_ = true;
    thread_.join();
}

void Consumer::leave() {
    is_to_leave_ = true;
    test::await([&] { return away_.load(); });
}

void Consumer::run() {
    while (!ending_) {
        away_ = is_to_leave_.load();
        try {
            if (!is_to_leave_) consume();
        } catch (const std::exception&) {  // the broker is away, or its queue
            ++node_;
        }
        if (!ending_) pause(milliseconds(50));
    }
}

void Consumer::consume() {
    const auto client = connect(addresses_, node_);
    client->consume(queue_, 50);
    while (!ending_ && !is_to_leave_) {
        if (held_) {
            pause(milliseconds(10));
        } else if (const auto message = client->next(milliseconds(50))) {
            settle(*client, *message);
        }
    }
}

void Consumer::settle(Client& client, const Received& message) {
    const bool fresh = test::find(message.headers, "retryd-attempt") == nullptr;
    const auto attempt = fresh ? 0 : test::long_header(message, "retryd-attempt");
    const std::size_t id = Ledger::id_of(message);
    if (attempt < ledger_.failures_of(id)) {
        client.reject(message.tag, false);
        return ledger_.rejected(id, attempt + 1);
    }
    client.ack(message.tag);
    ledger_.done(queue_, message);
}

}  // namespace retryd::stress
