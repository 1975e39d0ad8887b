// Messages that frameworks have put away, recorded from the libraries themselves (tests/recordings/record.py): what a
// dialect reads from them, and that they go home as they were published.
#include <chrono>
#include <deque>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands/parked/message_line.h"
#include "core/compose.h"
#include "core/decide.h"
#include "core/failure.h"
#include "core/proof.h"
#include "support/catch.h"

namespace retryd::commands::recorded_failures_test {
namespace {

using core::test::proof_keys;

constexpr core::WallTime now{std::chrono::seconds{1'900'000'000}};

/// One message: as it was published, and as it was put away.
struct Recorded {
    const core::Message* published = nullptr;
    const core::Message* dead = nullptr;
};

/// The messages of a file, by what tells them apart.
class Recording {
  public:
    /// `name`: of a message. `dead`: the queue that the framework has put it into.
    template <class Name>
    Recording(const std::string& file, const std::string& dead, const Name& name) : dead_(dead) {
        std::ifstream lines(std::string{RETRYD_RECORDINGS "/"} + file);
        std::string line;
        REQUIRE(std::getline(lines, line));
        CHECK(nlohmann::json::parse(line).contains("recorded"));
        while (std::getline(lines, line)) {
            MessageLine& read = lines_.emplace_back();
            REQUIRE(read.read(line) == "");
            Recorded& message = messages_[name(read.message())];
            (read.queue() == dead ? message.dead : message.published) = &read.message();
        }
    }

    const Recorded& at(const std::string& name) const {
        CAPTURE(name);
        REQUIRE(messages_.contains(name));
        REQUIRE(messages_.at(name).published != nullptr);
        REQUIRE(messages_.at(name).dead != nullptr);
        return messages_.at(name);
    }
    const std::string& dead() const { return dead_; }
    std::size_t size() const { return messages_.size(); }

  private:
    std::string dead_;
    std::deque<MessageLine> lines_;
    std::map<std::string, Recorded> messages_;
};

std::string text_header(const core::Message& message, std::string_view name) {
    return std::string{core::text_of(core::find(message.properties.header_table(), name)).value_or("")};
}

/// What is delivered from the source.
struct Source {
    core::Delivery delivery;
    core::Source source;
    core::FailureScratch scratch;

    Source(core::Dialect dialect, const std::string& queue, const core::Message& dead) : source{queue, dialect} {
        delivery.message = dead;
        delivery.routing_key = queue;
    }

    core::Failure failure() {
        const auto read = core::read_failure(delivery, source, source.queue, now, scratch);
        REQUIRE(read);
        return *read;
    }

    /// As it is published for its first rung, in one line, without what is retryd's.
    std::string goes_home() {
        const core::Delivery read = core::as_dead_lettered(delivery, source, source.queue, now, scratch);
        const core::Table headers = read.message.properties.header_table();
        const auto death = core::read_death(headers, "retryd.errors");
        REQUIRE(death);
        const auto history = core::read_retry_history(headers, death->queue, proof_keys);
        CHECK(core::attempt_of(*death, history) == 1);
        core::ComposeScratch composed;
        return theirs(core::compose_retry(read.message, {death, history, "retryd", &proof_keys},
                                          core::Retry{1, std::chrono::seconds{5}}, composed));
    }

    static std::string theirs(core::Message message) {
        std::vector<core::Field> fields;
        for (const core::Field& field : message.properties.header_table()) {
            if (!field.name.starts_with("retryd-")) fields.push_back(field);
        }
        if (fields.empty()) message.properties.headers.reset();
        if (message.properties.headers) message.properties.headers = core::Table{fields.data(), fields.size()};
        return line_of_message("home", message);
    }
};

}  // namespace

TEST_CASE("recorded: Celery's task that rejects goes home as it was published") {
    const Recording celery("celery-5.2.6.ndjson", "shop.dead",
                           [](const core::Message& message) { return text_header(message, "task"); });
    REQUIRE(celery.size() == 2);
    const Recorded& refused = celery.at("shop.refuse");
    Source source(core::Dialect::celery, celery.dead(), *refused.dead);
    const core::Failure failure = source.failure();
    CHECK(failure.death.queue == "shop");
    CHECK(failure.death.reason == "rejected");
    CHECK(failure.death.exchange.empty());
    CHECK(failure.death.routing_key == "shop");
    // Celery gives it its `expires` as an expiration as well, which would cut its wait short: it is set aside.
    CHECK(failure.death.original_expiration == "86400000");
    core::Message published = *refused.published;
    REQUIRE(published.properties.expiration == "86400000");
    published.properties.expiration.reset();
    CHECK(source.goes_home() == Source::theirs(published));
}

TEST_CASE("recorded: Celery's task whose retries are used up goes home as Celery published it last") {
    const Recording celery("celery-5.2.6.ndjson", "shop.dead",
                           [](const core::Message& message) { return text_header(message, "task"); });
    const Recorded& paid = celery.at("shop.pay");
    Source source(core::Dialect::celery, celery.dead(), *paid.dead);
    const core::Failure failure = source.failure();
    CHECK(failure.death.queue == "shop");
    CHECK(text_header(failure.message, "id") == text_header(*paid.published, "id"));
    CHECK(failure.message.body == paid.published->body);
    core::Message last = *paid.dead;
    std::vector<core::Field> fields;
    for (const core::Field& field : last.properties.header_table()) {
        if (!field.name.starts_with("x-")) fields.push_back(field);
    }
    last.properties.headers = core::Table{fields.data(), fields.size()};
    CHECK(source.goes_home() == Source::theirs(last));
}

namespace {

Recording dramatiq() {
    return Recording("dramatiq-2.2.0.ndjson", "default.XQ", [](const core::Message& message) {
        return nlohmann::json::parse(message.body).at("actor_name").get<std::string>();
    });
}

}  // namespace

TEST_CASE("recorded: Dramatiq's actor that is tried once, and one that is not known, go home as they were sent") {
    const Recording recording = dramatiq();
    REQUIRE(recording.size() == 3);
    for (const std::string name : {"refuse", "unknown"}) {
        CAPTURE(name);
        const Recorded& refused = recording.at(name);
        Source source(core::Dialect::dramatiq, recording.dead(), *refused.dead);
        const core::Failure failure = source.failure();
        CHECK(failure.death.queue == "default");
        CHECK(failure.death.reason == "rejected");
        CHECK(failure.death.routing_key == "default");
        CHECK(failure.exception.empty());  // it is not in what the broker has
        CHECK(source.goes_home() == Source::theirs(*refused.published));
    }
}

TEST_CASE("recorded: Dramatiq's actor whose retries are used up tells of the failure before the last") {
    const Recording recording = dramatiq();
    const Recorded& paid = recording.at("pay");
    Source source(core::Dialect::dramatiq, recording.dead(), *paid.dead);
    const core::Failure failure = source.failure();
    CHECK(failure.death.queue == "default");
    CHECK(failure.exception.starts_with("Traceback (most recent call last):\n"));
    CHECK(failure.exception.ends_with("ValueError: no stock\n"));
    CHECK(failure.message.body == paid.dead->body);
}

}  // namespace retryd::commands::recorded_failures_test
