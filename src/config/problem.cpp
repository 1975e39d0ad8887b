#include "config/problem.h"

#include <utility>

#include "core/utf8.h"

namespace retryd::config {
namespace {

constexpr std::size_t longest_shown = 60;

void append_escaped(std::string& to, char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
        to.push_back(c);
    } else if (c == '\n') {
        to.append("\\n");
    } else {
        to.append("\\x").append({digits[byte >> 4U], digits[byte & 0xfU]});
    }
}

}  // namespace

std::string format(const Problem& problem, std::string_view file) {
    std::string text{file};
    if (problem.line > 0) {
        text.append(":").append(std::to_string(problem.line)).append(":").append(std::to_string(problem.column));
    }
    text.append(": ");
    if (!problem.key.empty()) text.append(problem.key).append(": ");
    return text.append(problem.message);
}

std::string format(const Problems& problems, std::string_view file) {
    std::string text;
    for (const Problem& problem : problems)
        text.append(format(problem, file)).append("\n");
    text.append(std::to_string(problems.size())).append(problems.size() == 1 ? " problem in " : " problems in ");
    return text.append(file).append("\n");
}

void add(Problems& problems, Position at, std::string message) {
    add(problems, Place{at, ""}, std::move(message));
}

void add(Problems& problems, const Place& place, std::string message) {
    problems.push_back({place.at.line, place.at.column, place.path, std::move(message)});
}

std::string escaped(std::string_view text) {
    std::string line;
    const std::string_view start = core::utf8_prefix(text, longest_shown);
    for (const char c : start)
        append_escaped(line, c);
    if (start.size() < text.size()) line.append("…");
    return line;
}

std::string shown(std::string_view text) {
    return '"' + escaped(text) + '"';
}

std::string shown(const Given<std::string>& given) {
    return shown(given.given ? given.place.written : given.value);
}

}  // namespace retryd::config
