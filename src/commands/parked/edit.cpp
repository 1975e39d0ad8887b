#include "commands/parked/edit.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "admin/edit.h"
#include "amqp/error.h"
#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/text.h"
#include "commands/parked/archive_file.h"
#include "commands/parked/browser.h"
#include "commands/parked/edit_text.h"
#include "commands/parked/message_line.h"
#include "commands/parked/parked_queues.h"
#include "commands/parked/replay_and_drop.h"
#include "core/safe_text.h"
#include "core/time.h"
#include "system/clock.h"
#include "system/signals.h"

namespace retryd::commands {

// ── The editor ──

namespace {

constexpr int edit_file_mode = 0600;  // only its owner may read bodies

std::string environment_text(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
}

/// The file with the edited text, in a folder of its own in $TMPDIR or /tmp that only its owner may read. Deleted with
/// the object unless it is to be kept.
class EditFile {
  public:
    EditFile();
    ~EditFile();
    EditFile(const EditFile&) = delete;
    EditFile& operator=(const EditFile&) = delete;

    void write(std::string_view text);
    std::string read();
    void keep(bool kept) { kept_ = kept; }

    const std::string& name() const { return name_; }
    /// Why it cannot be written or read; empty if it can.
    const std::string& fault() const { return fault_; }

  private:
    void fail(const std::string& what);

    std::string folder_;
    std::string name_;
    std::string fault_;
    bool kept_ = false;
};

EditFile::EditFile() {
    const std::string given = environment_text("TMPDIR");
    folder_ = (given.empty() ? "/tmp" : given) + "/retryd-edit-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) {
        fail("cannot be made");
        folder_.clear();
        return;
    }
    name_ = folder_ + "/message.txt";
}

/// Also deletes what the editor has left in the folder.
EditFile::~EditFile() {
    std::error_code ignored;
    if (!kept_ && !folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void EditFile::write(std::string_view text) {
    if (!fault_.empty()) return;
    const int file = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, edit_file_mode);
    if (file < 0) return fail("cannot be written");
    while (!text.empty() && fault_.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            fail("cannot be written");
        } else {
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    if (close(file) != 0 && fault_.empty()) fail("cannot be written");
}

std::string EditFile::read() {
    constexpr std::size_t most = std::size_t{1} << 30U;  // no broker accepts a body of that size
    const int file = open(name_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status {};
    std::string text;
    if (file < 0) {
        fail("cannot be read");
        return text;
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) fault_ = core::quoted(name_) + " is no file any more";
    std::array<char, 65'536> part{};
    while (fault_.empty()) {
        const ssize_t size = ::read(file, part.data(), part.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) fail("cannot be read");
        if (size <= 0) break;
        text.append(part.data(), static_cast<std::size_t>(size));
        if (text.size() > most) fault_ = core::quoted(name_) + " is larger than any message";
    }
    close(file);
    return text;
}

void EditFile::fail(const std::string& what) {
    fault_ = core::quoted(name_.empty() ? folder_ : name_) + " " + what + ": " + std::strerror(errno);
}

/// VISUAL, EDITOR, or vi: a shell command.
std::string editor_command() {
    for (const char* name : {"VISUAL", "EDITOR"}) {
        std::string command = environment_text(name);
        if (command.find_first_not_of(" \t") != std::string::npos) return command;
    }
    return "vi";
}

/// The editor gets default signal handling, as if a shell had started it, whatever we changed in ours.
std::optional<pid_t> start_editor(const std::string& command, const std::string& file) {
    // The shell ignores a Ctrl-C that is meant for the editor.
    std::string script = "trap : INT QUIT; " + command + " \"$@\"";
    std::string name = command;
    std::string argument = file;
    std::string shell = "sh";
    std::string option = "-c";
    std::array<char*, 6> arguments{shell.data(), option.data(), script.data(), name.data(), argument.data(), nullptr};
    sigset_t none{};
    sigset_t usual{};
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE})
        sigaddset(&usual, signal);
    posix_spawnattr_t attributes{};
    posix_spawn_file_actions_t streams{};
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&streams);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    // If standard output is redirected, the editor still has to be visible.
    if (isatty(STDOUT_FILENO) != 1) posix_spawn_file_actions_adddup2(&streams, STDERR_FILENO, STDOUT_FILENO);
    pid_t child = -1;
    const int error = posix_spawn(&child, "/bin/sh", &streams, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&streams);
    posix_spawnattr_destroy(&attributes);
    errno = error;
    return error == 0 ? std::optional{child} : std::nullopt;
}

std::string why_editor_ended(const std::string& command, int status) {
    constexpr int not_found = 127;
    constexpr int by_signal = 128;  // the shell's exit code for a signal
    const std::string editor = "the editor " + core::quoted(command);
    if (WIFSIGNALED(status)) return editor + " was ended by signal " + std::to_string(WTERMSIG(status));
    const int code = WEXITSTATUS(status);
    if (code == 0) return "";
    if (code > by_signal) return editor + " was ended by signal " + std::to_string(code - by_signal);
    if (code == not_found) return editor + " is not there: name another one in VISUAL or EDITOR";
    return editor + " ended with " + std::to_string(code);
}

struct EditorEnd {
    std::string why;           // why the editor failed; empty if it did not
    bool interrupted = false;  // retryd was interrupted: SIGTERM, SIGHUP
};

/// Runs the command with the file as its argument on this terminal, until it ends. Meanwhile SIGINT and SIGQUIT are
/// left to the editor; other signals of `signals` are passed on to it.
EditorEnd run_editor(const std::string& command, const std::string& file, const system::Signals& signals) {
    constexpr core::Milliseconds a_moment{50};
    const auto child = start_editor(command, file);
    if (!child) return {"no shell can be started for the editor: " + std::string{std::strerror(errno)}, false};
    EditorEnd end;
    int status = 0;
    for (pid_t ended = 0; ended != *child; ended = waitpid(*child, &status, WNOHANG)) {
        if (ended < 0 && errno != EINTR) return {"what became of the editor is not known", end.interrupted};
        const int signal = signals.wait(a_moment);
        if (signal == 0 || signal == SIGINT || signal == SIGQUIT) continue;
        end.interrupted = true;
        kill(*child, signal);
    }
    end.why = why_editor_ended(command, status);
    return end;
}

}  // namespace

