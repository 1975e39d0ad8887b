#include "config/problem.h"

#include <algorithm>
#include <utility>

#include "core/safe_text.h"
#include "core/text.h"

namespace retryd::config {

namespace {

constexpr std::size_t longest_shown = 60;

/// In lower case, with `_` for `-`.
std::string normalized(std::string_view word) {
    std::string text{word};
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '-') c = '_';
    }
    return text;
}

/// Damerau's distance (optimal string alignment): additions, omissions, changes, swaps of neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> now(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, change});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) now[j] = std::min(now[j], before_last[j - 2] + 1);
        }
        before_last.swap(last);
        last.swap(now);
    }
    return last[b.size()];
}

}  // namespace

void add(Problems& problems, Position at, std::string message) {
    add(problems, Place{at, ""}, std::move(message));
}

void add(Problems& problems, const Place& place, std::string message) {
    problems.push_back({place.at.line, place.at.column, place.path, std::move(message)});
}

std::string format(const Problem& problem, std::string_view file) {
    std::string text{file};
    if (problem.line > 0) {
        text.append(":").append(std::to_string(problem.line)).append(":").append(std::to_string(problem.column));
    }
    text.append(": ");
    if (!problem.key.empty()) text.append(problem.key).append(": ");
    return core::safe_line(text.append(problem.message));
}

void refuse_both(const Place& one, const Place& other, Problems& problems) {
    add(problems, one,
        "is given together with " + other.path + " on line " + std::to_string(other.at.line) +
            "; expected one of the two");
}

std::string format(const Problems& problems, std::string_view file) {
    std::string text;
    for (const Problem& problem : problems)
        text.append(format(problem, file)).append("\n");
    text.append(std::to_string(problems.size())).append(problems.size() == 1 ? " problem in " : " problems in ");
    return text.append(core::safe_line(file)).append("\n");
}

std::string escaped(std::string_view text) {
    const std::string_view start = core::utf8_prefix(text, longest_shown);
    return core::safe_name(start) + (start.size() < text.size() ? "…" : "");
}

std::string in_quotes(std::string_view text) {
    return '"' + escaped(text) + '"';
}

std::string in_quotes(const Given<std::string>& given) {
    return in_quotes(given.given ? given.place.raw : given.value);
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
    constexpr std::size_t longest = 64;  // nobody means anything by more, and the work grows with its square
    if (word.size() > longest) return std::nullopt;
    std::optional<std::string> best;
    std::size_t best_distance = 0;
    for (const std::string& candidate : candidates) {
        const std::size_t d = distance(normalized(word), normalized(candidate));
        if (d > std::max<std::size_t>(1, candidate.size() / 3) || d >= candidate.size()) continue;
        if (best && best_distance <= d) continue;
        best = candidate;
        best_distance = d;
    }
    return best;
}

std::optional<std::string> nearest_value(std::string_view word, const std::vector<std::string>& choices) {
    constexpr std::size_t shortest_beginning = 3;
    if (word.size() >= shortest_beginning) {
        for (const std::string& choice : choices) {
            if (choice.starts_with(word)) return choice;
        }
    }
    return nearest(word, choices);
}

std::string expected_one_of(std::string_view word, const std::vector<std::string>& candidates) {
    if (const auto near = nearest(word, candidates)) return "did you mean " + escaped(*near) + "?";
    if (candidates.size() == 1) return "expected " + escaped(candidates.front());
    std::string text{"expected one of "};
    for (std::size_t i = 0; i < candidates.size(); ++i)
        text.append(i == 0 ? "" : ", ").append(escaped(candidates[i]));
    return text;
}

}  // namespace retryd::config
