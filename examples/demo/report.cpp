#include "report.h"

#include <algorithm>

#include "core/duration.h"

namespace retryd::demo {
namespace {

constexpr std::size_t id_width = 8;
constexpr std::size_t subject_width = 22;
constexpr std::size_t wait_width = 15;
constexpr std::size_t rungs = 3;

std::string end_of(const Story& story, const Screen& screen) {
    if (story.parked) return screen.paint(Colour::magenta, "parked");
    if (story.done == 0) return screen.paint(Colour::red, "LOST");
    return screen.paint(Colour::green, "done") + " on try " + std::to_string(story.rejections.size() + 1);
}

std::string line_of(const Story& story, const Screen& screen) {
    std::string line = padded(story.mail->id, id_width) + padded(story.mail->subject, subject_width);
    for (std::size_t i = 0; i < std::max(rungs, story.waits.size()); ++i) {
        std::string cell = "-";
        if (i < story.waits.size()) {
            const Wait& wait = story.waits[i];
            cell = seconds_text(wait.measured) + " (" + core::format_duration(wait.configured) + ")";
        }
        line += padded(cell, wait_width);
    }
    return line + end_of(story, screen);
}

struct Counts {
    std::size_t sent = 0;
    std::size_t done = 0;
    std::size_t replayed = 0;  // of those done
    std::size_t waits = 0;
};

Counts count(const Chronicle& chronicle) {
    Counts counts;
    for (const Story& story : chronicle.stories()) {
        counts.sent += 1;
        counts.done += story.done > 0 ? 1U : 0U;
        counts.replayed += story.done > 0 && story.parked ? 1U : 0U;
        counts.waits += story.waits.size();
    }
    return counts;
}

/// That every mail failed, waited and was parked exactly as often as the play says.
void check_the_play(Chronicle& chronicle) {
    for (const Story& story : std::vector<Story>(chronicle.stories())) {
        const bool hopeless = story.mail->failures == until_mended;
        const std::size_t waits = hopeless ? rungs : static_cast<std::size_t>(story.mail->failures);
        const std::string who{story.mail->id};
        if (story.done == 0) chronicle.complain(who + " is lost");
        if (story.waits.size() != waits)
            chronicle.complain(who + " should have waited " + std::to_string(waits) + " times");
        if (story.parked != hopeless) chronicle.complain(who + (hopeless ? " was not parked" : " was parked"));
    }
}

}  // namespace

void print_ways(const Chronicle& chronicle, const Screen& screen) {
    screen.say(screen.paint(Colour::dim, padded("", id_width + subject_width) +
                                             padded("waited on rungs 1, 2, 3 (configured)", rungs * wait_width) +
                                             "end"));
    for (const Story& story : chronicle.stories())
        screen.say(line_of(story, screen));
}

bool print_verdict(Chronicle& chronicle, int exit_code_of_retryd, const Screen& screen) {
    check_the_play(chronicle);
    if (exit_code_of_retryd != 0) {
        chronicle.complain("retryd ended with exit code " + std::to_string(exit_code_of_retryd) + " instead of 0");
    }
    const Counts counts = count(chronicle);
    const bool fine = chronicle.complaints() == 0;
    screen.blank();
    screen.say(screen.paint(fine ? Colour::green : Colour::red, fine ? "All as promised: " : "NOT as promised: ") +
               std::to_string(counts.sent) + " sent, " + std::to_string(counts.done) + " done (" +
               std::to_string(counts.replayed) + " of them parked and replayed), " + std::to_string(counts.waits) +
               " waits, lost " + std::to_string(counts.sent - counts.done) + ".");
    return fine;
}

}  // namespace retryd::demo
