#include "stage.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "amqp/connection.h"
#include "interrupt.h"
#include "scenery.h"

namespace retryd::demo {
namespace {

using std::chrono::seconds;

constexpr seconds broker_patience{30};
/// RabbitMQ counts the messages of quorum queues anew every 5 seconds: until then a list shows what was there before.
constexpr seconds count_age{6};

/// Lines of a count, a tab and a queue's name.
bool none_left(const std::string& queues) {
    std::istringstream lines(queues);
    std::size_t messages = 0;
    std::string name;
    while (lines >> messages >> name) {
        if (messages > 0) return false;
    }
    return !name.empty();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

void Stage::set_up_application() {
    const auto connection = amqp::Connection::open(setting_.broker, config::Broker{}, "demo");
    screen_.say("RabbitMQ " + core::to_string(connection->version()) + " on " + setting_.broker.host + ":" +
                std::to_string(setting_.broker.port) + ", started for this demo alone. An application uses it:");
    connection->close(core::Milliseconds{1000});
    const std::string file = setting_.folder + "/application.json";
    write_file(file, application);
    // Not by rabbitmqctl's own reading of standard input: in 4.0.5 that never ends. So RabbitMQ's user opens the file.
    std::filesystem::permissions(file, std::filesystem::perms::others_read, std::filesystem::perm_options::add);
    ctl("import_definitions /dev/stdin", file);
    // The import goes on after the command has ended.
    await("the application's binding", [this] { return has(ctl("--silent list_bindings routing_key"), "email.#"); });
    screen_.blank();
    screen_.say("  producer --> exchange mail (topic) -- email.# --> queue email (quorum) --> consumer");
    screen_.blank();
    screen_.say("The consumer rejects what it cannot process (requeue=false). As things are, RabbitMQ then throws");
    screen_.say("the message away.");
}

void Stage::connect_retryd() {
    const std::string file = setting_.folder + "/retryd.yaml";
    write_file(file, configuration);
    screen_.say("One file. A rejected message is to wait 1, then 2, then 4 seconds, then be set aside:");
    screen_.command("cat retryd.yaml");
    screen_.quote(configuration);
    screen_.let_read();
    screen_.blank();
    screen_.command("retryd check -c retryd.yaml");
    if (chdir(setting_.folder.c_str()) != 0) throw std::runtime_error("cannot enter " + setting_.folder);
    screen_.quote(run({setting_.retryd, "check", "-c", "retryd.yaml"}, setting_.folder + "/output"));
    screen_.let_read();
    start_retryd();
    screen_.blank();
    screen_.say("And one policy. Producer, consumer and queue stay as they are:");
    screen_.command("rabbitmqctl " + policy);
    ctl(policy);
    show_queues();
}

void Stage::start_retryd() {
    screen_.blank();
    screen_.command("retryd run -c retryd.yaml");
    retryd_ =
        std::make_unique<Child>(std::vector<std::string>{setting_.retryd, "run", "-c", "retryd.yaml"}, log_path());
    await("retryd's word that it consumes", [this] { return has(retryds_log(), "consuming '"); });
    screen_.quote(retryds_log());
    show_status_page();
}

void Stage::show_status_page() {
    const std::string log = retryds_log();
    const std::size_t begin = log.find("http://");
    if (begin == std::string::npos) throw std::runtime_error("retryd does not say where its status page is");
    screen_.blank();
    screen_.say("While this runs, a browser shows what waits and what is parked:");
    screen_.say("  " + screen_.paint(Colour::bold, log.substr(begin, log.find_first_of(" ,\n", begin) - begin)));
}

void Stage::show(const std::string& arguments) {
    screen_.command("retryd " + arguments + " -c retryd.yaml");
    screen_.quote(run({"/bin/sh", "-c", "exec \"$0\" " + arguments + " -c retryd.yaml", setting_.retryd},
                      setting_.folder + "/output"));
}

std::unique_ptr<Child> Stage::begin_replay() {
    screen_.command("retryd " + replay + " -c retryd.yaml");
    return std::make_unique<Child>(
        std::vector<std::string>{"/bin/sh", "-c", "exec \"$0\" " + replay + " -c retryd.yaml", setting_.retryd},
        setting_.folder + "/replay");
}

void Stage::show_replay(int exit_code) {
    screen_.quote(read_file(setting_.folder + "/replay"));
    if (exit_code != 0) throw std::runtime_error("retryd " + replay + " ended with " + std::to_string(exit_code));
}

/// What retryd has declared, in rabbitmqctl's words.
void Stage::show_queues() {
    const std::string command = "--silent list_queues name | sort";
    std::string queues;
    await("the queue " + parking_queue, [&] { return has(queues = ctl(command), parking_queue); });
    screen_.blank();
    screen_.say("retryd has declared its queues: a rung for each delay, and those where messages are set aside.");
    screen_.command("rabbitmqctl " + command);
    screen_.quote(queues);
}

bool Stage::show_empty_queues() {
    const std::string command = "--silent list_queues messages name | sort";
    std::string queues;
    rest(count_age);
    const bool empty = comes_true([&] { return none_left(queues = ctl(command)); });
    screen_.command("rabbitmqctl " + command);
    screen_.quote(queues);
    return empty;
}

void Stage::await(const std::string& what, const std::function<bool()>& condition) {
    if (!comes_true(condition)) throw std::runtime_error("waited in vain for " + what);
}

bool Stage::comes_true(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + broker_patience;
    while (!condition()) {
        if (retryd_) require_retryd();
        if (std::chrono::steady_clock::now() > deadline) return false;
        rest(std::chrono::milliseconds{50});
    }
    return true;
}

void Stage::require_retryd() {
    if (const auto code = retryd_->exit_code()) {
        throw std::runtime_error("retryd has ended by itself, with exit code " + std::to_string(*code));
    }
}

int Stage::dismiss_retryd() {
    retryd_->signal(SIGTERM);
    const auto code = retryd_->wait(seconds{20});
    if (!code) throw std::runtime_error("retryd still runs 20 s after SIGTERM; its shutdown_timeout is 10 s");
    return *code;
}

std::string Stage::ctl(const std::string& arguments, const std::string& input) {
    return run({"/bin/sh", "-c", setting_.ctl + " " + arguments}, setting_.folder + "/output", input);
}

}  // namespace retryd::demo
