#include "layering/citations.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace retryd::layering {
namespace {

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return "";
    return std::string{text.substr(first, text.find_last_not_of(" \t") - first + 1)};
}

std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells;
    for (std::size_t at = 1; at < line.size();) {
        const std::size_t end = std::min(line.find('|', at), line.size());
        cells.push_back(trimmed(line.substr(at, end - at)));
        at = end + 1;
    }
    return cells;
}

/// What stands between each pair of them, in order.
std::vector<std::string> between(std::string_view text, char opening, char closing) {
    std::vector<std::string> found;
    for (std::size_t at = text.find(opening); at != std::string_view::npos; at = text.find(opening, at)) {
        const std::size_t end = text.find(closing, at + 1);
        if (end == std::string_view::npos) break;
        found.emplace_back(text.substr(at + 1, end - at - 1));
        at = end + 1;
    }
    return found;
}

/// The 12 of `- **12** …`: a number or one letter. Empty for any other line.
std::string code_of(std::string_view line) {
    constexpr std::string_view opening = "- **";
    if (!line.starts_with(opening)) return "";
    line.remove_prefix(opening.size());
    const std::string code{line.substr(0, line.find("**"))};
    const bool number = code.find_first_not_of("0123456789") == std::string::npos;
    return number || code.size() == 1 ? code : "";
}

void read_item(Grid& grid, const std::string& code, std::string_view line) {
    const std::size_t link = line.find("](");
    if (link == std::string_view::npos) {
        grid.reasons.insert(code);
        return;
    }
    const std::vector<std::string> names = between(line.substr(link), '`', '`');
    Citation citation{code, between(line.substr(link), '(', ')').front(), "", {}};
    if (!names.empty()) citation.test_case = names.front();
    if (names.size() > 1) citation.sections.assign(names.begin() + 1, names.end());
    grid.citations.push_back(std::move(citation));
}

void read_row(Grid& grid, bool& in_grid, std::string_view line) {
    std::vector<std::string> cells = cells_of(line);
    const bool head = cells.front() == "fault";
    if (head) grid.arrows.assign(cells.begin() + 1, cells.end());
    const bool rule = cells.front().starts_with("-");
    if (in_grid && !rule) grid.faults.push_back(std::move(cells));
    in_grid = in_grid || head;
}

/// Literals that follow each other are one.
std::string literals_at(std::string_view source, std::size_t at) {
    std::string text;
    for (;;) {
        while (at < source.size() && std::isspace(static_cast<unsigned char>(source[at])) != 0)
            ++at;
        if (at >= source.size() || source[at] != '"') return text;
        for (++at; at < source.size() && source[at] != '"'; ++at) {
            if (source[at] == '\\') ++at;
            text += source[at];
        }
        ++at;
    }
}

Violations rotten_cells(const Grid& grid, const std::set<std::string>& known, std::set<std::string>& used) {
    Violations found;
    for (const auto& row : grid.faults) {
        if (row.size() != grid.arrows.size() + 1) found.push_back(row.front() + ": not a cell for each arrow");
        for (std::size_t at = 1; at < row.size(); ++at) {
            const std::string place = row.front() + " at " + grid.arrows[std::min(at, grid.arrows.size()) - 1];
            if (row[at].empty()) found.push_back(place + ": empty");
            std::istringstream codes(row[at]);
            for (std::string code; codes >> code; used.insert(code)) {
                if (known.count(code) == 0) found.push_back(place + ": what is " + code + "?");
            }
        }
    }
    return found;
}

Violations rotten_citation(const Citation& citation, const std::string& source) {
    Violations found;
    const std::string place = citation.code + ": " + citation.path;
    if (source.empty()) return {place + " is not there"};
    if (named_by("TEST_CASE", source).count(citation.test_case) == 0)
        found.push_back(place + " has no test case '" + citation.test_case + "'");
    const std::set<std::string> sections = named_by("SECTION", source);
    for (const std::string& section : citation.sections) {
        if (sections.count(section) == 0) found.push_back(place + " has no section '" + section + "'");
    }
    return found;
}

}  // namespace

Grid read_grid(std::string_view document) {
    Grid grid;
    bool in_grid = false;
    for (std::size_t at = 0; at < document.size();) {
        const std::size_t end = std::min(document.find('\n', at), document.size());
        const std::string_view line = document.substr(at, end - at);
        if (line.starts_with("|")) {
            read_row(grid, in_grid, line);
        } else {
            in_grid = false;
            const std::string code = code_of(line);
            if (!code.empty()) read_item(grid, code, line);
        }
        at = end + 1;
    }
    return grid;
}

std::set<std::string> named_by(std::string_view macro, std::string_view source) {
    std::set<std::string> names;
    const std::string call = std::string{macro} + '(';
    for (std::size_t at = source.find(call); at != std::string_view::npos; at = source.find(call, at + 1))
        names.insert(literals_at(source, at + call.size()));
    return names;
}

Violations rotten(const Grid& grid, const std::function<std::string(const std::string& path)>& read) {
    std::set<std::string> known = grid.reasons;
    for (const Citation& citation : grid.citations)
        known.insert(citation.code);
    std::set<std::string> used;
    Violations found = rotten_cells(grid, known, used);
    for (const std::string& code : known) {
        if (used.count(code) == 0) found.push_back(code + ": no cell needs it");
    }
    for (const Citation& citation : grid.citations) {
        const Violations more = rotten_citation(citation, read(citation.path));
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

}  // namespace retryd::layering
