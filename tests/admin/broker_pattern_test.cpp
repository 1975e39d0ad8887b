#include "admin/patterns.h"
#include "support/catch.h"

namespace retryd::admin::broker_pattern_test {

TEST_CASE("pattern of the broker: matches anywhere in the name, byte by byte, as PCRE does") {
    struct Case {
        const char* pattern;
        const char* name;
        bool matches;
    };
    for (const Case& each : {
             Case{"", "email", true}, Case{"mai", "email", true}, Case{"^mai", "email", false},
             Case{"^email$", "email", true}, Case{"^(?!email$).*", "email", false}, Case{"^(?!email$).*", "sms", true},
             Case{"(?i)EMAIL", "email", true}, Case{R"(\Aemail\z)", "email", true}, Case{R"(^\Qa.b\E$)", "a.b", true},
             Case{R"(^\Qa.b\E$)", "axb", false}, Case{"^(?<year>[0-9]{4})$", "2026", true},
             Case{"^(?>a+)b", "aab", true}, Case{R"(^\p{Lu})", "Email", true},
             Case{"^.$", "\xc3\xbc", false},                               // one letter, two bytes
             Case{"^..$", "\xc3\xbc", true}, Case{"(?<=a)b", "ab", true},  // what std::regex does not know
         }) {
        CAPTURE(each.pattern, each.name);
        CHECK(BrokerPattern(each.pattern).matches(each.name) == each.matches);
    }
}

TEST_CASE("pattern of the broker: of one that cannot be read, or takes for ever, nobody can tell") {
    for (const char* unreadable : {"(", "[", "*", "a{2,1}", "(?"}) {
        CAPTURE(unreadable);
        const BrokerPattern pattern(unreadable);
        CHECK_FALSE(pattern.readable());
        CHECK_FALSE(pattern.matches("email"));
    }
    const BrokerPattern slow("^([a-z]+[.-]?)+_dlq$");
    CHECK(slow.matches("a_dlq") == true);
    for (int i = 0; i < 10'000; ++i)
        CHECK_FALSE(slow.matches("an.ordinary.name.of.a.queue.in.some.shop"));
    CHECK_FALSE(slow.matches("a_dlq"));  // it is not tried again
}

}  // namespace retryd::admin::broker_pattern_test
