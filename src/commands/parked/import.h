// `retryd parked import`: puts the messages of a file back into their queues, without loss
// (commands/parked/message_line.h). A message counts once the broker has confirmed it.
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

/// Reads the file line by line. Empty lines are counted and skipped.
class ImportFile {
  public:
    explicit ImportFile(std::string name);
    ~ImportFile();
    ImportFile(const ImportFile&) = delete;
    ImportFile& operator=(const ImportFile&) = delete;

    /// Reads the next message after the first `skip` lines. False: there is none, or there is a fault.
    bool next(MessageLine& message, std::size_t skip);
    void begin_again();

    /// The number of lines read.
    std::size_t lines() const { return lines_; }
    /// What is wrong with the file, and in which line; empty if nothing is.
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

/// Records the progress of an import in the file FILE.imported. It exists while an import is running and after one that
/// ended early or was killed; then the next import of that file says so.
class ImportMark {
  public:
    explicit ImportMark(const std::string& imported_file) : name_(imported_file + ".imported") {}
    ~ImportMark();
    ImportMark(const ImportMark&) = delete;
    ImportMark& operator=(const ImportMark&) = delete;

    const std::string& name() const { return name_; }
    /// The line up to which everything was settled when an earlier import ended early; nothing if none did.
    std::optional<std::size_t> left() const;

    /// Everything up to this line is settled. Written whenever it is most_unwritten lines further.
    void settled(std::size_t lines);
    /// The import has ended here.
    void end(std::size_t lines);
    /// Everything is imported: deletes the record.
    void remove();
    /// Why it cannot be written; empty if it can.
    const std::string& fault() const { return fault_; }

    static constexpr std::size_t most_unwritten = 500;

  private:
    void write(std::size_t lines);

    std::string name_;
    std::string fault_;
    std::size_t written_ = 0;
    int file_ = -1;
};

/// Imports one file once. It ends at the first message that does not get into its queue, so repeating it after the
/// settled lines leaves none out.
class Importer : private amqp::ConfirmSink {
  public:
    /// Called with the number of confirmed messages, and why the broker is blocked, if it is.
    using Progress = std::function<void(std::size_t imported, const std::string& note)>;

    /// Keeps references to its arguments. `to`: the queue for all messages; empty: each goes where it was parked.
    /// `skip`: lines to leave out. Throws amqp::Error.
    Importer(const config::Settings& settings, const BrokerIdentity& broker, const system::Signals& signals,
             ImportFile& file, std::string to, std::size_t skip);

    void run(const Progress& progress);

    static constexpr std::size_t most_in_flight = 500;

    /// Messages that the broker has confirmed.
    std::size_t imported() const { return imported_; }
    /// Messages that may or may not be in their queue.
    std::size_t unknown() const { return unknown_; }
    /// The messages of the first so many lines are all in their queues.
    std::size_t settled_lines() const;
    /// Why it ended before the end of the file; empty if it did not.
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
    bool ended_ = false;    // nothing more is sent
    relay::Unconfirmed unconfirmed_;
    std::set<std::size_t> in_flight_;  // the lines of messages in flight
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
    std::string to;                   // empty: each message to the queue that it was parked in
    std::optional<std::size_t> skip;  // lines that were imported before
    bool dry_run = false;
};

/// Reads the whole file before it sends anything: a wrong file changes nothing. Returns 0 if the broker has confirmed
/// every message; 1 if some are not in their queues, the broker cannot be reached, or an earlier import of the file
/// ended early and `skip` does not say where to continue; 78 for a wrong configuration.
int parked_import(const ReportOptions& report, const ImportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
