// `retryd parked edit`: one message in an editor, and home as it comes back from there.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "every_type.h"
#include "support/catch.h"
#include "support/edit_scene.h"

using namespace retryd::test;

namespace {

std::string contents_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("parked edit: what comes back goes home, says who changed what, and all others keep their place",
          "[one-version]") {
    EditScene s;
    s.park(3);
    s.park_one(R"({"order":17,"items":[1,2]})", {{"tenant", longstr("acme")}});
    s.park_one("last");
    s.editor(R"(sed -i -e 's/"order": 17/"order": 18/' -e 's/acme/Acme/' "$1")");
    const auto edit = s.edit("--header tenant=acme");
    CHECK(edit->shows("replayed  1 of 1"));
    CHECK(edit->code() == 0);
    const Received home = s.take(s.work);
    CHECK(home.body == R"({"order":18,"items":[1,2]})");
    CHECK(text_header(home, "tenant") == "Acme");
    CHECK(find(home.headers, "retryd-parked-reason") == nullptr);
    CHECK(find(home.headers, "x-death") == nullptr);
    CHECK(text_header(home, "retryd-queue") == s.work);
    const Table entry = newest_edit(home);
    REQUIRE(entry.size() == 3);
    CHECK(find(entry, "time")->kind == 'T');
    CHECK(std::get<std::string>(find(entry, "by")->data).find('@') != std::string::npos);
    CHECK(*find(entry, "fields") == array({longstr("header tenant"), longstr("body")}));
    CHECK(find(home.headers, "retryd-replays") != nullptr);
    CHECK(s.drain(s.parking, 4) == std::vector<std::string>{"0", "1", "2", "last"});
    CHECK(s.nothing_kept());
}

TEST_CASE("parked edit: the file is the owner's alone, and says what it is", "[one-version]") {
    EditScene s;
    s.park_one("plain text", {{"tenant", longstr("acme\n// \x1b[2J")}});
    const std::string seen = s.folder.file("seen");
    s.editor("stat -c %a \"$1\" > " + seen + "; stat -c %a \"$(dirname \"$1\")\" >> " + seen + "; cat \"$1\" >> " +
             seen);
    const auto edit = s.edit();
    CHECK(edit->shows("Nothing was changed in it"));
    CHECK(edit->code() == 0);
    const std::string text = contents_of(seen);
    CHECK(text.starts_with("600\n700\n// Parked in " + s.parking));
    CHECK(text.find("attempts-exhausted") != std::string::npos);
    CHECK(text.find("it goes to " + s.work) != std::string::npos);
    CHECK(text.find(R"({"name":"tenant","type":"longstr","value":"acme\n// \u001b[2J"})") != std::string::npos);
    CHECK(text.find("retryd-queue") == std::string::npos);
    CHECK(text.ends_with("plain text\n"));
    CHECK(s.await_depth(s.parking, 1));
    CHECK(s.depth(s.work) == 0);
    CHECK(s.nothing_kept());
}

TEST_CASE("parked edit without a change, in another form either, does nothing", "[one-version]") {
    EditScene s;
    s.park_one(R"({"a":1})", {{"tenant", longstr("acme")}});
    s.editor(R"(sed -i -e 's/"a": 1/"a":     1/' -e 's/^\/\/.*//' "$1")");
    const auto edit = s.edit();
    CHECK(edit->shows("Nothing was changed in it"));
    CHECK(edit->code() == 0);
    CHECK(s.await_depth(s.parking, 1));
    CHECK(s.depth(s.work) == 0);
}

TEST_CASE("parked edit: what is no message is told, and can be edited again or given up", "[one-version]") {
    EditScene s;
    s.park_one(R"({"a":1})");
    SECTION("again, and then given up") {
        s.editor(R"(sed -i 's/"headers": .*/"headers": ,/' "$1")");
        const auto edit = s.edit();
        REQUIRE(edit->shows("parse error at line"));
        REQUIRE(edit->shows("Edit it again?"));
        edit->type("\n");
        REQUIRE(edit->shows("Edit it again?"));
        edit->type("n\n");
        CHECK(edit->shows("given up"));
        CHECK(edit->code() == 1);
        CHECK(s.await_depth(s.parking, 1));
    }
    SECTION("again, and then sent") {
        s.editor(
            R"(if grep -q '"a": }' "$1"; then sed -i 's/"a": }*/"a": 2/' "$1"; else sed -i 's/"a": 1/"a": }/' "$1"; fi)");
        const auto edit = s.edit();
        REQUIRE(edit->shows("no JSON any more"));
        edit->type("y\n");
        CHECK(edit->shows("replayed  1 of 1"));
        CHECK(edit->code() == 0);
        CHECK(s.take(s.work).body == R"({"a":2})");
    }
    SECTION("the terminal says no more") {
        s.editor(R"(echo nonsense > "$1")");
        const auto edit = s.edit();
        REQUIRE(edit->shows("Edit it again?"));
        edit->type("\x04");
        CHECK(edit->code() == 1);
        CHECK(s.await_depth(s.parking, 1));
    }
    SECTION("an empty file") {
        s.editor(R"(: > "$1")");
        const auto edit = s.edit();
        REQUIRE(edit->shows("the file is empty"));
        edit->type("n\n");
        CHECK(edit->code() == 1);
        CHECK(s.await_depth(s.parking, 1));
    }
    CHECK(s.nothing_kept());
}

TEST_CASE("parked edit without a terminal, or without an editor that ends well, changes nothing and says so",
          "[one-version]") {
    EditScene s;
    s.park(1);
    const CommandResult no_terminal = s.parked("edit");
    CHECK(no_terminal.code == 1);
    CHECK(no_terminal.err.find("needs a terminal") != std::string::npos);
    s.editor("exit 3");
    const auto failing = s.edit();
    CHECK(failing->shows("ended with 3. The message is parked as it was"));
    CHECK(failing->code() == 1);
    s.editor("exec nowhere-at-all");
    const auto missing = s.edit();
    CHECK(missing->shows("is not there: name another one in VISUAL or EDITOR"));
    CHECK(missing->code() == 1);
    s.editor("kill -9 $$");
    const auto killed = s.edit();
    CHECK(killed->shows("was ended by signal 9"));
    CHECK(killed->code() == 1);
    const auto none = s.edit("--id none");
    CHECK(none->shows("no message that fits is parked there"));
    CHECK(none->code() == 1);
    CHECK(s.await_depth(s.parking, 1));
    CHECK(s.depth(s.work) == 0);
    CHECK(s.nothing_kept());
}

TEST_CASE("parked edit of a message that is gone meanwhile sends nothing, and keeps what was written",
          "[one-version]") {
    EditScene s;
    s.park_one("mine");
    s.park_one("another");
    s.editor(shell_word(retryd_binary()) + " parked drop --first 1 --yes -c " + s.daemon.config_file() +
             " > /dev/null 2>&1; sed -i s/mine/edited/ \"$1\"");
    const auto edit = s.edit();
    CHECK(edit->shows("the message is not parked there any more"));
    CHECK(edit->shows("is kept in"));
    CHECK(edit->code() == 1);
    CHECK(s.kept().find("edited") != std::string::npos);
    CHECK(s.depth(s.work) == 0);
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"another"});
}

TEST_CASE("parked edit --archive keeps the original, as import takes it, before anything is sent", "[one-version]") {
    EditScene s;
    s.park_one("the original", one_of_each("own-"));
    s.editor(R"(sed -i 's/the original/the new one/' "$1")");
    const std::string archive = s.folder.file("archive.ndjson");
    std::ofstream(archive) << R"({"queue":"q","body":"earl)";  // of one that was killed
    const auto edit = s.edit("--archive " + archive);
    CHECK(edit->shows("replayed  1 of 1"));
    CHECK(edit->code() == 0);
    CHECK(s.take(s.work).body == "the new one");
    CHECK(s.parked("import " + archive).says({"1 of 1 message imported"}));
    const std::string again = s.folder.file("again.ndjson");
    REQUIRE(s.parked("export " + again).code == 0);
    CHECK(contents_of(again) == contents_of(archive));
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"the original"});
}

