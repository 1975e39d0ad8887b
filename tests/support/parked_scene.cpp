#include "support/parked_scene.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/catch.h"
#include "support/failure_log.h"
#include "support/forged.h"
#include "support/proof.h"

namespace retryd::test {

ParkedScene::ParkedScene(bool shared) : output_file_(daemon.config_file() + ".out") {
    work = work_queue("work");
    parking = parking_of(work);
    if (shared) {
        share({work}, {"100ms"});
    } else {
        retry(work, {"100ms"});
    }
    config.management_url.clear();
    daemon.write(config.yaml());
    REQUIRE(run_retryd("apply -c " + daemon.config_file()).code != 1);
}

void ParkedScene::park(int messages) {
    for (int i = 0; i < messages; ++i)
        send_parked(std::to_string(i), {{"third", longstr(i % 3 == 0 ? "yes" : "no")}}, "attempts-exhausted");
    client.await_confirms();
    REQUIRE(await_depth(parking, static_cast<std::uint32_t>(messages)));
}

void ParkedScene::park_one(const std::string& body, const Table& headers, const std::string& reason) {
    send_parked(body, headers, reason);
    client.await_confirms();
}

void ParkedScene::send_parked(const std::string& body, const Table& headers, const std::string& reason) {
    const auto an_hour_ago = static_cast<std::uint64_t>(std::time(nullptr)) - 3'600;
    Message message{.body = body, .headers = headers, .properties = {.delivery_mode = 2}};
    for (const Field& field : Table{{"x-death", array({death_entry(work)})},
                                    {"retryd-queue", longstr(work)},
                                    {"retryd-attempt", int64(2)},
                                    {"retryd-reason", longstr("rejected")},
                                    {"retryd-first-death", timestamp(an_hour_ago - 600)},
                                    {"retryd-exchange", longstr("shop")},
                                    {"retryd-routing-key", longstr("order.paid")},
                                    {"retryd-parked-reason", longstr(reason)},
                                    {"retryd-parked-at", timestamp(an_hour_ago)}}) {
        message.headers.push_back(field);
    }
    message.headers = proven(std::move(message.headers), config);
    client.send("", parking, message);
}

CommandResult ParkedScene::parked(const std::string& arguments) {
    daemon.write(config.yaml());
    return run_retryd("parked " + arguments + " -c " + daemon.config_file());
}

std::unique_ptr<Process> ParkedScene::start_parked(const std::vector<std::string>& arguments) {
    std::filesystem::remove(output_file_);
    daemon.write(config.yaml());
    std::vector<std::string> command{retryd_binary(), "parked"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"-c", daemon.config_file()});
    return std::make_unique<Process>(command, output_file_);
}

std::string ParkedScene::output() const {
    std::ostringstream text;
    text << std::ifstream(output_file_).rdbuf();
    keep_for_failure("retryd parked", text.str());
    return text.str();
}

std::vector<std::string> ParkedScene::drain(const std::string& queue, std::size_t expected) {
    await([&] { return depth(queue) >= expected; });
    std::vector<std::string> found;
    while (const auto message = client.get(queue)) {
        found.push_back(message->body);
        client.ack(message->tag);
    }
    return found;
}

std::vector<std::string> bodies(int messages, bool third) {
    std::vector<std::string> wanted;
    for (int i = 0; i < messages; ++i) {
        if ((i % 3 == 0) == third) wanted.push_back(std::to_string(i));
    }
    return wanted;
}

}  // namespace retryd::test
