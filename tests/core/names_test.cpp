#include "core/names.h"

#include <set>
#include <string>
#include <string_view>

#include "core/duration.h"
#include "support/catch.h"

namespace retryd::core::names_test {
namespace {

using namespace std::chrono_literals;

std::string letters(std::size_t count, char letter = 'q') {
    return std::string(count, letter);
}

bool is_utf8_boundary_cut(std::string_view whole, std::string_view part) {
    return whole.starts_with(part) &&
           (part.size() == whole.size() || (static_cast<unsigned char>(whole[part.size()]) & 0xc0U) != 0x80U);
}

/// The definition, taken literally: what a glob means, not how to match one fast.
bool matches_by_definition(std::string_view glob, std::string_view name) {
    if (glob.empty()) return name.empty();
    if (glob.front() == '*') {
        return matches_by_definition(glob.substr(1), name) ||
               (!name.empty() && matches_by_definition(glob, name.substr(1)));
    }
    if (name.empty() || (glob.front() != '?' && glob.front() != name.front())) return false;
    return matches_by_definition(glob.substr(1), name.substr(1));
}

/// The `index`-th string over `alphabet`, shortest first.
std::string nth_string(std::string_view alphabet, std::size_t index) {
    std::string made;
    for (; index > 0; index = (index - 1) / alphabet.size())
        made.push_back(alphabet[(index - 1) % alphabet.size()]);
    return made;
}

const BrokerFeatures rabbit_4_0 = features_of({4, 0, 5});

Ladder ladder_of(std::vector<Milliseconds> steps, ReturnPath path) {
    Ladder ladder;
    ladder.name = "all";
    ladder.steps = std::move(steps);
    ladder.return_path = path;
    return ladder;
}

Entry entry(const std::string& match, const Ladder& ladder) {
    Entry made;
    made.match = match;
    made.ladder = ladder;
    return made;
}

Policy policy_of(const std::string& match, const Ladder& ladder) {
    Policy policy;
    policy.entries = {entry(match, ladder)};
    return policy;
}

/// The queue that is declared for a rung.
QueueSpec queue_of(const Ladder& ladder, const std::string& work_queue, Milliseconds delay, bool high = false) {
    for (const TopologyItem& item : rung_topology({}, ladder, work_queue, delay, high, rabbit_4_0)) {
        if (const auto* queue = std::get_if<QueueSpec>(&item)) return *queue;
    }
    FAIL("a rung without a queue");
    return {};
}

std::optional<ParsedRung> made(const QueueSpec& queue) {
    return parse_rung(queue.name, queue.arguments);
}

QueueSpec without(QueueSpec queue, const std::string& argument) {
    std::erase_if(queue.arguments, [&](const auto& each) { return each.first == argument; });
    return queue;
}

}  // namespace

// ── Rungs, templates ───────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a rung is named after its work queue and its delay") {
    CHECK(rung_name("email", 5s, false) == "email.retry.5s");
    CHECK(rung_name("email", 90s, false) == "email.retry.1m30s");
    CHECK(rung_name("email", 2min, true) == "email.retry.2m.high");
    CHECK(rung_name("küche bestellung", 1h, false) == "küche bestellung.retry.1h");
    CHECK(rung_name("a.retry.5s", 5s, false) == "a.retry.5s.retry.5s");
}

TEST_CASE("a rung's name is whole as long as a queue name may be") {
    const std::string after = ".retry.5s";
    const std::string fits = letters(longest_queue_name - after.size());
    CHECK(rung_name(fits, 5s, false) == fits + after);
    CHECK(rung_name(fits, 5s, false).size() == 255);
    const std::string longer = fits + "q";
    const std::string cut = rung_name(longer, 5s, false);
    CHECK(cut != longer + after);
    CHECK(cut.size() == 255);
}

TEST_CASE("a rung's name that would be too long ends in a hash of the work queue, and in the delay") {
    // FNV-1a of 255 times 'q', computed apart from the code: the name must not change from version to version.
    CHECK(rung_name(letters(255), 5s, false) == letters(229) + "~97924f37c92622b6.retry.5s");
    CHECK(rung_name(letters(255), 5s, true) == letters(224) + "~97924f37c92622b6.retry.5s.high");
}

TEST_CASE("long work queues that differ in one byte never share a rung") {
    std::set<std::string> names;
    std::size_t made = 0;
    for (std::size_t at = 0; at < 255; ++at) {
        for (const char other : {'a', 'b', 'z'}) {
            std::string queue = letters(255);
            queue[at] = other;
            names.insert(rung_name(queue, 5s, false));
            ++made;
        }
    }
    for (std::size_t length = 200; length <= 255; ++length, ++made)
        names.insert(rung_name(letters(length), 5s, false));
    CHECK(names.size() == made);
}

