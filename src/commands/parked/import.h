// `retryd parked import`: the messages of a file into their queues, exact (commands/parked/message_line.h). Each counts
// once the broker has confirmed it.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/queue_io.h"
#include "commands/common/broker.h"
#include "commands/parked/browser.h"
#include "commands/parked/message_line.h"
#include "config/settings.h"
#include "core/time.h"
#include "relay/in_flight.h"
#include "system/signals.h"

namespace retryd::commands {

/// The file, line by line. Empty lines count, and mean nothing.
class ImportFile {
  public:
    explicit ImportFile(std::string name);
    ~ImportFile();
    ImportFile(const ImportFile&) = delete;
    ImportFile& operator=(const ImportFile&) = delete;

    /// The next line that has a message behind the first `skip` lines. False: there is none, or there is a fault.
    bool next(MessageLine& message, std::size_t skip);
    void begin_again();

    /// That were read.
    std::size_t lines() const { return lines_; }
    /// What is wrong with the file, and in which line; empty where nothing is.
    const std::string& fault() const { return fault_; }

  private:
    bool next_line();
    bool read_more();
    void fail_in_line(const std::string& what);

    std::string name_;
    std::string fault_;
    std::string buffer_;
    std::size_t at_ = 0;     // in the buffer
    std::string_view line_;  // in the buffer
    std::size_t lines_ = 0;
    int file_ = -1;
    bool ended_ = false;
};

/// How far an import is, in a file beside the one that is imported: FILE.imported. It is there while an import is under
/// way and after one that ended early, also one that was killed; who imports that file again is told.
class ImportMark {
  public:
    explicit ImportMark(const std::string& imported_file) : name_(imported_file + ".imported") {}
    ~ImportMark();
    ImportMark(const ImportMark&) = delete;
    ImportMark& operator=(const ImportMark&) = delete;

    const std::string& name() const { return name_; }
    /// All up to this line was settled when an earlier import ended early; nothing where none did.
    std::optional<std::size_t> left() const;

    /// All up to this line is settled. Written down whenever it is most_unwritten lines more.
    void settled(std::size_t lines);
    /// The import ends here.
    void end(std::size_t lines);
    /// All is imported: there is nothing to go on with.
    void remove();
    /// Why nothing can be written there; empty where it can.
    const std::string& fault() const { return fault_; }

    static constexpr std::size_t most_unwritten = 500;

  private:
    void write(std::size_t lines);

    std::string name_;
    std::string fault_;
    std::size_t written_ = 0;
    int file_ = -1;
};

/// Imports one file, once. It ends at the first message that does not get into its queue: whoever repeats it behind the
/// lines that are settled leaves none out.
class Importer : private amqp::ConfirmSink {
  public:
    /// With how many messages are confirmed, and what keeps the broker from taking more.
    using Progress = std::function<void(std::size_t imported, const std::string& note)>;

    /// Keeps references to its arguments. `to`: all go there; empty: each where it was parked. `skip`: lines to leave
    /// out. Throws amqp::Error.
    Importer(const config::Settings& settings, const BrokerIdentity& broker, const system::Signals& signals,
             ImportFile& file, std::string to, std::size_t skip);

    void run(const Progress& progress);

    static constexpr std::size_t most_in_flight = 500;

    /// Messages that the broker has confirmed.
    std::size_t imported() const { return imported_; }
    /// Whether they got in is not known.
    std::size_t unknown() const { return unknown_; }
    /// All messages of these lines are in their queues.
    std::size_t settled_lines() const;
    /// Why it ended before the file did; empty where it did not.
    const std::string& why() const { return why_; }

  private:
    void work(const Progress& progress);
    void end(const std::string& why);
    void end_at(std::size_t line, const std::string& why);
    bool given_up();
    bool confirms_are_late();
    void send_some();
    bool send(const core::Message& message);
    void wait();

    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) override;
    void on_returned(std::string_view exchange, std::string_view routing_key) override;

    const system::Signals& signals_;
    ImportFile& file_;
    std::string to_;
    std::size_t skip_;
    std::string user_;
    amqp::QueueWriter writer_;
    MessageLine line_;
    bool pending_ = false;  // line_ is not sent yet
    bool ended_ = false;    // no more are sent
    relay::Unconfirmed unconfirmed_;
    std::set<std::size_t> in_flight_;  // their lines
    std::optional<std::size_t> first_failed_;
    std::vector<relay::Pending> answered_;
    std::size_t imported_ = 0;
    std::size_t unknown_ = 0;
    core::SteadyTime now_{};
    core::SteadyTime unblocked_at_{};
    std::optional<core::SteadyTime> interrupted_at_;
    std::string why_;
};

struct ImportOptions {
    std::string file;
    std::string to;                   // empty: each into the queue that it was parked in
    std::optional<std::size_t> skip;  // lines that were imported before
    bool dry_run = false;
};

/// Reads all of the file before it sends any of it: a wrong one changes nothing. Returns 0 when the broker has
/// confirmed every message; 1 where some are not in their queues, or it cannot be reached, or an earlier import of the
/// file ended early and `skip` does not say where to go on; 78 wrong configuration.
int parked_import(const ReportOptions& report, const ImportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
