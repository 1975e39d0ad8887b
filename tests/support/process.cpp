#include "support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace retryd::test {

namespace {

[[noreturn]] void become(std::vector<char*> arguments, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that dies takes its daemon along
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::string& output_file) {
    std::vector<char*> arguments;
    for (const std::string& argument : command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const int output = ::open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (output < 0) throw std::runtime_error("cannot write " + output_file);
    pid_ = ::fork();
    if (pid_ == 0) become(arguments, output);
    ::close(output);
    if (pid_ < 0) throw std::runtime_error("cannot fork");
}

Process::~Process() {
    if (exit_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
    if (!exit_) ::kill(pid_, number);
}

bool Process::running() {
    if (exit_) return false;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
}

std::optional<int> Process::wait(milliseconds within) {
    await([&] { return !running(); }, within);
    return exit_;
}

}  // namespace retryd::test
