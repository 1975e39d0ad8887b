#include "core/names.h"

#include <set>

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

}  // namespace

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

TEST_CASE("a queue name has 1 to 255 bytes and no line break") {
    CHECK(usable_queue_name("q"));
    CHECK(usable_queue_name(letters(255)));
    CHECK(usable_queue_name("with space\tand tab"));
    CHECK_FALSE(usable_queue_name(""));
    CHECK_FALSE(usable_queue_name(letters(256)));
    CHECK_FALSE(usable_queue_name("line\nbreak"));
    CHECK_FALSE(usable_queue_name("\rbreak"));
    CHECK_FALSE(usable_queue_name("break\n"));
}

TEST_CASE("a name that is not UTF-8 is no queue's: the broker ends the connection over it") {
    CHECK(usable_queue_name("käse€😀"));
    CHECK_FALSE(usable_queue_name("\xff"));
    // Overlong, a surrogate, beyond U+10FFFF: the broker ends the connection over them.
    for (const char* forbidden :
         {"q\xc0\x80", "q\xe0\x80\x80", "q\xf0\x80\x80\x80", "q\xed\xa0\x80", "q\xf4\x90\x80\x80"})
        CHECK_FALSE(usable_queue_name(forbidden));
    for (const char* last :
         {"q\xe0\xa0\x80", "q\xed\x9f\xbf", "q\xee\x80\x80", "q\xf0\x90\x80\x80", "q\xf4\x8f\xbf\xbf"})
        CHECK(usable_queue_name(last));
    CHECK_FALSE(usable_queue_name("a\xc3"));
    CHECK_FALSE(usable_queue_name("\xc0\x80"));
}

}  // namespace retryd::core::names_test
