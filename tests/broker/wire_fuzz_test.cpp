// The galleries of hostile messages, changed at random, for as long as RETRYD_FUZZ_SECONDS says: whatever comes, the
// good messages beside it come home, nothing hangs and nothing is lost. `ctest --preset soak` does it for an hour.
//
// RETRYD_FUZZ_SEED gives the same messages again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broker/connect_time.h"
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

std::size_t size_of(const Table& fields);

/// About as much as it takes on the wire.
std::size_t size_of(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value.data)) return 5 + text->size();
    if (const auto* fields = std::get_if<Table>(&value.data)) return 5 + size_of(*fields);
    const auto* values = std::get_if<Array>(&value.data);
    if (values == nullptr) return 9;
    std::size_t size = 5;
    for (const Value& each : *values)
        size += size_of(each);
    return size;
}

std::size_t size_of(const Table& fields) {
    std::size_t size = 0;
    for (const Field& field : fields)
        size += 1 + field.name.size() + size_of(field.value);
    return size;
}

int depth_of(const Value& value) {
    int deepest = 0;
    if (const auto* fields = std::get_if<Table>(&value.data))
        for (const Field& field : *fields)
            deepest = std::max(deepest, 1 + depth_of(field.value));
    if (const auto* values = std::get_if<Array>(&value.data))
        for (const Value& each : *values)
            deepest = std::max(deepest, 1 + depth_of(each));
    return deepest;
}

/// rabbitmq-c gives up on what is nested too deep, and can publish no more than fits into a frame, with the properties.
/// What retryd cannot publish again is among that.
bool is_readable(const Message& message) {
    constexpr std::size_t largest = 128'000;
    constexpr int deepest = 80;
    const auto shallow = [](const Field& field) { return depth_of(field.value) < deepest; };
    return size_of(message.headers) < largest && std::all_of(message.headers.begin(), message.headers.end(), shallow);
}

/// Changes messages: what they are made of is exchanged, cut, repeated and spoilt.
class Mutator {
  public:
    Mutator(std::uint64_t seed, const std::vector<HostileMessage>& gallery) : random_(seed), gallery_(gallery) {}

    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
    bool one_in(std::size_t number) { return below(number) == 0; }

