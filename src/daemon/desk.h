// The desk (http.admin): parked, waiting and held messages are managed over HTTP by whoever knows the password. Which
// paths there are, who may ask for what, and what is answered. What the actions do, the commands know: main hands them
// in.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/desk_task.h"
#include "config/settings.h"
#include "core/time.h"
#include "daemon/desk_gate.h"
#include "daemon/desk_runs.h"
#include "http/web_server.h"
#include "telemetry/log.h"

namespace retryd::daemon {

class Desk {
  public:
    /// Of whom the actions are carried out; nothing where no broker is connected.
    using Target = std::function<std::optional<BrokerTarget>()>;

    /// `log` must outlive it.
    Desk(DeskActions actions, telemetry::Log& log, Target target, DeskRuns::Hold hold = {});

    /// What is in effect from now on; null: none, and whoever is signed in is so no more.
    void configure(const std::optional<config::Http>& http);
    /// Whether anybody can sign in.
    bool there() const;
    /// For the server that listens on that port, or is about to: two daemons on one machine have the same cookies.
    http::WebApi api();

    DeskRuns& runs() { return *runs_; }

  private:
    struct Shared;

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<DeskRuns> runs_;
};

}  // namespace retryd::daemon
