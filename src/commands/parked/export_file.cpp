#include "commands/parked/export_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/safe_text.h"

namespace retryd::commands {

namespace {

constexpr int for_its_owner = 0600;  // bodies are nobody else's business

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
    // A link that somebody else has put there is not followed, and a pipe not waited for.
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

/// It may be left from a process that was killed. It may as well be written by another one at this moment, or be
/// anybody's.
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

/// Not every file system can rename without replacing what has come in between.
void ExportFile::take_name() {
    int result = renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
        errno = EEXIST;
        result = is_there(name_) ? -1 : rename(part_.c_str(), name_.c_str());
    }
    if (result != 0) return fail("cannot be given its name");
    owned_ = false;
}

/// The name, too, is to be there after a loss of power. Not every file system can do that for a folder.
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

}  // namespace retryd::commands
