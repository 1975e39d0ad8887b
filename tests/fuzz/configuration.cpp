// The configuration file: it gives settings or problems, soon, and never shows a secret.
#include "fuzz/checked_settings.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

/// Of the processor, with sanitizers, where it is slow; a file of that size is read in milliseconds without. What grows
/// with the square of its size takes longer by far.
constexpr std::chrono::milliseconds file_patience{3000};

void load(const std::string& text) {
    const auto loaded = config::load(text, env());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) return check_problems(*problems);
    const std::string shown = check_settings(std::get<config::Settings>(loaded));
    require(shown.find(file_secret) == std::string::npos, "a password from a file is not shown");
}

}  // namespace

void configuration(std::string_view input) {
    // A secret that the input itself writes where a name belongs is shown there.
    if (input.find(environment_secret) != input.npos || input.find(file_secret) != input.npos) return;
    const auto time = time_of([&] { load(std::string{input}); });
    require(time < file_patience,
            "a file is read within three seconds of the processor, not " + std::to_string(time.count()) + " ms");
}

}  // namespace retryd::fuzz
