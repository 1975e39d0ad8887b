#include "commands/parked/archive_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "commands/parked/message_line.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

constexpr int archive_mode = 0600;  // only its owner may read bodies

constexpr std::array<std::string_view, 2> first_members{"{\"queue\":", "{\"queue_base64\":"};

off_t size_of(int file) {
    struct stat status {};
    return fstat(file, &status) == 0 ? status.st_size : -1;
}

/// Whether it is a regular file of this user: not a pipe, a device or a link.
bool is_file_of_ours(int file) {
    struct stat status {};
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

/// Whether a line begins as this program writes it. Nothing is cut off a file that another program wrote.
bool begins_a_message(std::string_view line) {
    return std::any_of(first_members.begin(), first_members.end(),
                       [&](std::string_view member) { return line.starts_with(member) || member.starts_with(line); });
}

}  // namespace

ArchiveFile::~ArchiveFile() {
    if (file_ >= 0) close(file_);
}

void ArchiveFile::add(const std::string& line) {
    text_ += line;
    text_ += '\n';
}

void ArchiveFile::sync() {
    if (text_.empty() || !fault_.empty()) return;
    if (file_ >= 0 && !is_there()) close(std::exchange(file_, -1));
    if (file_ < 0) open_it();
    if (!fault_.empty()) return;
    lock();
    if (!fault_.empty()) return;
    append();
    flock(file_, LOCK_UN);
}

/// Waits for the lock only for a while: otherwise the process that holds it would hold up this one, and with it the
/// broker.
void ArchiveFile::lock() {
    constexpr auto patience = std::chrono::seconds{5};
    constexpr auto try_again_after = std::chrono::milliseconds{5};
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= deadline) return fail("cannot be locked");
        std::this_thread::sleep_for(try_again_after);
    }
}

void ArchiveFile::open_it() {
    file_ = open(name_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, archive_mode);
    named_ = false;
    if (file_ < 0) return fail("cannot be written");
    if (!is_file_of_ours(file_)) fault_ = core::quoted(name_) + " is there and is no file of yours: name another one";
}

/// Whether the name still refers to the open file, which may have been moved or deleted.
bool ArchiveFile::is_there() const {
    struct stat ours {};
    struct stat named {};
    return fstat(file_, &ours) == 0 && lstat(name_.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
}

/// Call with the lock held.
void ArchiveFile::append() {
    const off_t before = size_of(file_);
    if (before < 0) return fail("cannot be read");
    mend_end(before);
    const off_t begin = size_of(file_);
    if (fault_.empty()) write_all();
    if (fault_.empty() && fsync(file_) != 0) fail("cannot be written to the disk");
    if (fault_.empty() && !is_there()) fault_ = core::quoted(name_) + " was taken away while it was written";
    if (fault_.empty()) keep_name();
    if (fault_.empty()) {
        text_.clear();
    } else if (begin >= 0 && ftruncate(file_, begin) != 0) {
        fault_ += "; what was written of the last lines could not be taken away";
    }
}

/// Repairs a last line without a line end: it is incomplete, or complete and only its end was removed.
void ArchiveFile::mend_end(off_t size) {
    const std::string line = last_line(size);
    if (line.empty() || !fault_.empty()) return;
    if (MessageLine().read(line).empty()) {
        text_.insert(0, 1, '\n');
    } else if (!begins_a_message(line)) {
        fault_ = core::quoted(name_) + " is there and does not end as an archive does: name another file";
    } else if (ftruncate(file_, size - static_cast<off_t>(line.size())) != 0) {
        fail("cannot be cut behind its last whole line");
    }
}

/// The last line if it has no line end; else empty.
std::string ArchiveFile::last_line(off_t size) {
    constexpr off_t step = 65'536;
    std::string line;
    while (size > 0) {
        const off_t from = std::max<off_t>(0, size - step);
        std::string part(static_cast<std::size_t>(size - from), '\0');
        if (pread(file_, part.data(), part.size(), from) != static_cast<ssize_t>(part.size())) {
            fail("cannot be read");
            return "";
        }
        const auto end = part.rfind('\n');
        if (end != std::string::npos) return part.substr(end + 1) + line;
        line.insert(0, part);
        size = from;
    }
    return line;
}

void ArchiveFile::write_all() {
    std::size_t done = 0;
    while (done < text_.size()) {
        const ssize_t written = write(file_, text_.data() + done, text_.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return fail("cannot be written");
        done += static_cast<std::size_t>(written);
    }
}

/// Makes sure that the name also survives a loss of power. A file system that cannot sync a folder returns EINVAL.
void ArchiveFile::keep_name() {
    if (named_) return;
    const std::string parent = std::filesystem::path(name_).parent_path().string();
    const std::string folder = parent.empty() ? "." : parent;
    const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return fail_of(folder, "cannot be opened, so that nobody knows whether the file's name is kept");
    named_ = fsync(opened) == 0 || errno == EINVAL;
    if (!named_) fail_of(folder, "cannot be written to the disk");
    close(opened);
}

void ArchiveFile::fail(const std::string& what) {
    fail_of(name_, what);
}

void ArchiveFile::fail_of(const std::string& path, const std::string& what) {
    fault_ = core::quoted(path) + " " + what + ": " + std::strerror(errno);
}

}  // namespace retryd::commands
