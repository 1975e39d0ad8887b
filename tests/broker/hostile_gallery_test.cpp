// The gallery of hostile messages in the midst of honest ones: they delay nobody, none is lost, none comes where its
// producer could not have sent it, and nothing that people look at shows a byte of theirs that is not safe.
#include "broker/hostile_gallery.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/environment.h"
#include "support/folder.h"
#include "support/forged.h"
#include "support/machine.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/shell.h"
#include "support/unsafe_text.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// How a hostile message reaches the error queue.
enum class Way {
    errors,    // published to the error exchange, with a death of its own making
    rejected,  // by a work queue whose consumer rejects it
    expired,   // by a work queue that nobody consumes
};

std::string name_of(Way way) {
    return way == Way::errors ? "errors" : way == Way::rejected ? "rejected" : "expired";
}

/// A daemon with all kinds of entries, somebody else's queue, and a consumer that rejects each message once.
class GalleryScene : public Scenario {
  public:
    explicit GalleryScene(const std::string& log_format) : work(work_queue("work")), served(daemon) {
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
        yaml.insert(yaml.find(log) + log.size(), ", format: " + log_format);
        daemon.start(yaml);
        REQUIRE(await([&] { return consuming(); }, seconds(20)));
        names = {work,
                 shared,
                 queue_name("glob.ghost"),
                 victim,
                 config.error_queue,
                 config.catch_all,
                 parking_of(work),
                 rung(work, "100ms")};
        worker = std::make_unique<Worker>(work, 200);
        producer = std::make_unique<Client>(broker_address());
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
        } catch (const std::runtime_error& refusal) {
            refused += id + ": " + refusal.what() + '\n';
            producer = std::make_unique<Client>(broker_address());
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
    std::string refused;  // by the broker, so that retryd never sees it
    std::map<std::string, int> came;
    std::map<std::string, int> home;
};

void check_safe(const std::string& where, const std::string& text) {
    const auto unsafe = unsafe_part(text);
    INFO(where << ": " << unsafe.value_or(""));
    CHECK_FALSE(unsafe.has_value());
}

void check_all_exits(GalleryScene& s) {
    check_safe("the log", s.daemon.log());
    for (const char* path : {"/metrics", "/status.json", "/readyz", "/healthz"}) {
        const Answer answer = s.served.get(path);
        CHECK(answer.status == 200);
        check_safe(path, answer.body);
    }
    for (const char* words : {"status", "status --json", "parked list", "parked list --json", "plan", "doctor"}) {
        const CommandResult result = s.command(words);
        check_safe(words, result.out + result.err);
    }
}

/// Each `step`-th of what is parked, as text and as JSON.
void check_parked_show(GalleryScene& s, std::uint32_t step) {
    for (const std::string& queue : s.parking_queues()) {
        if (queue != s.config.catch_all && queue != s.parking_of(s.work) && queue != s.parking_of(s.expiring)) continue;
        for (std::uint32_t number = 1; number <= s.depth(queue); number += step) {
            for (const char* json : {"", " --json"}) {
                const std::string words = "parked show --from " + queue + " --number " + std::to_string(number) + json;
                const CommandResult result = s.command(words);
                CAPTURE(words, result.err);
                // Those that nobody can read have no number.
                CHECK((result.code == 0 || result.err.find("nest too deep") != std::string::npos));
                check_safe(words, result.out + result.err);
            }
        }
    }
}

}  // namespace