// ── The edit ──

namespace {

constexpr const char* still_parked = ". The message is parked as it was";

/// user@host; with sudo, the person who called it.
std::string who() {
    const char* behind_sudo = std::getenv("SUDO_USER");  // NOLINT(concurrency-mt-unsafe)
    std::string user = geteuid() == 0 && behind_sudo != nullptr ? behind_sudo : "";
    if (user.empty()) {
        const passwd* entry = getpwuid(getuid());  // NOLINT(concurrency-mt-unsafe)
        user = entry == nullptr ? std::to_string(getuid()) : entry->pw_name;
    }
    std::array<char, HOST_NAME_MAX + 1> host{};
    return gethostname(host.data(), host.size() - 1) == 0 ? user + "@" + host.data() : user;
}

std::uint64_t seconds_now() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(system::wall_now().time_since_epoch()).count());
}

/// The result of the first look. The look has ended when the editor starts, because its connections would not be served
/// meanwhile.
struct Editable {
    std::optional<FoundMessage> message;
    std::string work_queue;  // the work queue that the message will go to
    std::string comments;
    std::string fault;
};

std::string comments_on(const FoundMessage& found, const admin::Parked& parked, const std::string& to,
                        core::WallTime now) {
    std::string text = "Parked in " + core::safe_name(found.from) + ", because " + or_unknown(parked.reason);
    if (parked.at) text += ", " + age(*parked.at, now) + " ago";
    if (parked.attempts > 0)
        text += ", after " + counted(static_cast<std::size_t>(parked.attempts), "attempt", "attempts");
    text += ".\nOnce it is saved and the editor has ended, it goes to " + core::safe_name(to) +
            ". Without a change nothing is done.\n";
    return text +
           "Headers of retryd's and of the broker's are not here: they stay as they are (retryd parked show has "
           "them).\n";
}

Editable find_editable(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                       const EditOptions& edit) {
    Foreground foreground(output.err());
    ParkingQueuesBrowser browser(settings, options, system::wall_now(), foreground.stop(), foreground);
    OneMessage one = find_one(browser, edit.number);
    Editable found{std::move(one.found), edit.to, "", std::move(one.fault)};
    if (!found.fault.empty()) return found;
    const core::Table headers = found.message->message().properties.header_table();
    const auto parked = admin::read_parked(headers, settings.policy.error_queue, browser.proof_keys());
    if (found.work_queue.empty()) found.work_queue = parked.queue;
    if (found.work_queue.empty()) {
        found.fault = "nobody knows which work queue the message comes from: --to QUEUE says where it is to go";
        return found;
    }
    found.fault =
        find_destinations(browser.broker(), settings, {found.work_queue}, {found.message->from}, !edit.to.empty())
            .fault;
    found.comments = comments_on(*found.message, parked, found.work_queue, browser.now());
    return found;
}

/// Checked before the person starts editing.
std::string why_no_archive(const std::string& file) {
    if (file.empty()) return "";
    const auto slash = file.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
    const bool there = access(file.c_str(), F_OK) == 0;
    if (access(there ? file.c_str() : folder.c_str(), W_OK) == 0) return "";
    return "the archive " + core::quoted(file) + " cannot be written: " + std::strerror(errno);
}

/// Opens the editor again and again until the file is a valid message, or the person gives up.
class Editing {
  public:
    enum class End { changed, unchanged, given_up };

    Editing(const core::Message& original, const std::string& comments, std::ostream& err)
        : original_(original), err_(err), text_(text_for_editor(original, comments)) {
        file_.write(text_);
    }

