#include "child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "interrupt.h"

namespace retryd::demo {
namespace {

constexpr int cannot_be_run = 127;  // as a shell says it

[[noreturn]] void become(std::vector<char*>& arguments, int output, int input) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(cannot_be_run);
}

int open_file(const std::string& path, int flags) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    return fd;
}

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::string& output, const std::string& input) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& argument : command)
        arguments.push_back(const_cast<char*>(argument.c_str()));  // execv does not write to them
    arguments.push_back(nullptr);
    const int in = open_file(input, O_RDONLY);
    const int out = open_file(output, O_WRONLY | O_CREAT | O_APPEND);
    pid_ = fork();
    if (pid_ == 0) become(arguments, out, in);
    close(in);
    close(out);
    if (pid_ < 0) throw std::runtime_error("no new process could be made for " + command.front());
}

Child::~Child() {
    if (exit_code()) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void Child::signal(int number) const {
    if (!exit_code_) kill(pid_, number);
}

std::optional<int> Child::exit_code() {
    int status = 0;
    if (!exit_code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return exit_code_;
}

std::optional<int> Child::wait(std::chrono::milliseconds time) {
    const auto deadline = std::chrono::steady_clock::now() + time;
    while (!exit_code() && std::chrono::steady_clock::now() < deadline)
        rest(std::chrono::milliseconds{10});
    return exit_code();
}

std::string run(const std::vector<std::string>& command, const std::string& output, const std::string& input) {
    write_file(output, "");
    Child child(command, output, input);
    const auto code = child.wait(std::chrono::minutes{1});
    if (code == 0) return read_file(output);
    std::string line;
    for (const std::string& word : command)
        line += word + ' ';
    throw std::runtime_error(line + (code ? "failed with code " + std::to_string(*code) : "takes too long") + ": " +
                             read_file(output));
}

std::string read_file(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace retryd::demo
