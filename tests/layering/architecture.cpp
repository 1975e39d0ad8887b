#include "layering/architecture.h"

#include <cctype>
#include <cstddef>
#include <regex>
#include <sstream>

namespace retryd::layering {
namespace {

bool defines(const Source& source, const std::string& function) {
    // A call ends with `;` or stands within an expression; a definition begins its line and opens a block.
    const std::regex definition("[A-Za-z][^;{}\n]*\\b" + function + "\\([^;{}]*\\)[^;{}]*\\{");
    const std::string text = "\n" + source.code;
    for (std::size_t at = text.find(function + '('); at != std::string::npos; at = text.find(function + '(', at + 1)) {
        const auto line = text.begin() + static_cast<std::ptrdiff_t>(text.rfind('\n', at)) + 1;
        if (std::regex_search(line, text.end(), definition, std::regex_constants::match_continuous)) return true;
    }
    return false;
}

}  // namespace

std::vector<Step> way_of_a_message(std::string_view document) {
    std::vector<Step> way;
    std::istringstream lines{std::string{document}};
    const std::regex item("^[0-9]+\\. `([a-z_/]+\\.cpp)`: `([A-Za-z_:]+)`.*");
    std::smatch parts;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_match(line, parts, item)) way.push_back({parts[1], parts[2]});
    }
    return way;
}

std::vector<std::string> files_named_in(std::string_view document) {
    const std::string text{document};
    const std::regex file("`([a-z_]+(?:/[a-z_]+)+\\.(?:cpp|h))`");
    std::vector<std::string> files;
    for (std::sregex_iterator at(text.begin(), text.end(), file), end; at != end; ++at)
        files.push_back((*at)[1]);
    return files;
}

Violations not_on_the_way(const std::vector<Step>& way, const Sources& sources) {
    Violations found;
    for (const Step& step : way) {
        const auto source = sources.find(step.file);
        if (source == sources.end()) {
            found.push_back(step.file + " is not there");
        } else if (!defines(source->second, step.function)) {
            found.push_back(step.file + " does not define " + step.function);
        }
    }
    return found;
}

}  // namespace retryd::layering