    /// One that the test's own clients can read, wherever it comes to.
    HostileMessage next() {
        for (;;) {
            HostileMessage hostile = any();
            for (std::size_t times = below(4); times > 0; --times)
                change(hostile.message);
            // The broker itself would send copies, to the victim as well.
            std::erase_if(hostile.message.headers,
                          [](const Field& field) { return field.name == "CC" || field.name == "BCC"; });
            if (is_readable(hostile.message)) return hostile;
        }
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

/// What the test's own consumers cannot read would come to them again and again.
std::vector<HostileMessage> readable(std::vector<HostileMessage> gallery) {
    std::erase_if(gallery, [](const HostileMessage& hostile) { return hostile.unreadable; });
    return gallery;
}

/// Nobody gets in at once while the broker is busy.
template <class Connect>
auto connected(Connect connect) {
    const Clock::time_point end = Clock::now() + seconds(120);
    for (;;) {
        try {
            return connect();
        } catch (const std::runtime_error&) {
            if (Clock::now() >= end) throw;
        }
        std::this_thread::sleep_for(milliseconds(200));
    }
}

/// Before 3.13 the broker counts on with what a producer has written: it crashes over entries that are no tables, and
/// cannot hand over a count that is a fraction.
bool crashes_old_brokers(const Field& field) {
    if (field.name != "x-death") return false;
    const auto* entries = std::get_if<Array>(&field.value.data);
    if (entries == nullptr) return true;
    return !std::all_of(entries->begin(), entries->end(), [](const Value& entry) {
        const auto* fields = std::get_if<Table>(&entry.data);
        const Value* const count = fields == nullptr ? nullptr : find(*fields, "count");
        return count != nullptr && std::holds_alternative<std::int64_t>(count->data);
    });
}

/// Before 3.13 the broker drops what dies without a rejection on its way to a queue that its x-death names, where no
/// entry up to that one is of a rejection: to it that is a cycle, whoever has written it (is_cycle() of
/// rabbit_dead_letter.erl).
bool is_cycle_to_old_brokers(const Table& headers, const std::string& queue) {
    const Value* const deaths = find(headers, "x-death");
    const auto* const entries = deaths == nullptr ? nullptr : std::get_if<Array>(&deaths->data);
    if (entries == nullptr) return false;
    const auto says = [](const Value& entry, const char* name, const std::string& text) {
        const auto* fields = std::get_if<Table>(&entry.data);
        const Value* const value = fields == nullptr ? nullptr : find(*fields, name);
        return value != nullptr && *value == longstr(text);
    };
    for (const Value& entry : *entries) {
        if (says(entry, "reason", "rejected")) return false;
        if (says(entry, "queue", queue)) return true;
    }
    return false;
}

/// Takes out what is parked, and what came to a queue that nobody works for, and writes down what it was; beside the
/// test, which must not be late for it. What RabbitMQ cannot hand over `parked drop` takes away.
class Collector {
  public:
    Collector(std::vector<std::string> queues, std::string drop) : queues_(std::move(queues)), drop_(std::move(drop)) {
        thread_ = std::jthread([this](const std::stop_token& stop) { collect(stop); });
    }

    void add(const std::string& id) {
        const std::scoped_lock lock(mutex_);
        ids_.insert(id);
    }
    bool has(const std::string& id) {
        const std::scoped_lock lock(mutex_);
        return ids_.contains(id);
    }
    std::size_t ids() {
        const std::scoped_lock lock(mutex_);
        return ids_.size();
    }
    /// Messages of other protocols have no id.
    std::size_t without_id() {
        const std::scoped_lock lock(mutex_);
        return without_id_ + undeliverable_;
    }
    std::size_t undeliverable() {
        const std::scoped_lock lock(mutex_);
        return undeliverable_;
    }
    /// What ended its connection, and found nothing that could not be handed over.
    std::string trouble() {
        const std::scoped_lock lock(mutex_);
        return trouble_;
    }

  private:
    void collect(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            try {
                const auto client = connected([] { return std::make_unique<Client>(broker_address()); });
                client->receive_large_headers();
                for (const std::string& queue : queues_)
                    client->consume(queue, 100);
                while (!stop.stop_requested()) {
                    if (const auto message = client->next(milliseconds(200))) take(*client, *message);
                }
            } catch (const std::runtime_error& ended) {
                drop_undeliverable(ended.what());
            }
        }
    }

    void take(Client& client, const Received& message) {
        client.ack(message.tag);
        const std::scoped_lock lock(mutex_);
        if (find(message.headers, "gallery") == nullptr) {
            ++without_id_;
        } else {
            ids_.insert(text_header(message, "gallery"));
        }
    }

    void drop_undeliverable(const std::string& why) {
        const CommandResult result = run_retryd(drop_);
        const std::scoped_lock lock(mutex_);
        if (result.code != 0) trouble_ = why + "; " + result.out + result.err;
        const auto of = result.out.find(" of ");
        if (of != std::string::npos && of > 0) {
            const auto begin = result.out.find_last_not_of("0123456789", of - 1) + 1;
            undeliverable_ += std::stoul("0" + result.out.substr(begin, of - begin));
        }
    }

    std::vector<std::string> queues_;
    std::string drop_;
    std::mutex mutex_;
    std::set<std::string> ids_;
    std::size_t without_id_ = 0;
    std::size_t undeliverable_ = 0;
    std::string trouble_;
    std::jthread thread_;  // the last: it uses the others
};

class WireFuzz {
  public:
    WireFuzz(GalleryScene& scene, std::uint64_t seed)
        : s_(scene),
          gallery_(readable(hostile_gallery(s_.names))),
          mutator_(seed, gallery_),
          foreign_(foreign_gallery(s_.expiring, version_of(s_.client))) {
        s_.worker->client.receive_large_headers();
    }