TEST_CASE("the rungs of one work queue never share a name") {
    for (const std::string& queue : {std::string{"email"}, letters(255)}) {
        std::set<std::string> names;
        for (const Milliseconds delay : {Milliseconds{5ms}, Milliseconds{5s}, Milliseconds{5min}, longest_ttl}) {
            names.insert(rung_name(queue, delay, false));
            names.insert(rung_name(queue, delay, true));
        }
        CHECK(names.size() == 8);
    }
}

TEST_CASE("every rung is a possible queue name, cut between two characters, and known as a rung") {
    for (const std::string_view character : {"q", "ü", "€", "😀"}) {
        for (std::size_t odd = 0; odd < 4; ++odd) {
            std::string queue = letters(odd);
            while (queue.size() + character.size() <= 255)
                queue += character;
            const std::string name = rung_name(queue, 123'456'789ms, true);
            CAPTURE(character, odd, name);
            CHECK(usable_queue_name(name));
            CHECK(looks_like_rung(name));
            CHECK(is_utf8_boundary_cut(queue, std::string_view{name}.substr(0, name.find('~'))));
            CHECK(name.size() > 255 - character.size());
        }
    }
}

TEST_CASE("a name that is no UTF-8 at all is still cut to a possible one") {
    const std::string name = rung_name(letters(255, '\x80'), 5s, false);
    CHECK(usable_queue_name(name));
    CHECK(name.ends_with(".retry.5s"));
}

TEST_CASE("a template takes the work queue's name where it says so") {
    CHECK(expand_queue("{queue}.parked", "email") == "email.parked");
    CHECK(expand_queue("parked.{queue}", "email") == "parked.email");
    CHECK(expand_queue("team.{queue}.parked", "email") == "team.email.parked");
    CHECK(expand_queue("{queue}", "email") == "email");
    CHECK(expand_queue("parked", "email") == "parked");
    CHECK(expand_queue("{Queue}.parked", "email") == "{Queue}.parked");
    CHECK(expand_queue("{queue}.parked", "{queue}") == "{queue}.parked");
}

TEST_CASE("an expanded template that would be too long is cut as a rung's name is") {
    CHECK(expand_queue("a.{queue}.b", letters(251)) == "a." + letters(251) + ".b");
    CHECK(expand_queue("a.{queue}.b", letters(252)).size() == 255);
    CHECK(expand_queue("a.{queue}.b", letters(255)) == "a." + letters(234) + "~97924f37c92622b6.b");
    CHECK(expand_queue("{queue}.parked", letters(255)) != expand_queue("{queue}.parked", letters(254) + "r"));
}

TEST_CASE("a template that leaves no room keeps the hash alone") {
    const std::string around = letters(238, 't');
    CHECK(expand_queue(around + "{queue}", letters(255)) == around + "~97924f37c92622b6");
    CHECK(expand_queue(around.substr(1) + "{queue}", letters(255)) == around.substr(1) + "q~97924f37c92622b6");
    // Longer than any queue name: the configuration refuses such a template.
    CHECK(expand_queue(around + "t{queue}", letters(255)) == around + "t~97924f37c92622b6");
}

TEST_CASE("what rung_name gives looks like a rung, and little else does") {
    for (const std::string_view name : {"email.retry.5s", "email.retry.1m30s", "email.retry.5s.high",
                                        "a.retry.b.retry.1d", "q~97924f37c92622b6.retry.5s"}) {
        CAPTURE(name);
        CHECK(looks_like_rung(name));
    }
    for (const std::string_view name :
         {"", "email", "email.retry", "email.retry.", "email.retry.soon", "email.retry.5", "email.retry.5s.low",
          "email.retry.5s.high.high", "email.retry.high", ".retry.5s", ".retry.5s.high", "retry.5s", "email.retry.5s ",
          "email.retry.5s.parked", "email.Retry.5s", ".high", "email.retry.5s.retry.x"}) {
        CAPTURE(name);
        CHECK_FALSE(looks_like_rung(name));
    }
}

// ── Globs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a pattern without a star or question mark matches itself only") {
    CHECK(glob_matches("email", "email"));
    CHECK_FALSE(glob_matches("email", "emai"));
    CHECK_FALSE(glob_matches("email", "emails"));
    CHECK_FALSE(glob_matches("email", "Email"));
    CHECK_FALSE(glob_matches("email", ""));
    CHECK(glob_matches("a.b[c]{d}\\", "a.b[c]{d}\\"));
}

