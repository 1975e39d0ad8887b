// retryd-demo: what becomes of a message that a consumer rejects? Shown on a real RabbitMQ, and checked: the exit code
// is 0 only if every message took the way that retryd promises. `./demo` prepares what it needs and runs it.
#include <exception>
#include <iostream>

#include "act.h"
#include "chronicle.h"
#include "interrupt.h"
#include "report.h"
#include "screen.h"
#include "setting.h"
#include "stage.h"

namespace retryd::demo {
namespace {

void show_what_became(const Chronicle& chronicle, const Screen& screen) {
    screen.chapter("4  What became of them");
    print_ways(chronicle, screen);
    screen.let_read();
}

void replay_parked(Act& act, Stage& stage, Chronicle& chronicle, const Screen& screen) {
    screen.chapter("5  One is parked: a person looks at it");
    act.leave_the_parked();
    stage.show("parked list");
    screen.let_read();
    screen.blank();
    stage.show("parked show --queue email");
    screen.let_read();
    screen.chapter("6  The bug is fixed, the message goes back");
    if (!act.mend_and_replay()) chronicle.complain("the parked message did not come home in time");
    screen.blank();
}

void play_traffic(const Setting& setting, Stage& stage, Chronicle& chronicle, const Screen& screen) {
    screen.chapter("3  Eight mails, and a consumer that has its troubles");
    screen.say("Time runs from the first mail. A wait is measured at the consumer: from its rejection to the next");
    screen.say("delivery. Which rung a mail comes from, and which attempt it was, stands in its headers.");
    screen.blank();
    Act act(setting, stage, chronicle);
    act.send_and_climb();
    screen.let_read();
    show_what_became(chronicle, screen);
    replay_parked(act, stage, chronicle, screen);
}

bool play(Stage& stage, const Setting& setting, const Screen& screen) {
    screen.title("retryd: what becomes of a message that a consumer rejects?");
    screen.chapter("1  RabbitMQ and an application");
    stage.set_up_application();
    screen.let_read();
    screen.chapter("2  retryd is put beside it");
    stage.connect_retryd();
    screen.let_read();
    Chronicle chronicle(screen);
    play_traffic(setting, stage, chronicle, screen);
    screen.say("What RabbitMQ counts in the queues now:");
    if (!stage.show_empty_queues()) chronicle.complain("messages are left in these queues");
    screen.blank();
    const int exit_code = stage.dismiss_retryd();
    screen.say("retryd gets SIGTERM and ends with exit code " + std::to_string(exit_code) + ".");
    return print_verdict(chronicle, exit_code, screen);
}

void show_log(const Stage& stage, const Screen& screen) {
    const std::string log = stage.retryds_log();
    if (log.empty()) return;
    screen.say("What retryd wrote:");
    screen.quote(log);
}

int perform() {
    const Setting setting = read_setting();
    const Screen screen;
    Stage stage(setting, screen);
    try {
        if (play(stage, setting, screen)) return 0;
    } catch (const std::exception& error) {
        screen.complaint(error.what());
    }
    show_log(stage, screen);
    return 1;
}

}  // namespace
}  // namespace retryd::demo

int main() {
    retryd::demo::watch_for_interrupt();
    try {
        return retryd::demo::perform();
    } catch (const retryd::demo::Interrupted& interrupted) {
        std::cerr << "retryd-demo: interrupted\n";
        return 128 + interrupted.signal;
    } catch (const std::exception& error) {
        std::cerr << "retryd-demo: " << error.what() << '\n';
        return 1;
    }
}
