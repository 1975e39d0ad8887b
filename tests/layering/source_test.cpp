#include "layering/source.h"

#include "support/catch.h"

namespace retryd::layering::source_test {
namespace {

std::string includes_of(std::string_view text) {
    std::string line;
    for (const Include& include : parse(text).includes)
        line += include.name + '@' + std::to_string(include.line) + ' ';
    return line;
}

}  // namespace

TEST_CASE("an include is found in every spelling, with its line") {
    CHECK(includes_of("#pragma once\n\n#include \"core/value.h\"\n#include <string>\n") == "core/value.h@3 string@4 ");
    CHECK(includes_of("  #  include   <poll.h>  // why\n#include\"a/b.h\"\n") == "poll.h@1 a/b.h@2 ");
    CHECK(includes_of("#if X\n#include <a>\n#else\n#include <b>\n#endif") == "a@2 b@4 ");
}

TEST_CASE("an include in a comment or in a text is none") {
    CHECK(includes_of("// #include <a>\n/*\n#include <b>\n*/ int x;\n") == "");
    CHECK(includes_of("auto s = R\"(\n#include <a>\n)\";\n#include <b>\n") != "");
    CHECK(includes_of("#if __has_include(<a>)\n#endif\n") == "");
    CHECK(includes_of("#include MACRO\n#include <unclosed\n") == "");
}

TEST_CASE("code is what is left without comments and the insides of literals, line by line") {
    CHECK(parse("int a; // now()\nint b;").code == "int a;         \nint b;");
    CHECK(parse("f(\"now()\");").code == "f(\"     \");");
    CHECK(parse("f(\"a\\\"now()\") + g();").code == "f(\"        \") + g();");
    CHECK(parse("f('\"'); g(); // '\"'").code == "f(' '); g();       ");
    CHECK(parse("int a = 1'000; g('x');").code == "int a = 1'000; g(' ');");
    CHECK(parse("a /* b\nc */ d").code == "a     \n     d");
    CHECK(parse("f(\"// no comment\"); now();").code == "f(\"             \"); now();");
}

TEST_CASE("a folder is the part before the first slash") {
    CHECK(folder_of("core/value.h") == "core");
    CHECK(folder_of("sys/a/b.h") == "sys");
    CHECK(folder_of("main.cpp") == "");
}

}  // namespace retryd::layering::source_test