TEST_CASE(
    "a gallery of hostile messages beside 2,000 good ones: none is lost, none is held up, nothing is shown unsafely",
    "[slow]") {
    constexpr std::size_t good = 2'000;
    GalleryScene s("text");
    const Machine machine;
    const auto gallery = hostile_gallery(s.names);
    REQUIRE(gallery.size() >= 60);
    const Clock::time_point began = Clock::now();
    std::size_t next = 0;
    const std::size_t hostile = 3 * gallery.size();
    for (std::size_t n = 0; n < good; ++n) {
        s.send_good(static_cast<int>(n));
        for (; next < hostile && next * good < n * hostile; ++next)
            s.send_hostile(gallery[next / 3], static_cast<Way>(next % 3));
        while (s.work_for(milliseconds(0))) {
        }
    }
    for (; next < hostile; ++next)
        s.send_hostile(gallery[next / 3], static_cast<Way>(next % 3));
    s.client.await_confirms(seconds(30));

    const auto all_settled = [&] {
        while (s.work_for(milliseconds(20))) {
        }
        return s.good_home() == good && s.hostile_home() + s.parked() == s.hostile_sent;
    };
    const bool settled = await(all_settled, seconds(60));
    const milliseconds took = since(began);
    INFO("refused by the broker:\n" << s.refused);
    INFO(s.good_home() << " good ones home; of " << s.hostile_sent << " hostile ones " << s.hostile_home() << " home, "
                       << s.parked() << " parked");
    CHECK(settled);
    CHECK(took < seconds(60) + machine.slack());
    CHECK(s.hostile_sent >= 150);
    std::string several;
    for (const auto& [id, times] : s.home)
        if (times != 1) several += id + ": " + std::to_string(times) + " times\n";
    CHECK(several.empty());
    CHECK(s.depth(s.victim) == 0);
    while (s.depth(s.names.shared) > 0)
        CHECK(text_header(s.take(s.names.shared), "gallery").starts_with("hostile errors"));
    CHECK(await([&] { return s.depth(s.config.error_queue) == 0; }));
    CHECK(s.daemon.running());
    CHECK(s.daemon.lines_with({"connected to"}) == 1);
    check_all_exits(s);
    check_parked_show(s, 5);
    s.stop();
    check_safe("the log, to its end", s.daemon.log());
}

TEST_CASE("queues with hostile names: their messages come home, and no exit shows the name as it is") {
    for (const char* format : {"text", "json"}) {
        CAPTURE(format);
        GalleryScene s(format);
        std::vector<std::string> queues;
        for (const std::string& name : hostile_names())
            queues.push_back(s.work_queue("glob." + name));
        for (const std::string& queue : queues) {
            CAPTURE(queue);
            Worker worker(queue);
            s.client.publish("", queue, {.body = "x"});
            worker.reject(worker.receive());
            const Received back = worker.receive(seconds(20));
            CHECK(text_header(back, "retryd-queue") == queue);
            worker.reject(back);
            CHECK(s.await_depth(s.parking_of(queue), 1, seconds(20)));
        }
        const auto gallery = hostile_gallery(s.names);
        for (std::size_t i = 0; i < gallery.size(); i += 4)
            s.send_hostile(gallery[i], Way::errors);
        CHECK(await([&] { return s.depth(s.config.error_queue) == 0; }, seconds(20)));
        check_all_exits(s);
        s.stop();
        check_safe("the log, to its end", s.daemon.log());
    }
}

TEST_CASE("a name that was shown can be pasted back, in $'…' of the shell") {
    GalleryScene s("text");
    std::set<std::string> queues;
    for (const std::string& name : hostile_names()) {
        const std::string queue = s.plain_queue("glob." + name + ".parked");
        queues.insert(queue);
        s.client.publish("", queue, {.body = "x", .headers = died_in(queue)});
    }
    const std::string listed = s.command("parked list").out;
    check_safe("parked list", listed);
    const TemporaryFolder folder;
    std::istringstream lines(listed);
    std::set<std::string> pasted;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(s.queue_name("glob.")) || line.find(": 1 message") == std::string::npos) continue;
        std::string word = line.substr(0, line.find(": 1 message"));
        for (auto at = word.find('\''); at != std::string::npos; at = word.find('\'', at + 2))
            word.insert(at, "\\");
        CAPTURE(word);
        std::ofstream(folder.file("paste")) << "export LC_ALL=C.UTF-8\nname=$'" << word << "'\nprintf %s \"$name\"\n"
                                            << retryd_binary() << " parked list --from \"$name\" -c "
                                            << s.daemon.config_file() << " >" << folder.file("out") << " 2>&1";
        const ShellResult result = run_shell("bash " + folder.file("paste"));
        CHECK(result.code == 0);
        CHECK(queues.contains(result.out));
        pasted.insert(result.out);
    }
    CHECK(pasted == queues);
}
