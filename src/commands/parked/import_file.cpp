#include "commands/parked/import_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/safe_text.h"

namespace retryd::commands {

namespace {

// A broker takes no body above 512 MiB, which is two thirds of this as base64.
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

/// Whatever the file is, no more of it is in memory than a line may be long: one that does not begin as a message does
/// is not read to its end.
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

/// What was read before the line goes.
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

}  // namespace retryd::commands