TEST_CASE("a star stands for any run of characters, the empty one and dots included") {
    CHECK(glob_matches("*", ""));
    CHECK(glob_matches("*", "anything.at.all"));
    CHECK(glob_matches("webhook.*", "webhook."));
    CHECK(glob_matches("webhook.*", "webhook.eu.west"));
    CHECK_FALSE(glob_matches("webhook.*", "webhook"));
    CHECK(glob_matches("*.retry", "a.retry.retry"));
    CHECK(glob_matches("a*b*c", "a-b-b-c"));
    CHECK_FALSE(glob_matches("a*b*c", "a-c-b"));
    CHECK(glob_matches("a**b", "ab"));
    CHECK(glob_matches("a***", "a"));
}

TEST_CASE("a question mark stands for one byte, never for none") {
    CHECK(glob_matches("shard-?", "shard-7"));
    CHECK_FALSE(glob_matches("shard-?", "shard-"));
    CHECK_FALSE(glob_matches("shard-?", "shard-77"));
    CHECK(glob_matches("?*", "x"));
    CHECK_FALSE(glob_matches("?*", ""));
    CHECK(glob_matches("*?", "xyz"));
    CHECK(glob_matches("caf??", "café"));
    CHECK_FALSE(glob_matches("caf?", "café"));
}

TEST_CASE("only the pattern given is read, whatever stands behind it") {
    const std::string_view star = "a*";
    CHECK_FALSE(glob_matches(star.substr(0, 1), "ab"));
    const std::string_view mark = "a?";
    CHECK_FALSE(glob_matches(mark.substr(0, 1), "ab"));
    const std::string_view name = "abc";
    CHECK(glob_matches("ab", name.substr(0, 2)));
    CHECK_FALSE(glob_matches("abc", name.substr(0, 2)));
}

TEST_CASE("every short pattern matches what its definition says") {
    std::string first_difference;
    for (std::size_t g = 0; g <= 1364 && first_difference.empty(); ++g) {  // all patterns of up to 5 of these four
        const std::string glob = nth_string("ab*?", g);
        for (std::size_t n = 0; n <= 62; ++n) {  // all names of up to 5 of these two
            const std::string name = nth_string("ab", n);
            if (glob_matches(glob, name) != matches_by_definition(glob, name)) first_difference = glob + " on " + name;
        }
    }
    CHECK(first_difference == "");
}

TEST_CASE("a pattern of many stars does not blow up") {
    std::string glob;
    for (int i = 0; i < 60; ++i)
        glob += "a*";
    const std::string name(255, 'a');
    CHECK(glob_matches(glob, name));
    CHECK_FALSE(glob_matches(glob + "b", name));
    CHECK_FALSE(glob_matches(std::string(250, '*') + "b", name));
    CHECK_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*?b", name));
}

TEST_CASE("a glob is what has a star or a question mark") {
    CHECK(is_glob("*"));
    CHECK(is_glob("webhook.*"));
    CHECK(is_glob("shard-?"));
    CHECK_FALSE(is_glob("email"));
    CHECK_FALSE(is_glob(""));
    CHECK_FALSE(is_glob("a[b]"));
}

TEST_CASE("a detour has the name of a shared rung whose ladder nobody can have") {
    CHECK(detour_name(2s) == "retryd.detour.2s");
    CHECK(detour_name(5min) == "retryd.detour.5m");
    for (const Milliseconds delay : detour_delays) {
        CHECK(looks_like_detour(detour_name(delay)));
        CHECK(is_detour(detour_name(delay)));
        CHECK(looks_like_shared_rung(detour_name(delay)));
    }
    CHECK(looks_like_detour("retryd.detour.1h"));  // of another version, perhaps
    CHECK_FALSE(is_detour("retryd.detour.1h"));
    for (const char* name :
         {"retryd.detour", "retryd.detour.", "retryd.detour.soon", "retryd.detours.2s", "retryd.my-detour.2s",
          "my.detour.2s", "detour.2s", "retryd.shared.2s", "email.retry.2s"}) {
        CAPTURE(name);
        CHECK_FALSE(looks_like_detour(name));
    }
}

// ── Rungs that are on the broker already ───────────────────────────────────────────────────────────────────────────

TEST_CASE("what is declared as a rung is known as one again") {
    const std::string longest(255, 'q');
    for (const bool high : {false, true}) {
        const Ladder own = ladder_of({90s}, ReturnPath::queue);
        CHECK(made(queue_of(own, "email", 90s, high)) == ParsedRung{"email", ReturnPath::queue, 90s});
        CHECK(made(queue_of(own, longest, 90s, high)) == ParsedRung{longest, ReturnPath::queue, 90s});
        const Ladder shared = ladder_of({90s}, ReturnPath::headers);
        CHECK(made(queue_of(shared, "email", 90s, high)) == ParsedRung{"all", ReturnPath::headers, 90s});
    }
}