    void run(seconds time) {
        const Clock::time_point end = Clock::now() + time;
        while (Clock::now() < end && s_.daemon.running()) {
            send_good();
            for (std::size_t times = mutator_.below(4); times > 0; --times)
                send_hostile();
            if (mutator_.one_in(100)) send_foreign();
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

    void work(milliseconds within) {
        try {
            while (s_.work_for(within)) {
            }
        } catch (const std::runtime_error&) {  // the broker has let us down
            ++reconnected_;
            s_.worker = connected([this] { return std::make_unique<Worker>(s_.work, 200); });
            s_.worker->client.receive_large_headers();
        }
        while (!order_.empty() && is_home(order_.front()))
            order_.pop_front();
    }

    std::size_t good() const { return good_; }
    std::size_t foreign() const { return foreign_sent_; }
    std::size_t missing() const { return under_way_.size(); }
    milliseconds longest() const { return longest_; }
    std::size_t reconnected() const { return reconnected_; }

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
        const Way way = static_cast<Way>(mutator_.below(3));
        if (version_of(s_.client) < Version{3, 13}) {
            std::erase_if(hostile.message.headers, crashes_old_brokers);
            if (way == Way::expired && is_cycle_to_old_brokers(hostile.message.headers, s_.config.error_queue)) return;
        }
        hostile.breaks_old_brokers = false;
        hostile.what += " #" + std::to_string(s_.hostile_sent);
        s_.send_hostile(std::move(hostile), way);
    }

    /// As they are, or AMQP 1.0 with spoilt bytes.
    void send_foreign() {
        const std::size_t before = s_.hostile_sent;
        if (mutator_.one_in(2)) {
            s_.send_foreign(foreign_[mutator_.below(foreign_.size())]);
        } else {
            send_spoilt();
        }
        foreign_sent_ += s_.hostile_sent - before;
    }

    void send_spoilt() {
        std::string bytes = amqp10::encoded({.application_properties = {{"a", amqp10::text("text")},
                                                                        {"b", amqp10::ulong(1)},
                                                                        {"c", amqp10::binary("bytes")}},
                                             .annotations = {{"x-opt-a", amqp10::symbol("symbol")}},
                                             .message_id = amqp10::text("id"),
                                             .content_type = "text/plain"});
        mutator_.spoil(bytes);
        s_.send_foreign({"spoilt AMQP 1.0", [this, bytes] { amqp10::publish_encoded(s_.expiring, bytes); }});
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
    std::size_t foreign_sent_ = 0;
    std::size_t reconnected_ = 0;
    milliseconds longest_{0};
};

/// Neither home nor parked, nor on the longest detour.
std::string lost(const GalleryScene& s, Collector& collector) {
    std::string text;
    for (const std::string& id : s.sent)
        if (!s.home.contains(id) && !collector.has(id)) text += id + '\n';
    return text;
}

}  // namespace

// Before 3.10 nothing is promised of the way back.
TEST_CASE("whatever is changed in hostile messages: good ones come home, nothing hangs, nothing is lost",
          "[own-broker][night][since-3.10]") {
    const seconds time(number_in_environment("RETRYD_FUZZ_SECONDS", 100));
    const std::uint64_t seed = number_in_environment("RETRYD_FUZZ_SEED", std::random_device()());
    GalleryScene s("text", "info");
    set_policy("gallery-limit", "^" + s.config.error_queue + "$", R"({"delivery-limit": 20})");
    s.client.bind(s.expiring, "amq.topic", "#");
    s.client.publish("", s.expiring, {.body = "makes its parking queue"});
    REQUIRE(s.await_depth(s.parking_of(s.expiring), 1));
    Collector collector({s.config.catch_all, s.parking_of(s.work), s.parking_of(s.expiring),
                         s.parking_of(s.names.shared), s.names.shared},
                        "parked drop --reason undeliverable --yes -c " + s.daemon.config_file());
    const Machine machine;
    const ConnectTime connecting;
    WireFuzz fuzz(s, seed);
    fuzz.run(time);
    s.client.await_confirms(seconds(60));
    fuzz.come_home();
    // What claims that a parking queue has thrown it out is there for five minutes.
    const auto waits_longest = [&] {
        while (const auto message = s.client.get("retryd.detour.5m")) {
            s.client.ack(message->tag);
            collector.add(text_header(*message, "gallery"));
        }
    };
    const auto all_there = [&] {
        fuzz.work(milliseconds(20));
        waits_longest();
        return collector.without_id() > fuzz.foreign() && lost(s, collector).empty() &&
               s.depth(s.config.error_queue) == 0;
    };
    await(all_there, seconds(120));
    std::cout << "seed " << seed << ": " << fuzz.good() << " good ones, " << fuzz.missing() << " of them not home; "
              << s.sent.size() << " hostile ones, " << s.hostile_home() << " home, " << collector.ids() << " parked; "
              << fuzz.foreign() << " of other protocols, " << collector.without_id() - 1 << " parked, "
              << collector.undeliverable() << " of them dropped that could not be handed over; the longest way home "
              << fuzz.longest().count() << " ms; " << s.daemon.lines_with({"connected to"})
              << " connections of the daemon, " << fuzz.reconnected() << " more of its worker\n";
    INFO("what the collector met last: " << collector.trouble());
    CHECK(fuzz.missing() == 0);
    CHECK(lost(s, collector) == "");
    CHECK(collector.without_id() > fuzz.foreign());
    CHECK(s.depth(s.config.error_queue) == 0);
    // As many as it takes to get rid of what cannot be handed over.
    CHECK(fuzz.longest() < seconds(30) + machine.slack() + connecting.of(21));
    CHECK(s.depth(s.victim) == 0);
    // No entry drops anything.
    CHECK(s.served.get("/metrics").body.find("outcome=\"dropped\"") == std::string::npos);
    CHECK(s.daemon.running());
    s.stop();
}
