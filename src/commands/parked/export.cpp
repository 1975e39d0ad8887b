#include "commands/parked/export.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <utility>

#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/parked/message_line.h"
#include "core/safe_text.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

constexpr int for_its_owner = 0600;  // only its owner may read bodies

bool is_there(const std::string& name) {
    struct stat status {};
    return lstat(name.c_str(), &status) == 0;
}

}  // namespace

ExportFile::ExportFile(std::string name) : name_(std::move(name)), part_(name_ + ".part") {
    if (is_there(name_)) {
        fault_ = core::quoted(name_) + " is there already: name a file that is not";
        return;
    }
    // Does not follow a link that another user has put there, and does not wait for a pipe.
    file_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, for_its_owner);
    if (file_ < 0) {
        fail("cannot be written");
    } else {
        own_part();
    }
}

ExportFile::~ExportFile() {
    if (owned_) unlink(part_.c_str());
    if (file_ >= 0) close(file_);
}

/// The part file may be left from a killed process, but it may also be in use by another one now, or be an unrelated
/// file.
void ExportFile::own_part() {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fault_ = core::quoted(part_) + " is written by another export at the moment: name another file";
        return;
    }
    struct stat opened {};
    struct stat named {};
    const bool same = fstat(file_, &opened) == 0 && lstat(part_.c_str(), &named) == 0 &&
                      opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
    if (!same || !S_ISREG(opened.st_mode) || opened.st_uid != geteuid() || opened.st_nlink != 1) {
        fault_ = core::quoted(part_) + ", as which it would be written first, is there and is not yours alone: " +
                 "remove it, or name another file";
        return;
    }
    owned_ = true;
    if (fchmod(file_, for_its_owner) != 0 || ftruncate(file_, 0) != 0) fail("cannot be written");
}

void ExportFile::add(const std::string& line) {
    constexpr std::size_t enough = std::size_t{1} << 20U;
    text_ += line;
    text_ += '\n';
    if (text_.size() >= enough) write_out();
}

off_t ExportFile::size() {
    write_out();
    return size_;
}

void ExportFile::cut_to(off_t size) {
    write_out();
    if (!fault_.empty()) return;
    size_ = size;
    if (ftruncate(file_, size) != 0 || lseek(file_, size, SEEK_SET) != size) fail("cannot be cut");
}

void ExportFile::finish() {
    write_out();
    if (fault_.empty() && fsync(file_) != 0) fail("cannot be written to the disk");
    if (fault_.empty()) take_name();
    if (fault_.empty()) keep_name();
}

void ExportFile::write_out() {
    std::size_t done = 0;
    while (done < text_.size() && fault_.empty()) {
        const ssize_t written = write(file_, text_.data() + done, text_.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            fail("cannot be written");
        } else {
            done += static_cast<std::size_t>(written);
        }
    }
    size_ += static_cast<off_t>(done);
    text_.clear();
}

/// Not every file system can rename without replacing a file that appeared meanwhile.
void ExportFile::take_name() {
    int result = renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
        errno = EEXIST;
        result = is_there(name_) ? -1 : rename(part_.c_str(), name_.c_str());
    }
    if (result != 0) return fail("cannot be given its name");
    owned_ = false;
}

/// Makes sure that the name also survives a loss of power. Not every file system can sync a folder.
void ExportFile::keep_name() {
    const std::string folder = std::filesystem::path(name_).parent_path().string();
    const int opened = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return;
    fsync(opened);
    close(opened);
}

void ExportFile::fail(const std::string& what) {
    fault_ = core::quoted(name_) + " " + what + ": " + std::strerror(errno);
}

namespace {

/// Writes the messages of one queue after the other, in order.
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

    /// Cuts the file back to so many messages: the look at the last queue has started over, and what it wrote before
    /// does not count.
    void cut_to(std::size_t messages) {
        if (messages >= last_) return;
        file_.cut_to(begins_at_);
        last_ = before_;
    }

  private:
    const ExportOptions& options_;
    ExportFile& file_;
    std::string from_;
    off_t begins_at_ = 0;     // where the messages of the current queue begin in the file
    std::size_t before_ = 0;  // messages of earlier queues
    std::size_t last_ = 0;    // messages in the file
};

std::string what_stays(const std::string& why) {
    return "nothing was exported: " + why + ". All messages are still parked; the same command begins again";
}

/// If nothing could be looked at, an empty file would wrongly say that there was nothing.
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
        if (queue.undeliverable_selected && queue.undeliverable() > 0)
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
        // The file is opened last: from here on a signal does not end the process and leave a partial file.
        Foreground foreground(output.err());
        ParkingQueuesBrowser browser(settings, options, system::wall_now(), foreground.stop(), foreground);
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

}  // namespace retryd::commands
