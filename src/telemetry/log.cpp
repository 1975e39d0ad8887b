#include "telemetry/log.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/safe_text.h"
#include "telemetry/safe_json.h"

namespace retryd::telemetry {
namespace {

spdlog::level::level_enum to_spdlog(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::debug:
            return spdlog::level::debug;
        case config::LogLevel::info:
            return spdlog::level::info;
        case config::LogLevel::warning:
            return spdlog::level::warn;
        case config::LogLevel::error:
            break;
    }
    return spdlog::level::err;
}

std::string_view name_of(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::debug:
            return "debug";
        case config::LogLevel::info:
            return "info";
        case config::LogLevel::warning:
            return "warning";
        case config::LogLevel::error:
            break;
    }
    return "error";
}

/// `<7>` … `<3>`: syslog's priorities, see sd-daemon(3).
class JournalPriority : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
        const std::string_view priority = message.level >= spdlog::level::err    ? "<3>"
                                          : message.level == spdlog::level::warn ? "<4>"
                                          : message.level == spdlog::level::info ? "<6>"
                                                                                 : "<7>";
        out.append(priority.data(), priority.data() + priority.size());
    }
    std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JournalPriority>(); }
};

std::unique_ptr<spdlog::formatter> formatter(config::LogFormat format, Log::Sink sink) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<JournalPriority>('*');
    const bool journal = sink == Log::Sink::journal;
    if (format == config::LogFormat::json) {
        // The line is already a JSON object; the time is inserted as its first member.
        formatter->set_pattern(journal ? R"(%*{"time":"%Y-%m-%dT%H:%M:%S.%e%z",%v)"
                                       : R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z",%v)");
    } else {
        formatter->set_pattern(journal ? "%*%v" : "%Y-%m-%dT%H:%M:%S.%e%z %-7l %v");
    }
    return formatter;
}

/// If a pipe is writable, it accepts 4 KiB at once (PIPE_BUF), which is more than a line.
bool takes_more() {
    pollfd standard_error{STDERR_FILENO, POLLOUT, 0};
    return poll(&standard_error, 1, 0) != 0;
}

std::string json_line(config::LogLevel level, std::string_view event, std::string_view message,
                      std::initializer_list<LogField> fields) {
    nlohmann::ordered_json line{{"level", name_of(level)}, {"event", event}, {"message", core::safe_line(message)}};
    for (const LogField& field : fields)
        std::visit([&](const auto& value) { line[std::string{field.name}] = value; }, field.value);
    return to_safe_json(std::move(line));
}

}  // namespace

std::string format_line(config::LogFormat format, config::LogLevel level, std::string_view event,
                        std::string_view message, std::initializer_list<LogField> fields) {
    return format == config::LogFormat::json ? json_line(level, event, message, fields) : core::safe_line(message);
}

struct Log::Writer {
    Sink sink;
    std::atomic<config::LogFormat> format;
    spdlog::logger logger;
    std::atomic<std::int64_t> lost{0};  // lines lost since the last one that was written
};

Log::Log(const config::Log& settings, Sink sink)
    : writer_(new Writer{sink, settings.format, {"retryd", std::make_shared<spdlog::sinks::stderr_sink_mt>()}}) {
    configure(settings);
}

void Log::configure(const config::Log& settings) {
    writer_->logger.set_formatter(formatter(settings.format, writer_->sink));
    writer_->format = settings.format;
    writer_->logger.set_level(to_spdlog(settings.level));
}

Log::~Log() = default;

bool Log::enabled(config::LogLevel level) const {
    return writer_->logger.should_log(to_spdlog(level));
}

void Log::write(config::LogLevel level, std::string_view event, std::string_view message,
                std::initializer_list<LogField> fields) {
    if (!enabled(level)) return;
    if (!takes_more()) {
        ++writer_->lost;
        return;
    }
    if (const std::int64_t lost = writer_->lost.exchange(0); lost > 0) {
        put(config::LogLevel::warning, "log_lost",
            std::to_string(lost) + " lines of this log are lost: nobody read standard error, and its pipe was full",
            {{"lines", lost}});
    }
    put(level, event, message, fields);
}

void Log::put(config::LogLevel level, std::string_view event, std::string_view message,
              std::initializer_list<LogField> fields) {
    const config::LogFormat format = writer_->format;
    std::string line = format_line(format, level, event, message, fields);
    if (format == config::LogFormat::json) line.erase(0, 1);  // the pattern opens the object
    writer_->logger.log(to_spdlog(level), line);
}

Log::Sink sink_of_standard_error() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat status {};
    if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) return Log::Sink::plain;
    // A child process may inherit the variable but have another standard error, so device and inode are compared.
    const std::string mine = std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
    return mine == stream ? Log::Sink::journal : Log::Sink::plain;
}

}  // namespace retryd::telemetry
