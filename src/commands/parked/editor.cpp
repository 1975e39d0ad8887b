#include "commands/parked/editor.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "core/safe_text.h"
#include "core/time.h"

namespace retryd::commands {

namespace {

constexpr int edit_file_mode = 0600;  // bodies are nobody else's business

std::string environment_text(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
}

}  // namespace

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

/// With what the editor has left beside it.
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
    constexpr std::size_t most = std::size_t{1} << 30U;  // no broker takes a body of that size
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

std::string editor_command() {
    for (const char* name : {"VISUAL", "EDITOR"}) {
        std::string command = environment_text(name);
        if (command.find_first_not_of(" \t") != std::string::npos) return command;
    }
    return "vi";
}

namespace {

/// Its signals are as those of any program that a shell starts, whatever we have made of ours.
std::optional<pid_t> start_editor(const std::string& command, const std::string& file) {
    // The shell outlives the Ctrl-C that its editor takes for itself.
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
    // Where the report goes elsewhere, the editor is still to be seen.
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
    constexpr int by_signal = 128;  // as a shell tells it
    const std::string editor = "the editor " + core::quoted(command);
    if (WIFSIGNALED(status)) return editor + " was ended by signal " + std::to_string(WTERMSIG(status));
    const int code = WEXITSTATUS(status);
    if (code == 0) return "";
    if (code > by_signal) return editor + " was ended by signal " + std::to_string(code - by_signal);
    if (code == not_found) return editor + " is not there: name another one in VISUAL or EDITOR";
    return editor + " ended with " + std::to_string(code);
}

}  // namespace

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

}  // namespace retryd::commands
