#include "commands/parked/export_and_import.h"

#include <sys/types.h>

#include <csignal>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "commands/common/broker.h"
#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/parked/export_file.h"
#include "commands/parked/import_file.h"
#include "commands/parked/import_mark.h"
#include "commands/parked/importer.h"
#include "commands/parked/message_line.h"
#include "core/safe_text.h"
#include "system/clock.h"
#include "system/signals.h"

namespace retryd::commands {

namespace {

/// One look after the other, each queue's messages in their order.
class Exporter {
  public:
    Exporter(const ExportOptions& options, ExportFile& file) : options_(options), file_(file) {}

    bool visit(const std::string& from, const core::Delivery& delivery, std::size_t number) {
        cut_to(number - 1);
        if (from != from_) {
            from_ = from;
            begins_at_ = file_.size();
            before_ = last_;
        }
        last_ = number;
        file_.add(exported_line(from, delivery.message));
        return file_.fault().empty() && (!options_.first || number < *options_.first);
    }

    /// Fewer than there are: the look at the last queue has begun anew, and what it saw before does not count.
    void cut_to(std::size_t messages) {
        if (messages >= last_) return;
        file_.cut_to(begins_at_);
        last_ = before_;
    }

  private:
    const ExportOptions& options_;
    ExportFile& file_;
    std::string from_;
    off_t begins_at_ = 0;     // in the file, that queue
    std::size_t before_ = 0;  // messages of the queues before it
    std::size_t last_ = 0;    // messages in the file
};

std::string what_stays(const std::string& why) {
    return "nothing was exported: " + why + ". All messages are still parked; the same command begins anew";
}

/// Where nothing could be looked at, no file says that there was nothing.
bool is_worth_a_file(const ParkedOverview& overview) {
    return overview.complete() || overview.selected() > 0;
}

std::string headline(const ParkedOverview& overview, const std::string& file) {
    if (!is_worth_a_file(overview)) return "Nothing was exported:\n";
    return counted(overview.selected(), "message", "messages") + " exported to " + core::safe_name(file) +
           (overview.complete() ? ".\n" : ", but not all that is selected:\n");
}

void print_export(const ParkedOverview& overview, const std::string& file, const Report& output) {
    if (output.json()) {
        return print_json({{"ok", overview.complete()},
                           {"file", is_worth_a_file(overview) ? Json(file) : Json()},
                           {"exported", overview.selected()},
                           {"undeliverable_left", overview.undeliverable_selected()},
                           {"queues", json_of(overview)},
                           {"not_seen", overview.notes}},
                          output.out());
    }
    output.out() << headline(overview, file);
    for (const ParkingQueueOverview& queue : overview.queues) {
        if (!queue.fault.empty()) output.out() << core::safe_line(queue.fault) << '\n';
        if (queue.held_selected && queue.undeliverable() > 0)
            output.out() << counted(queue.undeliverable(), "message", "messages") << " in "
                         << core::safe_name(queue.name)
                         << " cannot be exported: RabbitMQ cannot hand them over by AMQP 0-9-1\n";
    }
    for (const std::string& note : overview.notes)
        output.out() << "Not seen: " << core::safe_line(note) << ".\n";
    if (overview.selected() > 0)
        output.out() << "They are still parked. A drop with the same selection also deletes what is parked from now "
                        "on;\n--older-than, with more than the time since this export began, keeps it from that.\n";
}

}  // namespace

int parked_export(const ParkedOptions& options, const ExportOptions& file, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    return output.run([&](const config::Settings& settings) {
        // The file last: now a signal no longer ends the process, and leaves no part of a file.
        Foreground foreground(output.err());
        ParkedBrowser browser(settings, options, system::wall_now(), foreground.stop(), foreground);
        ExportFile target(file.file);
        if (!target.fault().empty()) return output.fail(target.fault(), exit_code::failed);
        Exporter exporter(file, target);
        const ParkedOverview overview =
            browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t number) {
                return exporter.visit(from, delivery, number);
            });
        if (!overview.fault.empty()) return output.fail(overview.fault, exit_code::failed);
        if (overview.interrupted) return output.fail(what_stays("interrupted"), exit_code::failed);
        exporter.cut_to(overview.selected());
        if (is_worth_a_file(overview)) target.finish();
        if (!target.fault().empty()) return output.fail(what_stays(target.fault()), exit_code::failed);
        print_export(overview, file.file, output);
        const bool all = overview.complete() && overview.undeliverable_selected() == 0;
        return all ? exit_code::fine : exit_code::failed;
    });
}

namespace {

/// Those in flight, and those of which the mark does not know yet that they are settled.
constexpr std::size_t most_that_come_twice = Importer::most_in_flight + ImportMark::most_unwritten;

/// What a file asks for.
struct Contents {
    std::size_t messages = 0;
    std::map<std::string, std::size_t> by_queue;
    std::string fault;  // why nothing of it is imported
};

/// All of it, before anything is imported: a wrong file is to change nothing.
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

/// Why its messages cannot go where they are to go; empty where they can.
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

/// Why it has to be told where to begin; empty where it need not be.
std::string ended_early(const ImportMark& mark, const ImportOptions& options) {
    const auto left = options.skip || options.dry_run ? std::nullopt : mark.left();
    if (!left) return "";
    const std::string lines = std::to_string(*left);
    return "an import of " + core::quoted(options.file) + " ended early, or is under way: all up to line " + lines +
           " is settled, as " + core::quoted(mark.name()) + " says. --skip " + lines + " goes on behind it (up to " +
           std::to_string(most_that_come_twice) + " messages may then come twice); --skip 0 begins anew";
}

std::string nothing_imported(const std::string& why) {
    return why + ". Nothing was imported";
}

/// What a run that ended early is to be told about.
std::string how_to_go_on(const Importer& importer) {
    const std::size_t settled = importer.settled_lines();
    std::string text = settled == 0 ? "The same command begins anew"
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
        broker.reset();  // nobody would serve its heartbeats
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
