// Which steps are carried out on a connection of their own, and what it means that one was ended over them.
#include "amqp/aside.h"

#include <string>

#include "support/catch.h"

namespace retryd::amqp::aside_test {

using Result = Declarer::Result;

namespace {

std::string letters(std::size_t number) {
    std::string text;
    for (std::size_t i = 0; i < number; ++i)
        text += "注";
    return text;
}

}  // namespace

TEST_CASE("aside: a name whose refusal fits no 255 bytes is asked for elsewhere; none that is ASCII or short") {
    const auto too_long = [](const std::string& name, const std::string& vhost = "/") {
        return is_too_long_to_refuse(Declarer::CheckQueue{name}, vhost);
    };
    CHECK(too_long(letters(80)));
    CHECK(too_long("x" + letters(72)));
    CHECK_FALSE(too_long(letters(60)));
    CHECK(too_long(letters(60), std::string(60, 'v')));
    CHECK(too_long(std::string(200, 'q'), letters(20)));
    CHECK_FALSE(too_long(std::string(255, 'q')));
    CHECK(is_too_long_to_refuse(core::QueueSpec{letters(80), {}, {}}, "/"));
}

TEST_CASE("aside: over what a connection has ended is known from then on, of so much at most") {
    ConnectionClosingSteps steps;
    const Declarer::Step one = Declarer::CheckQueue{"one"};
    CHECK_FALSE(steps.contains(one));
    CHECK(steps.add(one));
    CHECK_FALSE(steps.add(one));
    CHECK(steps.contains(one));
    CHECK_FALSE(steps.contains(core::QueueSpec{"one", {}, {}}));
    for (int i = 0; i < 1'000; ++i)
        steps.add(Declarer::CheckQueue{std::to_string(i)});
    CHECK_FALSE(steps.contains(one));
    CHECK(steps.contains(Declarer::CheckQueue{"999"}));
}

TEST_CASE("aside: a queue over which the connection ended when it was looked for counts as missing, else as refused") {
    const std::string words = "541 INTERNAL_ERROR";
    const Declarer::Outcome check = Declarer::ended(Declarer::CheckQueue{"a"}, words);
    CHECK(check.result == Result::missing);
    CHECK(check.text == "queue 'a' does not exist");
    CHECK(Declarer::ended(core::BindingSpec{"a", "retryd.return", "", {}}, words).result == Result::missing);
    const Declarer::Outcome declared = Declarer::ended(core::QueueSpec{"a.retry.5s", {}, {}}, words);
    CHECK(declared.result == Result::refused);
    CHECK_FALSE(declared.unanswered);
    CHECK(declared.text.find("'a.retry.5s'") != std::string::npos);
    CHECK(declared.text.find("does not fit 255 bytes") != std::string::npos);
}

}  // namespace retryd::amqp::aside_test
