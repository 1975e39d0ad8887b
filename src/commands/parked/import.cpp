#include "commands/parked/import.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amqp/error.h"
#include "amqp/refusal.h"
#include "amqp/timeouts.h"
#include "commands/common/broker.h"
#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "core/duration.h"
#include "core/message.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "system/clock.h"
#include "system/signals.h"

namespace retryd::commands {

namespace {

// A broker accepts no body above 512 MiB, which as base64 is two thirds of this.
constexpr std::size_t longest_line = std::size_t{1} << 30U;
constexpr std::size_t read_at_once = std::size_t{1} << 20U;

}  // namespace

ImportFile::ImportFile(std::string name) : name_(std::move(name)) {
    file_ = open(name_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status {};
    if (file_ < 0 || fstat(file_, &status) != 0) {
        fault_ = core::quoted(name_) + " cannot be read: " + std::strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
        fault_ = core::quoted(name_) + " is no regular file: it is read twice, which a folder or a pipe cannot be";
    }
}

ImportFile::~ImportFile() {
    if (file_ >= 0) close(file_);
}

void ImportFile::begin_again() {
    buffer_.clear();
    at_ = 0;
    lines_ = 0;
    ended_ = false;
    if (lseek(file_, 0, SEEK_SET) != 0) fault_ = core::quoted(name_) + " cannot be read: " + std::strerror(errno);
}

bool ImportFile::next(MessageLine& message, std::size_t skip) {
    while (next_line()) {
        if (lines_ <= skip || line_.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string fault = message.read(line_);
        if (fault.empty()) return true;
        fail_in_line(fault);
    }
    return false;
}

/// Never keeps more in memory than the longest line; a line that does not begin like a message is not read to its end.
bool ImportFile::next_line() {
    std::size_t looked_at = at_;
    while (fault_.empty()) {
        const std::size_t end = buffer_.find('\n', looked_at);
        const bool whole = end != std::string::npos;
        if (whole || ended_) {
            if (!whole && at_ == buffer_.size()) return false;
            line_ = std::string_view{buffer_}.substr(at_, whole ? end - at_ : std::string_view::npos);
            at_ = whole ? end + 1 : buffer_.size();
            ++lines_;
            return true;
        }
        const std::size_t length = buffer_.size() - at_;
        const bool other = length > read_at_once && buffer_[at_] != '{';
        if (other || length > longest_line) {
            ++lines_;
            fail_in_line(other ? "it is no message as retryd parked export writes it"
                               : "it is longer than any message");
            return false;
        }
        looked_at = length;
        if (!read_more()) return false;
    }
    return false;
}

/// Discards what was read before the current line.
bool ImportFile::read_more() {
    buffer_.erase(0, std::exchange(at_, 0));
    const std::size_t before = buffer_.size();
    buffer_.resize(before + read_at_once);
    ssize_t taken = -1;
    do {
        taken = read(file_, buffer_.data() + before, read_at_once);
    } while (taken < 0 && errno == EINTR);
    buffer_.resize(before + static_cast<std::size_t>(taken < 0 ? 0 : taken));
    if (taken < 0) fault_ = core::quoted(name_) + " cannot be read: " + std::strerror(errno);
    ended_ = taken == 0;
    return taken >= 0;
}

void ImportFile::fail_in_line(const std::string& what) {
    fault_ = core::quoted(name_) + ", line " + std::to_string(lines_) + ": " + what;
}

ImportMark::~ImportMark() {
    if (file_ >= 0) close(file_);
}

std::optional<std::size_t> ImportMark::left() const {
    std::ifstream file(name_);
    std::size_t lines = 0;
    if (!(file >> lines) || lines == 0) return std::nullopt;
    return lines;
}

void ImportMark::settled(std::size_t lines) {
    if (lines >= written_ + most_unwritten) write(lines);
}

void ImportMark::end(std::size_t lines) {
    if (lines == 0) return remove();
    if (lines != written_) write(lines);
}

void ImportMark::remove() {
    unlink(name_.c_str());
}

/// Always the same width, so that the number is replaced by a single write and never half written.
void ImportMark::write(std::size_t lines) {
    constexpr int mode_of_mark = 0600;
    if (!fault_.empty()) return;
    if (file_ < 0) file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode_of_mark);
    std::array<char, 32> text{};
    const int size = std::snprintf(text.data(), text.size(), "%020zu\n", lines);
    if (file_ < 0 || pwrite(file_, text.data(), static_cast<std::size_t>(size), 0) != size) {
        fault_ = core::quoted(name_) + " cannot be written: " + std::strerror(errno);
        return;
    }
    written_ = lines;
}

namespace {

constexpr core::Milliseconds patience_interrupted{10'000};

/// Removes from a message what would make the broker refuse, reroute, delete or lose it, and keeps it in headers, as on
/// a retry.
class SetAside {
  public:
    core::Message from(core::Message message, const std::string& connection_user) {
        core::Properties& properties = message.properties;
        fields_.clear();
        for (core::Field field : properties.header_table()) {
            if (field.name == "CC") field.name = core::header::cc;
            if (field.name == "BCC") field.name = core::header::bcc;
            if (field.name == core::delivery_time_annotation) field.name = core::header::delivery_time;
            if (field.name == core::deferral_token_annotation) field.name = core::header::deferral_token;
            fields_.push_back(field);
        }
        if (properties.user_id != connection_user) move(properties.user_id, core::header::user_id);
        move(properties.expiration, core::header::expiration);
        if (properties.reply_to == "amq.rabbitmq.reply-to") move(properties.reply_to, core::header::reply_to);
        properties.delivery_mode = 2;
        if (properties.headers || !fields_.empty()) properties.headers = core::Table{fields_.data(), fields_.size()};
        return message;
    }

  private:
    void move(std::optional<std::string_view>& property, std::string_view name) {
        if (!property) return;
        std::erase_if(fields_, [&](const core::Field& field) { return field.name == name; });
        fields_.push_back({name, core::Value::of_longstr(*property)});
        property.reset();
    }

    std::vector<core::Field> fields_;
};

}  // namespace

Importer::Importer(const config::Settings& settings, const BrokerIdentity& broker, const system::Signals& signals,
                   ImportFile& file, std::string to, std::size_t skip)
    : signals_(signals),
      file_(file),
      to_(std::move(to)),
      skip_(skip),
      user_(endpoint_of(settings, broker).username),
      writer_(endpoint_of(settings, broker), settings.broker, "retryd parked import") {}

void Importer::run(const Progress& progress) {
    try {
        work(progress);
    } catch (const amqp::Error& error) {
        why_ = std::string{error.what()} + "; " + amqp::remedy(error.kind());
    }
    unknown_ = in_flight_.size();
}

void Importer::work(const Progress& progress) {
    while (!ended_ || !in_flight_.empty()) {
        now_ = system::now().steady;
        if (given_up()) return;
        send_some();
        writer_.turn(*this);
        progress(imported_, writer_.blocked().empty() ? "" : "waiting: the broker takes no messages");
        if (!ended_ || !in_flight_.empty()) wait();
    }
}

std::size_t Importer::settled_lines() const {
    std::size_t line = file_.lines() + 1;
    if (pending_ || !file_.fault().empty()) line = file_.lines();
    if (!in_flight_.empty()) line = std::min(line, *in_flight_.begin());
    if (first_failed_) line = std::min(line, *first_failed_);
    return line - 1;
}

void Importer::end(const std::string& why) {
    if (why_.empty()) why_ = why;
    ended_ = true;
}

void Importer::end_at(std::size_t line, const std::string& why) {
    first_failed_ = std::min(line, first_failed_.value_or(line));
    end("the message of line " + std::to_string(line) + " " + why);
}

bool Importer::given_up() {
    if (signals_.pending() && !interrupted_at_) {
        interrupted_at_ = now_;
        end("interrupted");
    }
    if (interrupted_at_ && now_ - *interrupted_at_ >= patience_interrupted) return true;
    if (!writer_.closed().empty()) {
        end("the broker refused a message and closed the channel: " + writer_.closed());
        return true;
    }
    if (!confirms_are_late()) return false;
    end("the broker has not confirmed " + std::to_string(in_flight_.size()) + " messages for " +
        core::format_duration(amqp::confirm_timeout));
    return true;
}

bool Importer::confirms_are_late() {
    if (!writer_.blocked().empty()) unblocked_at_ = now_;
    const auto sent = unconfirmed_.oldest();
    if (!sent || now_ - std::max(*sent, unblocked_at_) < amqp::look_into_confirms_after) return false;
    return now_ - std::max(writer_.waits_since(*sent, now_), unblocked_at_) >= amqp::confirm_timeout;
}

void Importer::send_some() {
    SetAside set_aside;
    while (!ended_ && in_flight_.size() < most_in_flight) {
        if (!pending_) pending_ = file_.next(line_, skip_);
        if (!pending_) return end(file_.fault());
        if (!send(set_aside.from(line_.message(), user_))) return;
        pending_ = false;
    }
}

/// False: not sent yet.
bool Importer::send(const core::Message& message) {
    const std::string& queue = to_.empty() ? line_.queue() : to_;
    const auto result = writer_.publish({"", queue, message});
    if (result == relay::PublishResult::would_block) return false;
    if (result == relay::PublishResult::header_too_large) {
        end_at(file_.lines(),
               "has more properties and headers than this broker takes at once: it takes more with a larger frame_max");
        return true;
    }
    relay::Pending pending;
    pending.tag = file_.lines();
    pending.sent_at = now_;
    pending.published_as = relay::hash_of_address("", queue);
    unconfirmed_.add(std::move(pending));
    in_flight_.insert(file_.lines());
    return true;
}

void Importer::wait() {
    constexpr int longest = 100;
    const bool full = writer_.wants_room() || (pending_ && writer_.blocked().empty());
    std::array fds{pollfd{writer_.fd(), static_cast<short>(full ? POLLIN | POLLOUT : POLLIN), 0},
                   pollfd{interrupted_at_ ? -1 : signals_.fd(), POLLIN, 0}};
    poll(fds.data(), fds.size(), longest);
}

void Importer::on_confirm(relay::PublishSeq seq, bool multiple, bool acked) {
    answered_.clear();
    unconfirmed_.confirm(seq, multiple, answered_);
    for (const relay::Pending& pending : answered_) {
        const auto line = static_cast<std::size_t>(pending.tag);
        in_flight_.erase(line);
        if (!acked) {
            end_at(line, "was refused by its queue: is that full (x-max-length with reject-publish)?");
        } else if (pending.returned) {
            end_at(line, "could not be routed: its queue is gone");
        } else {
            ++imported_;
        }
    }
}

void Importer::on_returned(std::string_view exchange, std::string_view routing_key) {
    unconfirmed_.mark_returned(relay::hash_of_address(exchange, routing_key));
}

namespace {

/// The most messages that a repeated import sends twice: those in flight, and settled ones that the mark does not have
/// yet.
constexpr std::size_t most_that_come_twice = Importer::most_in_flight + ImportMark::most_unwritten;

/// What is in a file: the queues it needs, and what is wrong with it.
struct Contents {
    std::size_t messages = 0;
    std::map<std::string, std::size_t> by_queue;
    std::string fault;  // why nothing is imported; empty if it can be
};

/// Reads all of it before anything is imported: a wrong file must change nothing.
Contents contents_of(ImportFile& file, const ImportOptions& options, const system::Signals& signals) {
    constexpr std::size_t most_queues_named = 10'000;
    Contents contents;
    MessageLine line;
    while (contents.fault.empty() && file.next(line, options.skip.value_or(0))) {
        ++contents.messages;
        ++contents.by_queue[options.to.empty() ? line.queue() : options.to];
        if (contents.by_queue.size() > most_queues_named) contents.fault = "it names more than 10,000 queues";
        if (signals.pending()) contents.fault = "interrupted";
    }
    if (!file.fault().empty()) contents.fault = file.fault();
    const bool too_short = contents.fault.empty() && options.skip.value_or(0) > file.lines();
    if (too_short) contents.fault = "it has no more than " + counted(file.lines(), "line", "lines");
    return contents;
}

/// Why its messages cannot be sent to their queues; empty if they can.
std::string why_no_way(Broker& broker, const Contents& contents) {
    for (const auto& [queue, messages] : contents.by_queue) {
        const auto there = broker.carry_out(amqp::Declarer::CheckQueue{queue});
        if (there.result == amqp::Declarer::Result::done) continue;
        if (there.result == amqp::Declarer::Result::refused) return there.text;
        return "queue " + core::quoted(queue) + ", into which " +
               counted(messages, "message would go", "messages would go") +
               ", does not exist on this broker. Declare it, or name another one with --to QUEUE";
    }
    return "";
}

/// Why the user has to say where to begin; empty if not needed.
std::string ended_early(const ImportMark& mark, const ImportOptions& options) {
    const auto left = options.skip || options.dry_run ? std::nullopt : mark.left();
    if (!left) return "";
    const std::string lines = std::to_string(*left);
    return "an import of " + core::quoted(options.file) + " ended early, or is under way: all up to line " + lines +
           " is settled, as " + core::quoted(mark.name()) + " says. --skip " + lines + " goes on behind it (up to " +
           std::to_string(most_that_come_twice) + " messages may then come twice); --skip 0 begins again";
}

std::string nothing_imported(const std::string& why) {
    return why + ". Nothing was imported";
}

/// What to do after a run that ended early.
std::string how_to_go_on(const Importer& importer) {
    const std::size_t settled = importer.settled_lines();
    std::string text = settled == 0 ? "The same command begins again"
                                    : "All up to line " + std::to_string(settled) +
                                          " is settled: the same command with --skip " + std::to_string(settled) +
                                          " goes on behind it";
    if (importer.imported() + importer.unknown() > 0)
        text += ". Some messages of the next 500 lines may be in their queues already, and then come twice";
    return text;
}

Json json_of(const Contents& contents, std::size_t imported, const std::string& why, bool dry_run) {
    return {{"ok", why.empty()},
            {"dry_run", dry_run},
            {"messages", contents.messages},
            {"imported", imported},
            {"why", text_or_null(why)}};
}

void print_dry_run(const Contents& contents, const Report& output) {
    if (output.json()) return print_json(json_of(contents, 0, "", true), output.out());
    for (const auto& [queue, messages] : contents.by_queue)
        output.out() << counted(messages, "message", "messages") << " would go into " << core::safe_name(queue) << '\n';
    output.out() << counted(contents.messages, "message", "messages") << " would be imported; nothing was.\n";
}

void print_import(const Contents& contents, const Importer& importer, const Report& output) {
    if (output.json()) {
        Json object = json_of(contents, importer.imported(), importer.why(), false);
        object["outcome_unknown"] = importer.unknown();
        object["settled_lines"] = importer.settled_lines();
        return print_json(object, output.out());
    }
    output.out() << std::to_string(importer.imported()) << " of " << counted(contents.messages, "message", "messages")
                 << " imported.\n";
    if (importer.unknown() > 0)
        output.out() << "Of " << counted(importer.unknown(), "message", "messages") << " it is not known.\n";
    if (!importer.why().empty())
        output.out() << "Stopped: " << core::safe_line(importer.why()) << ". " << how_to_go_on(importer) << ".\n";
}

}  // namespace

int parked_import(const ReportOptions& report, const ImportOptions& options, std::ostream& out, std::ostream& err) {
    const Report output(report, out, err);
    return output.run([&](const config::Settings& settings) {
        const system::Signals signals{SIGINT, SIGTERM};
        ImportMark mark(options.file);
        const std::string early = ended_early(mark, options);
        if (!early.empty()) return output.fail(nothing_imported(early), exit_code::failed);
        ImportFile file(options.file);
        const Contents contents = contents_of(file, options, signals);
        if (!contents.fault.empty()) return output.fail(nothing_imported(contents.fault), exit_code::failed);
        auto broker = connect(settings, "retryd parked");
        const BrokerIdentity identity = broker->identity();
        const std::string no_way = why_no_way(*broker, contents);
        if (!no_way.empty()) return output.fail(nothing_imported(no_way), exit_code::failed);
        if (options.dry_run) {
            print_dry_run(contents, output);
            return exit_code::fine;
        }
        broker.reset();  // its heartbeats would not be served from here on
        file.begin_again();
        Importer importer(settings, identity, signals, file, options.to, options.skip.value_or(0));
        {
            ProgressBar bar(output.err(), standard_error_is_terminal(), contents.messages, "imported");
            importer.run([&](std::size_t imported, const std::string& note) {
                bar.show(imported, note);
                mark.settled(importer.settled_lines());
            });
        }
        if (importer.why().empty()) {
            mark.remove();
        } else {
            mark.end(importer.settled_lines());
        }
        if (!mark.fault().empty())
            output.err() << "retryd: " << core::safe_line(mark.fault())
                         << "; after a kill -9 nobody would know how far this import was\n";
        print_import(contents, importer, output);
        return importer.why().empty() ? exit_code::fine : exit_code::failed;
    });
}

}  // namespace retryd::commands
