// `retryd parked edit` that is killed: the message is parked, or in its work queue, or both; never nowhere.
#include <csignal>

#include "faults/faults.h"
#include "support/catch.h"
#include "support/edit_scene.h"

using namespace retryd::test;

namespace {

struct EditThroughFaults : EditScene {
    EditThroughFaults() : network(broker_address()) {
        config.uris = {uri_of(network.address())};
        park_one("original");
        editor(R"(sed -i 's/original/new/' "$1")");
    }

    FaultProxy network;
};

}  // namespace

TEST_CASE("parked edit, kill -9 between the confirm and the ack: the new one is home, the original still parked") {
    EditThroughFaults s;
    const std::string archive = s.folder.file("archive");
    const auto missing = s.network.on(every(ack()), fault::swallow());
    const auto edit = s.edit("--archive " + archive);
    REQUIRE(s.network.await_matched(missing));
    CHECK(s.take(s.work).body == "new");
    edit->send(SIGKILL);
    CHECK(edit->code() == -SIGKILL);
    CHECK(s.kept().find("new") != std::string::npos);
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"original"});
    CHECK(std::filesystem::file_size(archive) > 0);
}

TEST_CASE("parked edit, kill -9 before the confirm: the original is parked, and in the archive already") {
    EditThroughFaults s;
    const std::string archive = s.folder.file("archive");
    const auto missing = s.network.on(every(publication()), fault::swallow());
    const auto edit = s.edit("--archive " + archive);
    REQUIRE(s.network.await_matched(missing));
    CHECK(std::filesystem::file_size(archive) > 0);
    edit->send(SIGKILL);
    CHECK(edit->code() == -SIGKILL);
    CHECK(s.depth(s.work) == 0);
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"original"});
}

TEST_CASE("parked edit, the connection lost before the confirm: it is said, and what was written is kept") {
    EditThroughFaults s;
    s.network.on(confirm(), fault::cut());
    const auto edit = s.edit();
    CHECK(edit->shows("The connection was lost"));
    CHECK(edit->shows("is kept in"));
    CHECK(edit->code() == 1);
    CHECK(s.drain(s.parking, 1) == std::vector<std::string>{"original"});
}
