#include "layering/source.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace retryd::layering {
namespace {

/// Replaces [at, end) with spaces but for its line breaks; gives `end`.
std::size_t blank(std::string& text, std::size_t at, std::size_t end) {
    for (end = std::min(end, text.size()); at < end; ++at) {
        if (text[at] != '\n') text[at] = ' ';
    }
    return end;
}

/// Where the thing that starts with `opening` at `at` is over: behind `closing`.
std::size_t behind(const std::string& text, std::size_t at, std::string_view opening, std::string_view closing) {
    const std::size_t found = text.find(closing, at + opening.size());
    return found == std::string::npos ? text.size() : found + closing.size();
}

/// The place of the quote that ends the literal whose first quote is at `at`.
std::size_t closing_quote(const std::string& text, std::size_t at) {
    const char quote = text[at];
    for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
        if (text[at] == '\\') ++at;
    }
    return at;
}

/// A quote between digits separates them: 1'000.
bool opens_literal(const std::string& text, std::size_t at) {
    return text[at] == '"' || (text[at] == '\'' && (at == 0 || !is_word(text[at - 1])));
}

/// Where a comment or a literal may begin next.
std::size_t next_of_interest(const std::string& text, std::size_t at) {
    return std::min(text.find_first_of("/R\"'", at), text.size());
}

std::string without_comments(std::string text) {
    for (std::size_t at = 0; at < text.size();) {
        if (text.compare(at, 2, "//") == 0) {
            at = blank(text, at, text.find('\n', at));
        } else if (text.compare(at, 2, "/*") == 0) {
            at = blank(text, at, behind(text, at, "/*", "*/"));
        } else if (text.compare(at, 3, "R\"(") == 0) {
            at = behind(text, at, "R\"(", ")\"");
        } else if (opens_literal(text, at)) {
            at = closing_quote(text, at) + 1;
        } else {
            at = next_of_interest(text, at + 1);
        }
    }
    return text;
}

std::string without_literals(std::string text) {
    for (std::size_t at = 0; at < text.size();) {
        if (text.compare(at, 3, "R\"(") == 0) {
            at = blank(text, at, behind(text, at, "R\"(", ")\""));
        } else if (opens_literal(text, at)) {
            at = blank(text, at + 1, closing_quote(text, at)) + 1;
        } else {
            at = next_of_interest(text, at + 1);
        }
    }
    return text;
}

/// What stands between the quotes or brackets of an #include; empty for any other line.
std::string included_by(std::string_view line) {
    const auto skip = [&](std::string_view what) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (!line.starts_with(what)) return false;
        line.remove_prefix(what.size());
        return true;
    };
    if (!skip("#") || !skip("include")) return "";
    const char closing = skip("<") ? '>' : skip("\"") ? '"' : '\0';
    const std::size_t end = line.find(closing);
    return closing == '\0' || end == std::string_view::npos ? "" : std::string{line.substr(0, end)};
}

}  // namespace

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

Source parse(std::string_view text) {
    Source source;
    const std::string uncommented = without_comments(std::string{text});
    source.code = without_literals(uncommented);
    int number = 0;
    for (std::size_t at = 0; at < uncommented.size();) {
        const std::size_t end = std::min(uncommented.find('\n', at), uncommented.size());
        std::string name = included_by(std::string_view{uncommented}.substr(at, end - at));
        ++number;
        if (!name.empty()) source.includes.push_back({std::move(name), number});
        at = end + 1;
    }
    return source;
}

Sources read_tree(const std::filesystem::path& root) {
    Sources sources;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        const auto extension = entry.path().extension();
        if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
        std::ifstream file(entry.path());
        if (!file) throw std::runtime_error("cannot read " + entry.path().string());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        sources.emplace(std::filesystem::relative(entry.path(), root).generic_string(), parse(text));
    }
    return sources;
}

std::string folder_of(std::string_view path) {
    const std::size_t slash = path.find('/');
    return std::string{slash == std::string_view::npos ? "" : path.substr(0, slash)};
}

}  // namespace retryd::layering