TEST_CASE("parked edit: where the original cannot be kept, or nothing takes the message, it stays parked",
          "[one-version]") {
    EditScene s;
    s.park_one("original");
    s.editor(R"(sed -i 's/original/new/' "$1")");
    const std::string full =
        s.plain_queue("full", {{"x-max-length", int64(0)}, {"x-overflow", longstr("reject-publish")}});
    const auto no_archive = s.edit("--archive " + s.folder.path());
    CHECK(no_archive->shows("the original could not be kept, so nothing was sent"));
    CHECK(no_archive->code() == 1);
    const auto refused = s.edit("--to " + full);
    CHECK(refused->shows("refused by the queue"));
    CHECK(refused->shows("is kept in"));
    CHECK(refused->code() == 1);
    CHECK(s.kept().find("new") != std::string::npos);
    const auto nowhere = s.edit("--to " + s.queue_name("none"));
    CHECK(nowhere->shows("does not exist"));
    CHECK(nowhere->code() == 1);
    CHECK(s.depth(s.work) == 0);
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"original"});
}

TEST_CASE("parked edit of a hostile message: what nobody has changed goes as it was", "[one-version]") {
    EditScene s;
    Value deep = longstr("down there");
    for (int i = 0; i < 60; ++i)
        deep = i % 2 == 0 ? array({deep}) : table({{std::string("\0\x1b]0;", 5), deep}});
    Table headers = one_of_each("own-");
    headers.push_back({"deep", deep});
    headers.push_back({"// \"}]", longstr("----- body\n")});
    headers.push_back({"tenant", longstr("acme")});
    const std::string body("\0\1\xff----- body, JSON\n binary \x1b[2J", 31);
    s.park_one(body, headers);
    s.editor(R"(sed -i 's/acme/Acme/' "$1")");
    const auto edit = s.edit();
    CHECK(edit->shows("replayed  1 of 1"));
    CHECK(edit->code() == 0);
    const Received home = s.take(s.work);
    CHECK(home.body == body);
    headers.back() = {"tenant", longstr("Acme")};
    for (const Field& field : headers) {
        INFO(field.name);
        const auto found = std::count_if(home.headers.begin(), home.headers.end(), [&](const Field& other) {
            return other.name == field.name && other.value == field.value;
        });
        CHECK(found == 1);
    }
    CHECK(*find(newest_edit(home), "fields") == array({longstr("header tenant")}));
}

