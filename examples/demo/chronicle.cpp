#include "chronicle.h"

#include <algorithm>

#include "core/duration.h"
#include "core/names.h"
#include "setting.h"

namespace retryd::demo {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

/// The queue of the newest death: for a message that has come home, its rung.
std::string newest_death(const core::Message& message) {
    const auto deaths = core::array_of(core::find(message.properties.header_table(), "x-death"));
    if (!deaths || deaths->empty()) return "";
    const auto death = core::table_of(deaths->begin());
    return death ? std::string{core::text_of(core::find(*death, "queue")).value_or("")} : "";
}

/// A rung's name ends with its delay.
core::Milliseconds delay_of(const std::string& rung) {
    const std::size_t dot = rung.rfind('.');
    const auto delay = dot == std::string::npos ? std::nullopt : core::parse_duration(rung.substr(dot + 1));
    return delay.value_or(core::Milliseconds::zero());
}

std::string header_text(const core::Message& message, std::string_view name) {
    return std::string{core::text_of(core::find(message.properties.header_table(), name)).value_or("")};
}

std::int64_t attempt_of(const core::Message& message) {
    return core::integer_of(core::find(message.properties.header_table(), core::header::attempt)).value_or(0);
}

}  // namespace

Chronicle::Chronicle(const Screen& screen) : screen_(screen) {
    for (const Mail& mail : all_mails())
        stories_.push_back({.mail = &mail, .rejections = {}, .waits = {}});
}

void Chronicle::sent(const Mail& mail) {
    show(mail, Colour::plain, "sent",
         '"' + std::string{mail.subject} + "\", routing key " + std::string{mail.routing_key});
}

void Chronicle::came(const Mail& mail, const core::Message& message) {
    const Clock::time_point now = Clock::now();
    Story& story = story_of(mail);
    if (story.done > 0) complain(std::string{mail.id} + " came once more after it was done");
    if (!unchanged(mail, message)) complain(std::string{mail.id} + " is not as it was sent");
    if (story.waits.size() < story.rejections.size() && !story.parked) home(story, message, now);
}

void Chronicle::home(Story& story, const core::Message& message, Clock::time_point now) {
    const std::string rung = newest_death(message);
    const Wait wait{rung, delay_of(rung), duration_cast<microseconds>(now - story.rejections.back())};
    story.waits.push_back(wait);
    show(*story.mail, Colour::cyan, "came home",
         "from rung " + rung + " after " + seconds_text(wait.measured) + " (configured " +
             core::format_duration(wait.configured) + "), attempt " + std::to_string(attempt_of(message)));
    check(story, wait, message);
}

void Chronicle::check(const Story& story, const Wait& wait, const core::Message& message) {
    const std::string who{story.mail->id};
    const std::size_t attempt = story.rejections.size();
    if (attempt > ladder.size()) return complain(who + " came home although its ladder is used up");
    const std::string rung = core::rung_name(work_queue, ladder[attempt - 1], false);
    if (wait.rung != rung) complain(who + " comes from '" + wait.rung + "' instead of '" + rung + "'");
    if (wait.measured < wait.configured) complain(who + " came home too early");
    if (attempt_of(message) != static_cast<std::int64_t>(attempt)) {
        complain(who + " was rejected " + std::to_string(attempt) + " times, and its retryd-attempt says otherwise");
    }
    if (header_text(message, core::header::queue) != work_queue ||
        header_text(message, core::header::reason) != "rejected" ||
        header_text(message, core::header::exchange) != mail_exchange ||
        header_text(message, core::header::routing_key) != story.mail->routing_key) {
        complain(who + " does not say in its retryd- headers where it comes from");
    }
}

void Chronicle::rejected(const Mail& mail) {
    Story& story = story_of(mail);
    story.rejections.push_back(Clock::now());
    show(mail, Colour::yellow, "rejected",
         "try " + std::to_string(story.rejections.size()) + " failed (" + std::string{mail.trouble} + ")");
}

void Chronicle::done(const Mail& mail) {
    Story& story = story_of(mail);
    ++story.done;
    show(mail, Colour::green, "done", "on try " + std::to_string(story.rejections.size() + 1));
}

void Chronicle::parked(const Mail& mail, const core::Message& message) {
    Story& story = story_of(mail);
    const std::string reason = header_text(message, core::header::parked_reason);
    show(mail, Colour::magenta, "parked", "in " + parking_queue + ": " + reason);
    if (story.parked) complain(std::string{mail.id} + " is parked twice");
    if (reason != "attempts-exhausted") complain(std::string{mail.id} + " is parked for another reason");
    if (story.rejections.size() <= ladder.size()) complain(std::string{mail.id} + " was parked too early");
    if (!unchanged(mail, message)) complain(std::string{mail.id} + " is not as it was sent");
    story.parked = true;
}

void Chronicle::complain(const std::string& what) {
    ++complaints_;
    screen_.complaint(what);
}

bool Chronicle::settled() const {
    return std::all_of(stories_.begin(), stories_.end(), [](const Story& s) { return s.done > 0 || s.parked; });
}

bool Chronicle::all_done() const {
    return std::all_of(stories_.begin(), stories_.end(), [](const Story& s) { return s.done > 0; });
}

Story& Chronicle::story_of(const Mail& mail) {
    return *std::find_if(stories_.begin(), stories_.end(), [&](const Story& s) { return s.mail == &mail; });
}

void Chronicle::show(const Mail& mail, Colour colour, std::string_view verb, const std::string& details) const {
    screen_.event(duration_cast<microseconds>(Clock::now() - begin_), mail.id, colour, verb, details);
}

}  // namespace retryd::demo