TEST_CASE("a queue is no rung of ours without the arguments that go with its name") {
    QueueSpec rung = queue_of(ladder_of({90s}, ReturnPath::queue), "email", 90s);
    for (const char* argument : {"x-message-ttl", "x-dead-letter-exchange", "x-dead-letter-routing-key"}) {
        CAPTURE(argument);
        CHECK_FALSE(made(without(rung, argument)));
    }
    CHECK_FALSE(parse_rung("sms.retry.1m30s", rung.arguments));
    CHECK_FALSE(parse_rung("email.retry.90s", rung.arguments));
    CHECK_FALSE(parse_rung("email.retry.1m", rung.arguments));
    CHECK_FALSE(parse_rung(
        "email.retry.1m30s",
        {{"x-message-ttl", "90000"}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "email"}}));

    const QueueSpec shared = queue_of(ladder_of({90s}, ReturnPath::headers), "email", 90s);
    CHECK_FALSE(made(without(shared, "x-message-ttl")));
    CHECK_FALSE(made(without(shared, "x-dead-letter-exchange")));
    CHECK_FALSE(parse_rung("retryd.all.1m", shared.arguments));
    CHECK_FALSE(parse_rung("retryd.parked", shared.arguments));
    CHECK_FALSE(parse_rung("all.1m30s", shared.arguments));
    QueueSpec elsewhere = shared;
    elsewhere.arguments.emplace_back("x-dead-letter-routing-key", "email");
    CHECK_FALSE(made(elsewhere));
}

TEST_CASE("the queues of ours that are no rungs are not taken for such") {
    CHECK_FALSE(made(error_queue_spec({}, rabbit_4_0)));
    CHECK_FALSE(made(parking_queue_spec("email.parked", rabbit_4_0)));
    for (const Milliseconds delay : detour_delays)
        CHECK_FALSE(made(detour_spec({}, delay, rabbit_4_0)));
    CHECK_FALSE(parse_rung("email", {}));
}

TEST_CASE("a delay that no rung can have is no rung") {
    for (const std::int64_t ttl : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{longest_ttl.count() + 1}}) {
        CAPTURE(ttl);
        CHECK_FALSE(parse_rung(
            "email.retry.0ms",
            {{"x-message-ttl", ttl}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "email"}}));
    }
}

TEST_CASE("a work queue's rung is in use while an entry leads there") {
    const Ladder ladder = ladder_of({5s, 30s}, ReturnPath::queue);
    const ParsedRung rung{"web.a", ReturnPath::queue, 30s};
    CHECK(is_in_use(policy_of("web.a", ladder), rung));
    CHECK(is_in_use(policy_of("web.*", ladder), rung));
    CHECK_FALSE(is_in_use(policy_of("web.b", ladder), rung));
    CHECK_FALSE(is_in_use(policy_of("web.*", ladder_of({5s}, ReturnPath::queue)), rung));
    CHECK_FALSE(is_in_use(policy_of("web.*", ladder_of({5s, 30s}, ReturnPath::headers)), rung));

    Policy shadowed = policy_of("web.*", ladder_of({5s}, ReturnPath::queue));
    shadowed.entries.push_back(entry("web.a", ladder));
    CHECK_FALSE(is_in_use(shadowed, rung));
}

TEST_CASE("a shared rung is in use while any entry has it in its ladder") {
    const ParsedRung rung{"all", ReturnPath::headers, 30s};
    CHECK(is_in_use(policy_of("email", ladder_of({5s, 30s}, ReturnPath::headers)), rung));
    CHECK_FALSE(is_in_use(policy_of("email", ladder_of({5s}, ReturnPath::headers)), rung));
    CHECK_FALSE(is_in_use(policy_of("email", ladder_of({5s, 30s}, ReturnPath::queue)), rung));
    Ladder other = ladder_of({5s, 30s}, ReturnPath::headers);
    other.name = "other";
    CHECK_FALSE(is_in_use(policy_of("email", other), rung));
}

TEST_CASE("a queue of held messages has the name of its work queue, cut where that is long") {
    CHECK(held_name("email") == "email.held");
    CHECK(held_name(std::string(255, 'a')).size() == 255);
}

TEST_CASE("a queue of held messages is no work queue where its entry may hold") {
    Policy policy = policy_of("*", ladder_of({5s}, ReturnPath::queue));
    CHECK_FALSE(is_own_queue(policy, "email.held"));
    policy.entries[0].hold = true;
    CHECK(is_own_queue(policy, "email.held"));
    CHECK_FALSE(is_own_queue(policy, ".held"));
}

TEST_CASE("every lane is in use") {
    Ladder ladder = ladder_of({10s}, ReturnPath::queue);
    ladder.jitter = {20, 3};
    for (const Milliseconds lane : {8s, 9s, 10s})
        CHECK(is_in_use(policy_of("email", ladder), {"email", ReturnPath::queue, lane}));
    CHECK_FALSE(is_in_use(policy_of("email", ladder), {"email", ReturnPath::queue, 7s}));
}

}  // namespace retryd::core::names_test