TEST_CASE("parked edit that is stopped while the editor is open changes nothing", "[one-version]") {
    EditScene s;
    s.park_one("original");
    const std::string open = s.folder.file("open");
    for (const int signal : {SIGTERM, SIGHUP, SIGKILL}) {
        CAPTURE(signal);
        std::filesystem::remove(open);
        s.editor("sed -i s/original/new/ \"$1\"; echo $$ > " + open + ".part; mv " + open + ".part " + open +
                 "; exec sleep 60");
        const auto edit = s.edit();
        REQUIRE(await([&] { return std::filesystem::exists(open); }));
        edit->send(signal);
        CHECK(edit->code() == (signal == SIGKILL ? -SIGKILL : 1));
        if (signal == SIGKILL) {
            ::kill(std::stoi(contents_of(open)), SIGKILL);
        } else {
            CHECK(s.nothing_kept());
        }
    }
    CHECK(s.depth(s.work) == 0);
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"original"});
}

TEST_CASE("parked edit: Ctrl-C in the editor is the editor's", "[one-version]") {
    EditScene s;
    s.park_one("original");
    s.editor("trap : INT; echo the editor is open; until read answer; do :; done; sed -i s/original/new/ \"$1\"");
    const auto edit = s.edit();
    REQUIRE(edit->shows("the editor is open"));
    edit->type("\x03");
    edit->type("done\n");
    CHECK(edit->shows("replayed  1 of 1"));
    CHECK(edit->code() == 0);
    CHECK(s.take(s.work).body == "new");
}

TEST_CASE("what was edited says so when it is parked again", "[one-version]") {
    EditScene s;
    s.park_one("original");
    s.editor(R"(sed -i 's/original/new/' "$1")");
    CHECK(s.edit("--to " + s.plain_queue("other"))->code() == 0);
    const Received home = s.take(s.queue_name("other"));
    s.park_one("again", {{"retryd-edited", *find(home.headers, "retryd-edited")}});
    const CommandResult shown = s.parked("show");
    CHECK(shown.says({"edited", "Z by ", "@", ": body"}));
    s.editor(R"(sed -i 's/again/third/' "$1")");
    CHECK(s.edit()->code() == 0);
    const Received twice = s.take(s.work);
    CHECK(std::get<Array>(find(twice.headers, "retryd-edited")->data).size() == 2);
}
