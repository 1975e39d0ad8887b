// The one place of config that touches the machine.
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "config/load.h"

namespace retryd::config {
namespace {

/// No configuration, password or certificate is larger; /dev/zero is.
constexpr std::size_t largest_file = std::size_t{4} * 1024 * 1024;

std::optional<std::string> environment(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
}

std::string last_error() {
    return std::error_code{errno, std::generic_category()}.message();
}

std::optional<std::string> read_file(const std::string& path, std::string& error) {
    errno = 0;
    std::ifstream file{path, std::ios::binary};
    std::string contents(largest_file + 1, '\0');
    if (file) file.read(contents.data(), static_cast<std::streamsize>(contents.size()));
    if (!file.is_open() || file.bad()) {
        error = last_error();
        return std::nullopt;
    }
    contents.resize(static_cast<std::size_t>(file.gcount()));
    if (contents.size() > largest_file) {
        error = "it is larger than 4 MiB";
        return std::nullopt;
    }
    return contents;
}

}  // namespace

Surroundings real_surroundings() {
    return {environment, read_file};
}

}  // namespace retryd::config