    End run() {
        const system::Signals signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        const std::string command = editor_command();
        while (file_.fault().empty()) {
            const EditorEnd editor = run_editor(command, file_.name(), signals);
            why_ = editor.interrupted ? "interrupted" : editor.why;
            if (!why_.empty()) return End::given_up;
            const std::string text = file_.read();
            if (!file_.fault().empty()) break;
            if (text == text_) return End::unchanged;
            std::string problem = read(text);
            if (problem.empty()) return fields_.empty() ? End::unchanged : End::changed;
            err_ << "retryd: what you have written is no message: " << core::safe_line(problem) << ".\n";
            if (!wants_to_go_on(signals)) {
                why_ = "given up";
                return End::given_up;
            }
        }
        why_ = file_.fault();
        return End::given_up;
    }

    const std::string& why() const { return why_; }
    const core::Message& message() const { return edited_.message(); }
    const std::vector<std::string>& fields() const { return fields_; }
    /// Keeps the file, so that the person's work is not lost.
    void keep(bool kept) { file_.keep(kept); }
    const std::string& file() const { return file_.name(); }

  private:
    std::string read(const std::string& text) {
        if (text.find_first_not_of(" \t\r\n") == std::string::npos) return "the file is empty";
        std::string problem = edited_.read(text);
        if (problem.empty()) fields_ = admin::changed_fields(original_, edited_.message());
        return problem;
    }

    bool wants_to_go_on(const system::Signals& signals) {
        err_ << "Edit it again? With n nothing is done. [Y/n] " << std::flush;
        std::array fds{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
        std::string answer;
        const bool answered = poll(fds.data(), fds.size(), -1) > 0 && fds[1].revents == 0 && getline(std::cin, answer);
        return answered && answer != "n" && answer != "no" && answer != "N";
    }

    const core::Message& original_;
    std::ostream& err_;
    EditFile file_;
    std::string text_;
    EditedText edited_;
    std::vector<std::string> fields_;
    std::string why_;
};

int report_unchanged(const Report& output) {
    if (output.json()) {
        print_json({{"ok", true}, {"dry_run", false}, {"selected", 1}, {"done", 0}}, output.out());
    } else {
        output.out() << "Nothing was changed in it, so nothing is done. The message is parked as it was.\n";
    }
    return exit_code::fine;
}

int send_edited(const Report& output, const config::Settings& settings, const ParkedOptions& options,
                const EditOptions& edit, const FoundMessage& found, const Editing& editing) {
    const std::string by = who();
    const admin::Edit stamp{seconds_now(), by, {editing.fields().begin(), editing.fields().end()}};
    admin::EditScratch scratch;
    const core::Message edited = admin::compose_edited(found.message(), editing.message(), stamp, scratch);
    ParkedOptions exactly;
    exactly.report = options.report;
    exactly.from = found.from;
    exactly.exactly = &found.message();
    exactly.despite_delivery_limit = options.despite_delivery_limit;
    ParkedRunOptions run;
    run.first = 1;
    run.to = edit.to;
    run.per_second = 0;
    run.stop_above.reset();
    const auto archive = [&]() -> std::string {
        if (edit.archive.empty()) return "";
        ArchiveFile file(edit.archive);
        file.add(exported_line(found.from, found.message()));
        file.sync();
        return file.fault().empty() ? "" : "the original could not be kept, so nothing was sent: " + file.fault();
    };
    return replay_edited(output, settings, exactly, run, {&edited, archive});
}

void tell_kept(const Editing& editing, const Report& output) {
    output.err() << "retryd: what you have written is kept in " << core::quoted(editing.file()) << '\n';
}

}  // namespace

int parked_edit(const ParkedOptions& options, const EditOptions& edit, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    return output.run([&](const config::Settings& settings) {
        if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)
            return output.fail(
                "parked edit opens an editor and needs a terminal for it, on standard input and standard "
                "error. Without one: retryd parked export, change the file, retryd parked import",
                exit_code::failed);
        const std::string no_archive = why_no_archive(edit.archive);
        if (!no_archive.empty()) return output.fail(no_archive, exit_code::failed);
        const Editable found = find_editable(output, settings, options, edit);
        if (!found.fault.empty()) return output.fail(found.fault, exit_code::failed);
        Editing editing(found.message->message(), found.comments, output.err());
        const Editing::End end = editing.run();
        if (end == Editing::End::unchanged) return report_unchanged(output);
        if (end == Editing::End::given_up)
            return output.fail(editing.why() + still_parked + "; nothing was done", exit_code::failed);
        editing.keep(true);  // until the message is sent, whatever ends the process
        int code = exit_code::failed;
        try {
            code = send_edited(output, settings, options, edit, *found.message, editing);
        } catch (const amqp::Error&) {
            tell_kept(editing, output);
            throw;
        }
        editing.keep(code != exit_code::fine);
        if (code != exit_code::fine) tell_kept(editing, output);
        return code;
    });
}

}  // namespace retryd::commands
