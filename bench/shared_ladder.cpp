// What one shared ladder saves: many work queues with five rungs each, against the same with one ladder for all. Prints
// for both how many queues retryd declares, how long it takes until all are there and messages are consumed, and how
// fast messages are carried from the error queue to the rungs.
//
//   RETRYD_TEST_AMQP_URI=amqp://… shared_ladder [WORK_QUEUES [MESSAGES]]
//
// Both in one run on one broker, which shares the machine: the ratio says more than the figures.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "support/client.h"
#include "support/process.h"

namespace {

using namespace retryd::test;

const std::string error_queue = "bench.errors";
const std::string catch_all = "bench.parked";
const std::vector<std::string> delays{"10m", "20m", "30m", "40m", "50m"};
constexpr milliseconds long_enough{600'000};

struct Way {
    std::string name;  // of the value of `return:`
    int work_queues;

    std::string work_queue(int n) const { return "bench." + name + "." + std::to_string(n); }
    std::string rung(int n, const std::string& delay) const {
        return name == "headers" ? "retryd.bench." + delay : work_queue(n) + ".retry." + delay;
    }
    std::vector<std::string> rungs() const {
        std::vector<std::string> all;
        for (int n = 0; n < (name == "headers" ? 1 : work_queues); ++n) {
            for (const std::string& delay : delays)
                all.push_back(rung(n, delay));
        }
        return all;
    }
};

struct Figures {
    std::size_t rungs = 0;
    milliseconds to_declared{};   // from the start until the last queue is there
    milliseconds to_consuming{};  // and until the error queue is consumed
    double rate = 0;              // messages a second
};

std::string write_config(const std::string& uri, const Way& way) {
    const std::string path = "/tmp/retryd-shared-ladder-" + std::to_string(getpid()) + ".yaml";
    std::ofstream file(path);
    file << "broker: {uri: \"" << uri << "\"}\n"
         << "errors: {exchange: bench.errors, queue: bench.errors}\n"
         << "ladders: {bench: {delays: [10m, 20m, 30m, 40m, 50m], return: " << way.name << "}}\n"
         << "parking: {queue: bench.parked.all, catch_all: " << catch_all << "}\n"
         << "queues:\n";
    for (int n = 0; n < way.work_queues; ++n)
        file << "  - {match: " << way.work_queue(n) << ", ladder: bench}\n";
    return path;
}

void clean_up(Client& client, const Way& way) {
    for (const std::string& rung : way.rungs()) {
        client.delete_queue(rung);
        client.delete_exchange(rung);
    }
    for (int n = 0; n < way.work_queues; ++n)
        client.delete_queue(way.work_queue(n));
    for (const auto* queue : {"bench.errors", "bench.parked", "bench.parked.all"})
        client.delete_queue(queue);
    for (const auto* exchange : {"bench.errors", "retryd.return"})
        client.delete_exchange(exchange);
}

std::size_t waiting(Client& client, const Way& way) {
    std::size_t total = 0;
    for (const std::string& rung : way.rungs()) {
        if (const auto state = client.look_at(rung)) total += state->messages;
    }
    return total;
}

/// As if each had been rejected in the next work queue, on the next step of the ladder.
void fill_error_queue(Client& client, const Way& way, int messages) {
    for (int i = 0; i < messages; ++i) {
        const std::string work = way.work_queue(i % way.work_queues);
        const Table death{{"count", int64(1)},       {"reason", longstr("rejected")},
                          {"queue", longstr(work)},  {"time", timestamp(1'700'000'000)},
                          {"exchange", longstr("")}, {"routing-keys", array({longstr(work)})}};
        // By which retryd knows that the attempts are its own.
        const Table rung{{"queue", longstr("retryd.shared.1s")}, {"reason", longstr("expired")}};
        const int attempts = i / way.work_queues % static_cast<int>(delays.size());
        client.send("", error_queue,
                    {.body = std::string(1024, 'x'),
                     .headers = {{"x-death", array({table(death), table(rung)})},
                                 {"retryd-queue", longstr(work)},
                                 {"retryd-attempt", int64(attempts)}}});
        if (i % 1000 == 999) client.await_confirms(long_enough);
    }
    client.await_confirms(long_enough);
}

void require(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
}

Figures measure(Client& client, const std::string& uri, const Way& way, int messages) {
    clean_up(client, way);
    for (int n = 0; n < way.work_queues; ++n)
        client.declare_queue(way.work_queue(n));
    const std::string config = write_config(uri, way);
    const std::vector<std::string> rungs = way.rungs();
    Figures figures;
    figures.rungs = rungs.size();
    const auto start = Clock::now();
    const Process daemon({RETRYD_BINARY, "run", "-c", config}, "/dev/null");
    const auto consuming = [&] {
        const auto state = client.look_at(error_queue);
        return state && state->consumers == 1;
    };
    require(await(consuming, long_enough, milliseconds(2)), "retryd does not consume");
    figures.to_consuming = since(start);
    // They are declared in this order.
    require(await([&] { return client.look_at(rungs.back()).has_value(); }, long_enough, milliseconds(2)),
            "retryd did not declare its rungs");
    figures.to_declared = since(start);
    daemon.signal(SIGSTOP);  // for less than its heartbeat
    fill_error_queue(client, way, messages);
    daemon.signal(SIGCONT);
    const auto going = Clock::now();
    const auto carried = [&] {
        return client.look_at(error_queue)->messages == 0 && waiting(client, way) == static_cast<std::size_t>(messages);
    };
    require(await(carried, long_enough, milliseconds(20)), "the messages did not arrive on the rungs");
    figures.rate = messages * 1000.0 / static_cast<double>(since(going).count());
    unlink(config.c_str());
    return figures;
}

template <typename Number>
void print_row(const std::string& name, Number per_queue, Number shared, const std::string& unit) {
    std::cout << std::left << std::setw(34) << name << std::right << std::setw(12) << per_queue << std::setw(12)
              << shared << "  " << unit << '\n';
}

void print(const Figures& own, const Figures& shared) {
    print_row<std::string>("", "own rungs", "shared", "");
    print_row("rungs", own.rungs, shared.rungs, "queues");
    print_row("start to consuming", own.to_consuming.count(), shared.to_consuming.count(), "ms");
    print_row("start to all declared", own.to_declared.count(), shared.to_declared.count(), "ms");
    print_row("carried, all declared", static_cast<long>(own.rate), static_cast<long>(shared.rate), "a second");
    std::cout << std::fixed << std::setprecision(2) << "shared / own rungs: rate " << shared.rate / own.rate << '\n';
}

}  // namespace

int main(int argc, char* argv[]) {
    const char* uri = std::getenv("RETRYD_TEST_AMQP_URI");
    if (uri == nullptr) {
        std::cerr << "RETRYD_TEST_AMQP_URI names no broker; start one: scripts/broker start 4.0 DIR, then . DIR/env\n";
        return 64;
    }
    const int work_queues = argc > 1 ? std::atoi(argv[1]) : 500;
    const int messages = argc > 2 ? std::atoi(argv[2]) : 20'000;
    Client client(parse_address(uri));
    std::cout << "RabbitMQ " << client.broker_version() << ", " << work_queues << " work queues, " << messages
              << " messages of 1 KiB\n";
    std::vector<Figures> both;
    for (const auto* name : {"queue", "headers"}) {
        const Way way{name, work_queues};
        both.push_back(measure(client, uri, way, messages));
        clean_up(client, way);
    }
    print(both[0], both[1]);
    return 0;
}
