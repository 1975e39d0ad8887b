// Answers to the client of the management API, from RabbitMQ or from anything else. This file replaces http/client.cpp:
// no socket is opened, and the answer is the fuzzer's.
#include "http/management.h"

#include "core/names.h"
#include "fuzz/bytes.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"
#include "http/client.h"

namespace retryd::http {
namespace {

Response next_answer;

}  // namespace

Response get(const Request&) {
    return next_answer;
}

Response put(const Request&, const std::string&) {
    return next_answer;
}

Response post(const Request&, const std::string&) {
    return next_answer;
}

std::string percent_encoded(const std::string& text) {
    return text;
}

}  // namespace retryd::http

namespace retryd::fuzz {
namespace {

constexpr std::array<int, 5> statuses{200, 404, 401, 500, 301};

template <typename Ask>
void ask(Ask question) {
    try {
        question();
    } catch (const http::Error& error) {
        const std::string text = error.what();
        require(text.find(secret) == std::string::npos, "a fault holds no password");
        require(text.find("http://h:1") != std::string::npos, "a fault says who was asked");
    }
}

}  // namespace

void management(std::string_view input) {
    Bytes bytes{input};
    http::next_answer.status = bytes.one_of<int>(statuses);
    http::next_answer.body = bytes.rest();
    // The body may contain anything but the password.
    if (http::next_answer.body.find(secret) != std::string::npos) return;
    const http::ManagementClient client({"http://h:1", "ops", std::string{secret}}, {}, "/");
    core::Policy policy;
    policy.entries.push_back({"*", {"standard", {core::Milliseconds{1'000}}}, {"{queue}.parked"}});
    ask([&] {
        for (const http::ListedQueue& queue : client.queues()) {
            core::parse_rung(queue.name, queue.arguments);
            core::work_queue_held_in(policy, queue.name, queue.arguments);
        }
    });
    ask([&] { static_cast<void>(client.counters("q")); });
    ask([&] { client.consumers(); });
    ask([&] {
        for (const core::BindingSpec& binding : client.bindings_from("retryd.return"))
            require(binding.exchange == "retryd.return", "a binding is of the exchange that was asked about");
    });
}

}  // namespace retryd::fuzz
