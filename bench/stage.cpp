#include "stage.h"

#include <fstream>
#include <iostream>

#include "support/environment.h"
#include "support/shell.h"

namespace retryd::bench {

using test::longstr;

namespace {

const std::string error_exchange = "bench.errors";
const std::string return_exchange = "retryd.return";
const std::string shared_prefix = "retryd.bench.";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace

Stage::Stage(Layout layout, std::string folder)
    : client(test::broker_address()), layout_(std::move(layout)), folder_(std::move(folder)) {
    write_config();
    delete_all();
    for (int n = 0; n < layout_.work_queues; ++n) {
        client.declare_queue(
            work_queue(n), {{"x-queue-type", longstr("classic")}, {"x-dead-letter-exchange", longstr(error_exchange)}});
    }
}

Stage::~Stage() {
    try {
        delete_all();
    } catch (const std::exception& error) {
        std::cerr << "bench: queues are left on the broker: " << error.what() << '\n';
    }
}

void Stage::write_config() const {
    std::ofstream file(config_file());
    file << "broker: {uri: \"" << test::uri_of(test::broker_address()) << "\", heartbeat: 10m}\n"
         << "errors: {exchange: " << error_exchange << ", queue: " << error_queue << ", prefetch: " << prefetch << "}\n"
         << "ladders: {bench: {delays: [";
    for (std::size_t i = 0; i < layout_.delays.size(); ++i)
        file << (i > 0 ? ", " : "") << layout_.delays[i];
    file << "], return: " << (layout_.shared ? "headers" : "queue") << "}}\n"
         << "parking: {queue: bench.parked.all, catch_all: " << catch_all << "}\n"
         << "queues:\n";
    for (int n = 0; n < layout_.work_queues; ++n)
        file << "  - {match: " << work_queue(n) << ", ladder: bench}\n";
}

void Stage::reset() {
    delete_queues();
    test::output_of(test::shell_word(test::retryd_binary()) + " apply -c " + test::shell_word(config_file()));
}

Place Stage::rung_template() const {
    if (layout_.shared) return {shared_prefix + "{delay}", "{queue}"};
    return {"", "{queue}.retry.{delay}"};
}

Place Stage::first_rung() const {
    const auto filled = [this](const std::string& text) {
        return replaced(replaced(text, "{delay}", layout_.delays.front()), "{queue}", work_queue(0));
    };
    const Place place = rung_template();
    return {filled(place.exchange), filled(place.key)};
}

std::string Stage::rung_queue(int step, int work_queue_number) const {
    const std::string& delay = layout_.delays[static_cast<std::size_t>(step)];
    return layout_.shared ? shared_prefix + delay : work_queue(work_queue_number) + ".retry." + delay;
}

std::vector<std::string> Stage::rung_queues() const {
    std::vector<std::string> all;
    for (int step = 0; step < static_cast<int>(layout_.delays.size()); ++step) {
        for (int n = 0; n < (layout_.shared ? 1 : layout_.work_queues); ++n)
            all.push_back(rung_queue(step, n));
    }
    return all;
}

std::uint32_t Stage::depth(const std::string& queue) {
    const auto state = client.look_at(queue);
    return state ? state->messages : 0;
}

std::uint32_t Stage::on_rungs() {
    std::uint32_t sum = 0;
    for (const std::string& queue : rung_queues())
        sum += depth(queue);
    return sum;
}

std::uint32_t Stage::consumers() {
    const auto state = client.look_at(error_queue);
    return state ? state->consumers : 0;
}

void Stage::delete_queues() {
    for (const std::string& queue : rung_queues())
        client.delete_queue(queue);
    for (const std::string& queue : {error_queue, catch_all, std::string("bench.parked.all")})
        client.delete_queue(queue);
}

void Stage::delete_all() {
    delete_queues();
    for (int n = 0; n < layout_.work_queues; ++n)
        client.delete_queue(work_queue(n));
    client.delete_exchange(error_exchange);
    if (!layout_.shared) return;
    client.delete_exchange(return_exchange);
    for (const std::string& queue : rung_queues())
        client.delete_exchange(queue);
}

}  // namespace retryd::bench
