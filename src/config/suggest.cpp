#include "config/suggest.h"

#include <algorithm>

#include "config/problem.h"

namespace retryd::config {
namespace {

std::string plain(std::string_view word) {
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

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
    constexpr std::size_t longest = 64;  // nobody means anything by more, and the work grows with its square
    if (word.size() > longest) return std::nullopt;
    std::optional<std::string> best;
    std::size_t best_distance = 0;
    for (const std::string& candidate : candidates) {
        const std::size_t d = distance(plain(word), plain(candidate));
        if (d > std::max<std::size_t>(1, candidate.size() / 3) || d >= candidate.size()) continue;
        if (best && best_distance <= d) continue;
        best = candidate;
        best_distance = d;
    }
    return best;
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
