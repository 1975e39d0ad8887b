#include "daemon/desk_audit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/safe_text.h"

namespace retryd::daemon {

namespace {

std::string why_not_written(const std::string& file, int error) {
    const std::string begin = "the audit file " + core::quoted(file) + " cannot be written: ";
    if (error == ELOOP) return begin + "it is a symbolic link; name the file itself";
    if (error == EISDIR || error == ENXIO) return begin + "it is no regular file";
    return begin + std::generic_category().message(error);
}

/// Not through a pipe or a device, which may hang, nor through a link, which somebody else may turn to another file. To
/// be read as well, for its last byte.
int open_audit(const std::string& file) {
    constexpr mode_t for_us_and_our_group = 0640;
    return open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, for_us_and_our_group);
}

/// Whether an earlier write was cut off: then the next line has to begin by ending that one.
bool ends_within_a_line(int fd, off_t size) {
    char last = '\n';
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/// One write, so that lines of several processes do not mix. An error number; 0 where there is none.
int write_line(int fd, const std::string& line) {
    struct stat about {};
    if (fstat(fd, &about) != 0) return errno;
    if (!S_ISREG(about.st_mode)) return ENXIO;
    const std::string text = (ends_within_a_line(fd, about.st_size) ? "\n" : "") + line + "\n";
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0) return errno;
    if (static_cast<std::size_t>(written) != text.size()) return ENOSPC;
    return fsync(fd) != 0 && errno != EINVAL ? errno : 0;
}

}  // namespace

std::string append_to_audit(const std::string& file, const std::string& line) {
    if (file.empty()) return "";
    const int fd = open_audit(file);
    if (fd < 0) return why_not_written(file, errno);
    const int error = write_line(fd, line);
    close(fd);
    return error == 0 ? "" : why_not_written(file, error);
}

}  // namespace retryd::daemon
