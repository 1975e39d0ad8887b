// `retryd status`: what waits on each rung, what is parked, and what the daemon tells of itself.
#pragma once

#include <csignal>
#include <iosfwd>
#include <string>

#include "commands/common/report.h"
#include "core/time.h"

namespace retryd::commands {

/// Changes nothing. Returns 0, 1 where the broker cannot be reached, 78 on a wrong configuration. With `json`, `out`
/// has one object in every case.
int status(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Again every two seconds until SIGINT or SIGTERM, and then 0; on a terminal in place. Goes on through losses of the
/// connection, and tells of them; only where it cannot be made at the start it returns 1. With `json` each object has
/// a line of its own.
int watch_status(const ReportOptions& options, std::ostream& out, std::ostream& err);

// What it takes to show something again and again: a screen that is redrawn in place, and an end by a signal.

inline constexpr core::Milliseconds between_looks{2'000};

/// The time of day, UTC: `2026-01-31 03:04:05Z`.
std::string now();

/// In place: on the terminal's alternate screen, and the usual one is back when this ends. Else one text after the
/// other.
class Screen {
  public:
    Screen(bool in_place, std::ostream& out);
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    void show(const std::string& text);

  private:
    bool in_place_;
    std::ostream& out_;
};

/// What redraws a screen of that height without flicker: lines that do not fit are counted instead.
std::string redrawn(const std::string& text, std::size_t height);

}  // namespace retryd::commands
