// The galleries of hostile messages, changed at random, for as long as RETRYD_FUZZ_SECONDS says: whatever comes, the
// good messages beside it come home, nothing hangs and nothing is lost. Hidden, for nobody waits an hour for it:
//
//   RETRYD_FUZZ_SECONDS=3600 tests/support/with-broker FOLDER build/dev/tests/broker/broker_tests "[hour]"
//
// RETRYD_FUZZ_SEED gives the same messages again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "broker/foreign_gallery.h"
#include "broker/gallery_scene.h"
#include "broker/hostile_gallery.h"
#include "support/machine.h"
#include "support/other_protocols.h"

using namespace retryd::test;

namespace {

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::stoull(text);
}

/// Changes messages: what they are made of is exchanged, cut, repeated and spoilt.
class Mutator {
  public:
    Mutator(std::uint64_t seed, const std::vector<HostileMessage>& gallery) : random_(seed), gallery_(gallery) {}

    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
    bool one_in(std::size_t number) { return below(number) == 0; }

    HostileMessage next() {
        HostileMessage hostile = any();
        for (std::size_t times = below(4); times > 0; --times)
            change(hostile.message);
        return hostile;
    }

    void spoil(std::string& bytes) {
        for (std::size_t times = 1 + below(4); times > 0 && !bytes.empty(); --times) {
            const std::size_t at = below(bytes.size());
            switch (below(4)) {
                case 0:
                    bytes[at] = static_cast<char>(below(256));
                    break;
                case 1:
                    bytes[at] = static_cast<char>(static_cast<unsigned>(bytes[at]) ^ 1U << below(8));
                    break;
                case 2:
                    bytes.erase(at, 1 + below(8));
                    break;
                default:
                    bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(16)));
            }
        }
    }

  private:
    const HostileMessage& any() { return gallery_[below(gallery_.size())]; }

    void change(Message& message) {
        switch (below(6)) {
            case 0:
                message.properties = any().message.properties;
                break;
            case 1:
                for (const Field& field : any().message.headers)
                    message.headers.push_back(field);
                break;
            case 2:
                spoil(message.body);
                break;
            default:
                change(message.headers);
        }
    }

    void change(Table& fields) {
        if (fields.empty()) return;
        const std::size_t at = below(fields.size());
        switch (below(6)) {
            case 0:
                fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            case 1:
                fields.push_back(fields[at]);
                break;
            case 2:
                fields[at].name = some_name();
                break;
            default:
                change(fields[at].value);
        }
    }

    void change(Value& value) {
        if (auto* fields = std::get_if<Table>(&value.data); fields != nullptr && !one_in(5)) return change(*fields);
        if (auto* values = std::get_if<Array>(&value.data); values != nullptr && !values->empty() && !one_in(5))
            return change(values->at(below(values->size())));
        if (auto* text = std::get_if<std::string>(&value.data); text != nullptr && !one_in(3)) return spoil(*text);
        const Table& others = any().message.headers;
        if (!others.empty()) value = others[below(others.size())].value;
    }

    std::string some_name() {
        const Table& others = any().message.headers;
        std::string name = others.empty() ? "x-death" : others[below(others.size())].name;
        if (one_in(3)) spoil(name);
        name.resize(std::min<std::size_t>(name.size(), 255));
        return name.empty() ? "x" : name;
    }

    std::mt19937_64 random_;
    const std::vector<HostileMessage>& gallery_;
};

/// What the test's own consumer cannot read would come to it again and again.
std::vector<HostileMessage> readable(std::vector<HostileMessage> gallery) {
    std::erase_if(gallery, [](const HostileMessage& hostile) { return hostile.unreadable; });
    return gallery;
}

class WireFuzz {
  public:
    WireFuzz(GalleryScene& scene, std::uint64_t seed)
        : s_(scene),
          gallery_(readable(hostile_gallery(s_.names))),
          mutator_(seed, gallery_),
          foreign_(foreign_gallery(s_.expiring, version_of(s_.client))) {}

    void run(seconds time) {
        const Clock::time_point end = Clock::now() + time;
        while (Clock::now() < end && s_.daemon.running()) {
            send_good();
            for (std::size_t times = mutator_.below(4); times > 0; --times)
                send_hostile();
            if (mutator_.one_in(200)) send_foreign();
            work(milliseconds(5));
            look_for_late_ones();
        }
    }

    /// Waits until all of them are home. How late the last one was counts, too.
    void come_home() {
        const Clock::time_point end = Clock::now() + seconds(60);
        while (!under_way_.empty() && Clock::now() < end) {
            work(milliseconds(20));
            look_for_late_ones();
        }
    }

