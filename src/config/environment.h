// What a configuration takes from the machine: environment variables and the files that it names. Both are handed in,
// so that a test needs neither.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace retryd::config {

/// The value of a variable; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct FileEnvironment {
    Environment environment;
    /// The file's contents, or nothing and the reason in `error`.
    std::function<std::optional<std::string>(const std::string& path, std::string& error)> read_file;
};

/// The process's own environment and files. Errors are a file of more than 4 MiB (no configuration, password or
/// certificate is that large), and a pipe or a device, which may have no end.
FileEnvironment process_environment();

struct Expansion {
    std::string text;
    bool used_environment = false;
    std::string complaint;  // "what is wrong; what was expected"; empty if nothing is
};

/// `${NAME}`: the variable, which must be set. `${NAME:-default}`: the default where it is unset or empty, as in a
/// shell; the default reaches to the first `}`. `$${` is a literal `${`. Any other `$` is itself. The value of a
/// variable is not expanded again. A complaint names the variable, never a value.
Expansion expand(const std::string& text, const Environment& environment);

}  // namespace retryd::config
