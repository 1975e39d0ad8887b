// The log: one line an event, on standard error.
//
// What may stand there: names of queues and exchanges, the broker's own words, numbers. Never a body, a header's value
// or a credential.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "config/settings.h"

namespace retryd::telemetry {

/// A detail of an event: shown only by the JSON format, where its name is stable. Text says it in the message.
struct LogField {
    std::string_view name;
    std::variant<std::string, std::int64_t> value;
};

class Log {
  public:
    enum class Sink {
        plain,    // each line begins with its time and level
        journal,  // each line begins with `<priority>`, as journald takes it; it has the time itself
    };

    Log(const config::Log& settings, Sink sink);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// `event` is a stable name for machines (`connected`), `message` a sentence for people. It passes
    /// core::safe_line on its way out; whoever composes it puts core::quoted names into it. Fields are given as they
    /// are; in JSON unsafe characters become escapes. Does not wait for whoever reads standard error: a
    /// line that does not fit into a full pipe is lost, and the next one that is written is preceded by how many were.
    void write(config::LogLevel level, std::string_view event, std::string_view message,
               std::initializer_list<LogField> fields = {});

    /// Level and format from now on. Thread-safe, like write().
    void configure(const config::Log& settings);

    bool enabled(config::LogLevel level) const;

  private:
    void put(config::LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields);

    struct Writer;
    std::unique_ptr<Writer> writer_;
};

/// `journal` if standard error is connected to the journal (systemd then sets JOURNAL_STREAM).
Log::Sink sink_of_standard_error();

/// The line without time, level or priority: for tests and for the Log itself.
std::string format_line(config::LogFormat format, config::LogLevel level, std::string_view event,
                        std::string_view message, std::initializer_list<LogField> fields);

}  // namespace retryd::telemetry
