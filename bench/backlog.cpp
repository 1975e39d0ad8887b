// What a backlog costs: makes N really rejected messages, lets `retryd run` carry them from the error queue to a rung,
// and prints how long it took to begin, how fast it went, and what the daemon took of CPU and memory.
//
//   RETRYD_TEST_AMQP_URI=amqp://… backlog [MESSAGES [BODY_BYTES]]
//
// Absolute figures of one machine, and the broker shares it: for orders of magnitude, not for comparisons.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "support/client.h"
#include "support/process.h"

namespace {

using namespace retryd::test;

const std::string error_queue = "bench.errors";
const std::string work_queue = "bench.work";
const std::string rung = "bench.work.retry.1h";

void remove_queues(Client& client) {
    for (const auto* queue :
         {"bench.errors", "bench.work", "bench.work.retry.1h", "bench.work.parked", "bench.parked"}) {
        client.delete_queue(queue);
    }
}

/// A quorum error queue as retryd declares it, filled by a consumer that rejects.
void make_backlog(Client& client, const std::string& config, std::uint32_t messages, std::size_t body_bytes) {
    // The daemon itself declares its queues, so that their arguments are the right ones.
    Process daemon({RETRYD_BINARY, "run", "-c", config}, "/dev/null");
    if (!await([&] { return client.look_at(rung) && client.look_at(error_queue); })) {
        throw std::runtime_error("retryd did not declare its queues");
    }
    daemon.signal(15);
    daemon.wait(patience);
    client.declare_queue(work_queue,
                         {{"x-queue-type", longstr("classic")}, {"x-dead-letter-exchange", longstr("bench.errors")}});
    Message message;
    message.body.assign(body_bytes, 'x');
    message.properties.content_type = "application/octet-stream";
    for (std::uint32_t i = 0; i < messages; ++i) {
        client.send("", work_queue, message);
        if (i % 1000 == 999) client.await_confirms(seconds(60));
    }
    client.await_confirms(seconds(60));
    client.consume(work_queue, 1000);
    for (std::uint32_t i = 0; i < messages; ++i)
        client.reject(client.next(patience).value().tag, false);
    if (!await([&] { return client.look_at(error_queue)->messages == messages; }, seconds(120))) {
        throw std::runtime_error("the rejected messages did not arrive in the error queue");
    }
}

std::string write_config(const std::string& uri) {
    const std::string path = "/tmp/retryd-backlog-" + std::to_string(getpid()) + ".yaml";
    std::ofstream(path) << "broker: {uri: \"" << uri << "\"}\n"
                        << "errors: {exchange: bench.errors, queue: bench.errors}\n"
                        << "ladders: {long: {delays: [1h]}}\n"
                        << "queues: [{match: bench.work, ladder: long}]\n"
                        << "parking: {catch_all: bench.parked}\n";
    return path;
}

/// A line of /proc/PID/status, in KiB.
long memory_kib(pid_t pid, const std::string& name) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(name + ":", 0) == 0) return std::strtol(line.c_str() + name.size() + 1, nullptr, 10);
    }
    return -1;
}

/// User and system time of a running process.
double cpu_seconds(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i)
        fields >> skipped;
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void measure(Client& client, const std::string& config, std::uint32_t messages) {
    const auto start = Clock::now();
    const Process daemon({RETRYD_BINARY, "run", "-c", config}, "/dev/null");
    await([&] { return client.look_at(error_queue)->consumers == 1; }, patience, milliseconds(1));
    const auto begun = since(start);
    await([&] { return client.look_at(rung)->messages == messages && client.look_at(error_queue)->messages == 0; },
          seconds(600));
    const double taken = static_cast<double>((since(start) - begun).count()) / 1000.0;
    const double cpu = cpu_seconds(daemon.pid());
    std::cout << "start to consuming     " << begun.count() << " ms\n"
              << "carried                " << messages << " messages in " << taken << " s, "
              << static_cast<long>(messages / taken) << " a second\n"
              << "CPU a message          " << cpu * 1e6 / messages << " us\n"
              << "resident memory, peak  " << memory_kib(daemon.pid(), "VmHWM") << " KiB\n";
}

}  // namespace

int main(int argc, char* argv[]) {
    const char* uri = std::getenv("RETRYD_TEST_AMQP_URI");
    if (uri == nullptr) {
        std::cerr << "RETRYD_TEST_AMQP_URI names no broker; start one: scripts/broker start 4.0 DIR, then . DIR/env\n";
        return 64;
    }
    const auto messages = static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000);
    const std::size_t body_bytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1024;
    Client client(parse_address(uri));
    remove_queues(client);
    const std::string config = write_config(uri);
    std::cout << "RabbitMQ " << client.broker_version() << ", bodies of " << body_bytes << " bytes\n";
    make_backlog(client, config, messages, body_bytes);
    measure(client, config, messages);
    remove_queues(client);
    client.delete_exchange("bench.errors");
    return unlink(config.c_str());
}
