// The log: one line for each event, on standard error.
//
// It may contain names of queues and exchanges, the broker's texts, and numbers; never a body, a header's value or a
// credential.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "config/settings.h"

namespace retryd::telemetry {

/// A detail of an event. Only the JSON format shows it, under a stable name; the text format has it in the message.
struct LogField {
    std::string_view name;
    std::variant<std::string, std::int64_t> value;
};

class Log {
  public:
    enum class Sink {
        plain,    // lines begin with time and level
        journal,  // lines begin with `<priority>` for journald, which adds the time
    };

    Log(const config::Log& settings, Sink sink);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// `event` is a stable name for machines (`connected`), `message` a sentence for people. The message passes through
    /// core::safe_line, and names in it must be core::quoted by the caller. Fields are given unchanged; unsafe
    /// characters in them become JSON escapes. Does not wait if standard error is not read: a line that does not fit
    /// into a full pipe is lost, and the next line is preceded by the number of lost ones.
    void write(config::LogLevel level, std::string_view event, std::string_view message,
               std::initializer_list<LogField> fields = {});

    /// Sets level and format. Thread-safe, like write().
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
