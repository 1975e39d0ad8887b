// The desk (http.admin): whoever knows the password can manage parked, waiting and held messages over HTTP. Here are
// the paths, who may ask for what, and the answers. What an action does is in the commands, which main hands in.
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
    /// The broker on which actions are carried out; nothing while no broker is connected.
    using Target = std::function<std::optional<BrokerTarget>()>;

    /// `log` must outlive it.
    Desk(DeskActions actions, telemetry::Log& log, Target target, DeskRuns::Hold hold = {});

    /// The settings from now on; null: no desk, and everybody is signed out.
    void configure(const std::optional<config::Http>& http);
    /// Whether anybody can sign in.
    bool there() const;
    /// For the HTTP server. The name of the cookie has the port in it: two daemons on one machine share the browser's
    /// cookies.
    http::WebApi api();

    DeskRuns& runs() { return *runs_; }

  private:
    struct Shared;

    std::shared_ptr<Shared> shared_;
    std::shared_ptr<DeskRuns> runs_;
};

}  // namespace retryd::daemon
