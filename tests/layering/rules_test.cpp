// The rules on made-up sources: that each of them can fail, and on what.
#include "layering/rules.h"

#include <initializer_list>
#include <utility>

#include "support/catch.h"

namespace retryd::layering::rules_test {
namespace {

Sources sources_of(std::initializer_list<std::pair<const char*, const char*>> files) {
    Sources sources;
    for (const auto& [path, text] : files)
        sources.emplace(path, parse(text));
    return sources;
}

using Lines = std::vector<std::string>;

/// The fault in one include of one file, without the place.
bool allowed(const std::string& from, const std::string& included) {
    return points_up_or_sideways({{from, parse("#include \"" + included + '"')}}).empty();
}

bool sees(const std::string& from, const std::string& header) {
    return library_away_from_home({{from, parse("#include <" + header + '>')}}).empty();
}

bool pure(const std::string& path, const std::string& text) {
    return impure({{path, parse(text)}}).empty();
}

}  // namespace

TEST_CASE("an include may point to its own folder and to every layer below, to nothing else") {
    const std::vector<std::vector<std::string>> layers{
        {"core"}, {"relay", "config", "system"}, {"admin"}, {"amqp", "telemetry", "http"}, {"commands", "daemon"}};
    for (std::size_t from = 0; from < layers.size(); ++from) {
        for (std::size_t to = 0; to < layers.size(); ++to) {
            for (const std::string& here : layers[from]) {
                for (const std::string& there : layers[to]) {
                    CAPTURE(here, there);
                    CHECK(allowed(here + "/a.cpp", there + "/b.h") == (to < from || here == there));
                }
            }
        }
    }
    for (const char* folder : {"core", "relay", "config", "admin", "amqp", "telemetry", "http", "commands", "daemon"})
        CHECK(allowed("main.cpp", std::string{folder} + "/a.h"));
}

TEST_CASE("a violation names the file, the line and the include") {
    const auto sources = sources_of({{"core/a.h", "#pragma once\n#include \"relay/b.h\"\n"}, {"relay/b.h", ""}});
    CHECK(points_up_or_sideways(sources) == Lines{"core/a.h:2: relay/b.h points up"});
}

TEST_CASE("brackets in place of quotes hide nothing") {
    const auto sources = sources_of({{"relay/a.h", "#include <config/b.h>\n"}});
    CHECK(points_up_or_sideways(sources) == Lines{"relay/a.h:1: config/b.h points sideways"});
}

TEST_CASE("a name that is relative to the including file is refused, it would slip past") {
    const auto sources = sources_of({{"core/a.h", "#include \"b.h\"\n#include \"../relay/c.h\"\n#include \"./b.h\"\n"},
                                     {"core/b.h", "#include <amqp.h>"}});
    CHECK(points_up_or_sideways(sources) == Lines{"core/a.h:1: b.h is not named from src down",
                                                  "core/a.h:2: ../relay/c.h is not named from src down",
                                                  "core/a.h:3: ./b.h is not named from src down"});
}

TEST_CASE("a folder that nobody gave a place is refused") {
    CHECK(points_up_or_sideways(sources_of({{"misc/a.h", ""}})) ==
          Lines{"misc/a.h: the folder has no place in the order of layers"});
}

TEST_CASE("each library is seen from its home only") {
    const std::vector<std::string> folders{"core",      "relay", "admin",    "config", "amqp",
                                           "telemetry", "http",  "commands", "daemon"};
    const std::vector<std::pair<std::string, std::string>> homes{
        {"amqp.h", "amqp"},
        {"amqp_tcp_socket.h", "amqp"},
        {"rabbitmq-c/amqp.h", "amqp"},
        {"pcre2.h", "admin"},
        {"yaml-cpp/yaml.h", "config"},
        {"spdlog/spdlog.h", "telemetry"},
        {"fmt/core.h", "telemetry"},
        {"CLI/CLI.hpp", "commands"},
        {"nlohmann/json.hpp", "commands daemon http telemetry"},
        {"unheard-of/lib.h", ""},
        {"sys/socket.h", "core relay admin config amqp telemetry http commands daemon"},
        {"vector", "core relay admin config amqp telemetry http commands daemon"},
    };
    for (const auto& [header, home] : homes) {
        for (const std::string& folder : folders) {
            CAPTURE(header, folder);
            CHECK(sees(folder + "/a.cpp", header) == (home.find(folder) != std::string::npos));
        }
    }
    CHECK_FALSE(sees("main.cpp", "spdlog/spdlog.h"));
}

TEST_CASE("a library is not seen through a header of its home either") {
    const auto sources = sources_of({{"amqp/inside.h", "#include <amqp.h>"},
                                     {"amqp/session.h", "#include \"amqp/inside.h\""},
                                     {"amqp/session.cpp", "#include \"amqp/session.h\""},
                                     {"daemon/run.cpp", "#include \"amqp/session.h\""},
                                     {"daemon/run.h", "#include \"amqp/not_written_yet.h\""}});
    CHECK(library_away_from_home(sources) ==
          Lines{"daemon/run.cpp: sees amqp.h by way of amqp/inside.h, away from its home"});
}

TEST_CASE("core, relay and admin include the harmless part of the standard library, and each other") {
    for (const char* header : {"string", "vector", "chrono", "memory_resource", "core/value.h", "relay/broker.h"})
        for (const char* file : {"relay/a.cpp", "admin/a.cpp"})
            CHECK(pure(file, std::string{"#include <"} + header + '>'));
    for (const char* header : {"iostream", "fstream", "cstdio", "random", "ctime", "thread", "filesystem", "poll.h",
                               "unistd.h", "sys/socket.h", "spdlog/spdlog.h", "amqp.h", "config/settings.h"}) {
        CAPTURE(header);
        CHECK_FALSE(pure("core/a.cpp", std::string{"#include <"} + header + '>'));
        CHECK_FALSE(pure("relay/a.h", std::string{"#include \""} + header + '"'));
        CHECK(pure("daemon/a.cpp", std::string{"#include <"} + header + '>'));
    }
}

TEST_CASE("core, relay and admin read no clock and use no randomness, by whatever header they came") {
    for (const char* code :
         {"auto t = std::chrono::steady_clock::now();", "auto t = Clock::now ();", "std::time(nullptr);",
          "int i = rand() % 6;", "std::random_device seed;", "std::mt19937 generator;", "getenv(\"HOME\");",
          "std::cerr << 1;", "printf(\"x\");", "sleep(1);"}) {
        CAPTURE(code);
        CHECK_FALSE(pure("core/a.cpp", code));
        CHECK_FALSE(pure("relay/a.h", code));
        CHECK_FALSE(pure("admin/a.cpp", code));
        CHECK(pure("telemetry/a.cpp", code));
    }
    for (const char* code :
         {"void tick(SteadyTime now);", "return now - then;", "death.time = 1;", "// now()", "f(\"now()\");",
          "known();", "now_or_never();", "timeout(1);", "std::chrono::steady_clock"}) {
        CAPTURE(code);
        CHECK(pure("core/a.cpp", code));
    }
    CHECK(impure(sources_of({{"core/a.cpp", "\n\nauto t = now();"}})) == Lines{"core/a.cpp:3: now() is not pure"});
}

TEST_CASE("a circle of headers is found, and named whole") {
    CHECK(cycles(sources_of({{"core/a.h", "#include \"core/a.h\""}})) == Lines{"core/a.h -> core/a.h"});
    const auto circle = sources_of({{"core/a.h", "#include \"core/b.h\""},
                                    {"core/b.h", "#include \"core/c.h\""},
                                    {"core/c.h", "#include \"core/b.h\""}});
    CHECK(cycles(circle) == Lines{"core/b.h -> core/c.h -> core/b.h"});
}

TEST_CASE("two ways to one header are no circle") {
    const auto diamond = sources_of({{"core/a.h", "#include \"core/b.h\"\n#include \"core/c.h\""},
                                     {"core/b.h", "#include \"core/d.h\""},
                                     {"core/c.h", "#include \"core/d.h\""},
                                     {"core/d.h", "#include <string>"}});
    CHECK(cycles(diamond).empty());
}

}  // namespace retryd::layering::rules_test
