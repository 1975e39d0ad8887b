// A daemon with all kinds of entries, somebody else's queue, and a consumer that rejects each message once: where the
// galleries of hostile messages are shown.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "broker/foreign_gallery.h"
#include "broker/hostile_gallery.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/environment.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/worker.h"

namespace retryd::test {

/// How a hostile message reaches the error queue.
enum class Way {
    errors,    // published to the error exchange, with a death of its own making
    rejected,  // by a work queue whose consumer rejects it
    expired,   // by a work queue that nobody consumes
};

inline std::string name_of(Way way) {
    return way == Way::errors ? "errors" : way == Way::rejected ? "rejected" : "expired";
}

class GalleryScene : public Scenario {
  public:
    explicit GalleryScene(const std::string& log_format, const std::string& log_level = "debug")
        : work(work_queue("work")), served(daemon) {
        retry(work, {"100ms", "200ms"});
        const std::string shared = work_queue("shared");
        share({shared}, {"100ms"});
        expiring = work_queue("glob.expiring", {{"x-message-ttl", int32(1)}});
        retry(queue_name("glob.*"), {"100ms"}, "classic");
        entry().on = "{expired: retry}";
        victim = plain_queue("victim");
        config.http = "127.0.0.1:0";
        config.management_url = management_url();
        std::string yaml = config.yaml();
        const std::string log = "log: {level: debug";
        yaml.replace(yaml.find(log), log.size(), "log: {level: " + log_level + ", format: " + log_format);
        daemon.start(yaml);
        REQUIRE(await([&] { return consuming(); }));
        names = {work,
                 shared,
                 queue_name("glob.ghost"),
                 victim,
                 config.error_queue,
                 config.catch_all,
                 parking_of(work),
                 rung(work, "100ms")};
        worker = std::make_unique<Worker>(work, 200);
        connect_producer();
    }

    /// A broker under hostile messages may be slow to let anybody in.
    void connect_producer() {
        const auto connected = [&] {
            try {
                producer = std::make_unique<Client>(broker_address());
                return true;
            } catch (const std::runtime_error&) {
                return false;
            }
        };
        REQUIRE(await(connected, seconds(120)));
    }

    void send_good(int number) { client.send("", work, {.body = "good " + std::to_string(number)}); }

    void send_hostile(HostileMessage hostile, Way way) {
        if (hostile.unreadable && way == Way::rejected) return;
        if (hostile.breaks_old_brokers && way != Way::errors && version_of(client) < Version{3, 13}) return;
        const std::string id = "hostile " + name_of(way) + ": " + hostile.what;
        hostile.message.headers.push_back({"gallery", longstr(id)});
        try {
            if (way == Way::errors) {
                producer->publish(config.error_exchange, "", hostile.message);
            } else {
                producer->publish("", way == Way::rejected ? work : expiring, hostile.message);
            }
            ++hostile_sent;
            sent.insert(id);
        } catch (const std::runtime_error& refusal) {
            refused += id + ": " + refusal.what() + '\n';
            connect_producer();
        }
    }

    void send_foreign(const ForeignMessage& hostile) {
        try {
            hostile.send();
            ++hostile_sent;
        } catch (const std::runtime_error& refusal) {
            refused += hostile.what + ": " + refusal.what() + '\n';
        }
    }

    /// Rejects what comes for the first time and takes what has been rejected; whether anything came.
    bool work_for(milliseconds within) {
        const auto message = worker->client.next(within);
        if (!message) return false;
        const Value* mark = find(message->headers, "gallery");
        const std::string id = mark == nullptr ? message->body : text_header(*message, "gallery");
        const bool rejected_before = id.starts_with("hostile errors") || ++came[id] > 1;
        if (!rejected_before) {
            worker->reject(*message);
        } else {
            worker->ack(*message);
            ++home[id];
        }
        return true;
    }

    std::size_t good_home() const {
        return static_cast<std::size_t>(
            std::count_if(home.begin(), home.end(), [](const auto& each) { return each.first.starts_with("good"); }));
    }
    /// In the end whoever may publish to the error exchange can write to each work queue that has an entry.
    std::size_t hostile_home() { return home.size() - good_home() + depth(names.shared); }

    /// All queues that something may be parked in, by what the broker has.
    std::vector<std::string> parking_queues() const {
        std::vector<std::string> queues{config.catch_all};
        for (const std::string& queue : queue_names())
            if (queue.starts_with(queue_name("")) && queue.ends_with(".parked")) queues.push_back(queue);
        return queues;
    }
    std::size_t parked() {
        std::size_t messages = 0;
        for (const std::string& queue : parking_queues())
            messages += depth(queue);
        return messages;
    }

    CommandResult command(const std::string& words) { return run_retryd(words + " -c " + daemon.config_file()); }

    std::string work;
    std::string expiring;
    std::string victim;
    GalleryNames names;
    Served served;
    std::unique_ptr<Worker> worker;
    std::unique_ptr<Client> producer;
    std::size_t hostile_sent = 0;
    std::set<std::string> sent;  // of AMQP 0-9-1
    std::string refused;         // by the broker, so that retryd never sees it
    std::map<std::string, int> came;
    std::map<std::string, int> home;
};

}  // namespace retryd::test
