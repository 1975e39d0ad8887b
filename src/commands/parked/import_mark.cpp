#include "commands/parked/import_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "core/safe_text.h"

namespace retryd::commands {

ImportMark::~ImportMark() {
    if (file_ >= 0) close(file_);
}

std::optional<std::size_t> ImportMark::left() const {
    std::ifstream file(name_);
    std::size_t lines = 0;
    if (!(file >> lines) || lines == 0) return std::nullopt;
    return lines;
}

void ImportMark::settled(std::size_t lines) {
    if (lines >= written_ + most_unwritten) write(lines);
}

void ImportMark::end(std::size_t lines) {
    if (lines == 0) return remove();
    if (lines != written_) write(lines);
}

void ImportMark::remove() {
    unlink(name_.c_str());
}

/// As wide each time: a number is replaced in one write, never half of it.
void ImportMark::write(std::size_t lines) {
    constexpr int mode_of_mark = 0600;
    if (!fault_.empty()) return;
    if (file_ < 0) file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode_of_mark);
    std::array<char, 32> text{};
    const int size = std::snprintf(text.data(), text.size(), "%020zu\n", lines);
    if (file_ < 0 || pwrite(file_, text.data(), static_cast<std::size_t>(size), 0) != size) {
        fault_ = core::quoted(name_) + " cannot be written: " + std::strerror(errno);
        return;
    }
    written_ = lines;
}

}  // namespace retryd::commands