    std::size_t good() const { return good_; }
    std::size_t missing() const { return under_way_.size(); }
    milliseconds longest() const { return longest_; }

  private:
    void send_good() {
        const std::string body = "good " + std::to_string(++good_);
        under_way_[body] = Clock::now();
        order_.push_back(body);
        s_.client.send("", s_.work, {.body = body});
        if (good_ % 100 == 0) s_.client.await_confirms(seconds(60));
    }

    void send_hostile() {
        HostileMessage hostile = mutator_.next();
        // Its own consumer must be able to read what comes to it.
        const Way way = mutator_.one_in(3) ? Way::errors : Way::expired;
        hostile.unreadable = true;
        hostile.what += " #" + std::to_string(s_.hostile_sent);
        // The broker itself would send copies, to the victim as well.
        std::erase_if(hostile.message.headers,
                      [](const Field& field) { return field.name == "CC" || field.name == "BCC"; });
        s_.send_hostile(std::move(hostile), way);
    }

    /// As they are, or AMQP 1.0 with spoilt bytes.
    void send_foreign() {
        if (mutator_.one_in(2)) return s_.send_foreign(foreign_[mutator_.below(foreign_.size())]);
        std::string bytes = amqp10::encoded({.application_properties = {{"a", amqp10::text("text")},
                                                                        {"b", amqp10::ulong(1)},
                                                                        {"c", amqp10::binary("bytes")}},
                                             .annotations = {{"x-opt-a", amqp10::symbol("symbol")}},
                                             .message_id = amqp10::text("id"),
                                             .content_type = "text/plain"});
        mutator_.spoil(bytes);
        s_.send_foreign({"spoilt AMQP 1.0", [this, bytes] { amqp10::publish_encoded(s_.expiring, bytes); }});
    }

    void work(milliseconds within) {
        try {
            while (s_.work_for(within)) {
            }
        } catch (const std::runtime_error&) {  // one that the test's own client cannot read
            s_.worker = std::make_unique<Worker>(s_.work, 200);
        }
        while (!order_.empty() && is_home(order_.front()))
            order_.pop_front();
    }

    bool is_home(const std::string& body) {
        if (!s_.home.contains(body)) return false;
        const auto sent = under_way_.find(body);
        if (sent != under_way_.end()) {
            longest_ = std::max(longest_, since(sent->second));
            under_way_.erase(sent);
        }
        return true;
    }

    /// The oldest that is not home.
    void look_for_late_ones() {
        if (!order_.empty()) longest_ = std::max(longest_, since(under_way_.at(order_.front())));
    }

    GalleryScene& s_;
    std::vector<HostileMessage> gallery_;
    Mutator mutator_;
    std::vector<ForeignMessage> foreign_;
    std::map<std::string, Clock::time_point> under_way_;
    std::deque<std::string> order_;
    std::size_t good_ = 0;
    milliseconds longest_{0};
};

}  // namespace

TEST_CASE("whatever is changed in hostile messages: good ones come home, nothing hangs, nothing is lost", "[.hour]") {
    const seconds time(number_in_environment("RETRYD_FUZZ_SECONDS", 30));
    const std::uint64_t seed = number_in_environment("RETRYD_FUZZ_SEED", std::random_device()());
    GalleryScene s("text", "info");
    set_policy("gallery-limit", "^" + s.config.error_queue + "$", R"({"delivery-limit": 20})");
    s.client.bind(s.expiring, "amq.topic", "#");
    const Machine machine;
    WireFuzz fuzz(s, seed);
    fuzz.run(time);
    s.client.await_confirms(seconds(60));
    fuzz.come_home();
    const auto all_there = [&] {
        while (s.work_for(milliseconds(20))) {
        }
        return s.hostile_home() + s.parked() >= s.hostile_sent && s.depth(s.config.error_queue) == 0;
    };
    const bool settled = await(all_there, seconds(120));
    std::cout << "seed " << seed << ": " << fuzz.good() << " good ones, " << fuzz.missing() << " of them not home; "
              << s.hostile_sent << " hostile ones, " << s.hostile_home() << " home, " << s.parked()
              << " parked; the longest way home " << fuzz.longest().count() << " ms; "
              << s.daemon.lines_with({"connected to"}) << " connections\n";
    CHECK(fuzz.missing() == 0);
    CHECK(settled);
    CHECK(fuzz.longest() < seconds(30) + machine.slack());
    CHECK(s.depth(s.victim) == 0);
    CHECK(s.daemon.running());
    s.stop();
}
