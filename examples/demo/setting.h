// What `./demo` has prepared: a RabbitMQ of its own, a way to its rabbitmqctl, the built daemon.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "config/settings.h"

namespace retryd::demo {

struct Setting {
    config::Endpoint broker;
    std::string retryd;  // the path of the binary
    std::string ctl;     // a command prefix for sh -c, in the place of `rabbitmqctl`
    std::string folder;  // ours to write to
};

/// From RETRYD_DEMO_URI, RETRYD_DEMO_BINARY, RETRYD_CTL and RETRYD_DEMO_DIR. Throws std::runtime_error where one is
/// missing or wrong.
Setting read_setting();

// Names and numbers of the play.
inline const std::string mail_exchange = "mail";
inline const std::string work_queue = "email";
inline const std::string parking_queue = "email.parked";
inline const std::vector<core::Milliseconds> ladder{core::Milliseconds{1000}, core::Milliseconds{2000},
                                                    core::Milliseconds{4000}};

}  // namespace retryd::demo
