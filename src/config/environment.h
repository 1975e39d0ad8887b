// ${NAME} in the texts of the file.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace retryd::config {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct Expansion {
    std::string text;
    bool used_environment = false;
    std::string complaint;  // "what is wrong; what was expected"; empty if all went well
};

/// `${NAME}`: the variable, which must be set. `${NAME:-default}`: the default where it is unset or empty, as in a
/// shell; the default reaches to the first `}`. `$${` stands for a literal `${`. Any other `$` stands for itself.
/// What comes from the environment is not looked at again. A complaint names the variable, never a value.
Expansion expand(const std::string& text, const Environment& environment);

}  // namespace retryd::config
