// The gallery of hostile messages in the midst of honest ones: they delay nobody, none is lost, none comes where its
// producer could not have sent it, and nothing that people look at shows a byte of theirs that is not safe.
#include "broker/hostile_gallery.h"

#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <utility>

#include "broker/connect_time.h"
#include "broker/foreign_gallery.h"
#include "broker/gallery_scene.h"
#include "support/folder.h"
#include "support/forged.h"
#include "support/machine.h"
#include "support/shell.h"
#include "support/unsafe_text.h"

using namespace retryd::test;

namespace {

void check_safe(const std::string& where, const std::string& text) {
    const auto unsafe = unsafe_part(text);
    INFO(where << ": " << unsafe.value_or(""));
    CHECK_FALSE(unsafe.has_value());
}

void check_all_exits(GalleryScene& s) {
    check_safe("the log", s.daemon.log());
    for (const char* path : {"/metrics", "/status.json", "/readyz", "/healthz"}) {
        // Not ready between two connections, as when a message that cannot be handed over has ended one just now.
        Answer answer;
        CHECK(await([&] { return answer = s.served.get(path), answer.status == 200; }));
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

/// Hostile messages in the midst of 2,000 good ones.
class Exhibition {
  public:
    explicit Exhibition(GalleryScene& scene) : s_(scene) {}

    void add(std::function<void()> send) { hostile_.push_back(std::move(send)); }

    /// `more`: what it may take beyond its limit, besides.
    void show(
        const Machine& machine, const std::function<milliseconds()>& more = [] { return milliseconds(0); }) {
        std::size_t next = 0;
        for (std::size_t n = 0; n < good; ++n) {
            s_.send_good(static_cast<int>(n));
            for (; next < hostile_.size() && next * good < n * hostile_.size(); ++next)
                hostile_[next]();
            while (s_.work_for(milliseconds(0))) {
            }
        }
        for (; next < hostile_.size(); ++next)
            hostile_[next]();
        s_.client.await_confirms();
        const Clock::time_point began = Clock::now();  // the sending takes a busy machine a minute
        const auto limit = [&] { return seconds(60) + machine.slack() + more(); };
        while (!all_settled() && since(began) < limit()) {
        }
        const bool settled = all_settled();
        const milliseconds took = since(began);
        INFO("refused by the broker:\n" << s_.refused);
        INFO(s_.good_home() << " good ones home; of " << s_.hostile_sent << " hostile ones " << s_.hostile_home()
                            << " home, " << s_.parked() << " parked");
        CHECK(settled);
        CHECK(took < limit());
        CHECK(s_.depth(s_.victim) == 0);
        CHECK(await([&] { return s_.depth(s_.config.error_queue) == 0; }));
        CHECK(s_.daemon.running());
    }

  private:
    static constexpr std::size_t good = 2'000;

    bool all_settled() {
        while (s_.work_for(milliseconds(20))) {
        }
        return s_.good_home() == good && s_.hostile_home() + s_.parked() >= s_.hostile_sent;
    }

    GalleryScene& s_;
    std::vector<std::function<void()>> hostile_;
};

void check_each_once(GalleryScene& s) {
    const int ended = s.daemon.ended_by_a_busy_broker();
    CHECK(ended <= 2);
    std::string several;
    for (const auto& [id, times] : s.home)
        if (times > 1 + ended) several += id + ": " + std::to_string(times) + " times\n";
    CHECK(several.empty());
    if (ended == 0) CHECK(s.hostile_home() + s.parked() == s.hostile_sent);
    CHECK(s.daemon.lines_with({"connected to"}) == 1 + ended);
    check_all_exits(s);
}

}  // namespace

TEST_CASE("hostile messages by a work queue, beside 2,000 good ones: none is lost, none is held up",
          "[slow][busy][one-version]") {
    GalleryScene s("text");
    const Machine machine;
    Exhibition exhibition(s);
    for (const HostileMessage& hostile : hostile_gallery(s.names)) {
        exhibition.add([&s, hostile] { s.send_hostile(hostile, Way::rejected); });
        exhibition.add([&s, hostile] { s.send_hostile(hostile, Way::expired); });
    }
    exhibition.show(machine);
    CHECK(s.hostile_sent >= 120);
    check_each_once(s);
    s.stop();
    check_safe("the log, to its end", s.daemon.log());
}

TEST_CASE("hostile messages by the error exchange, beside 2,000 good ones: none is lost, none is held up",
          "[slow][busy][one-version]") {
    GalleryScene s("text");
    const Machine machine;
    Exhibition exhibition(s);
    for (const HostileMessage& hostile : hostile_gallery(s.names))
        exhibition.add([&s, hostile] { s.send_hostile(hostile, Way::errors); });
    exhibition.show(machine);
    CHECK(s.hostile_sent >= 60);
    check_each_once(s);
    while (s.depth(s.names.shared) > 0)
        CHECK(text_header(s.take(s.names.shared), "gallery").starts_with("hostile errors"));
    s.stop();
    check_safe("the log, to its end", s.daemon.log());
}

TEST_CASE("hostile messages by AMQP 1.0, MQTT and STOMP, beside 2,000 good ones: none is lost, none is held up",
          "[slow][busy][one-version][night][every-version]") {
    GalleryScene s("text");
    const Machine machine;
    // What each costs that cannot be handed over is shown elsewhere: here are good ones beside it.
    set_policy("gallery-limit", "^" + s.config.error_queue + "$", R"({"delivery-limit": 8})");
    s.client.bind(s.expiring, "amq.topic", "#");
    Exhibition exhibition(s);
    for (const ForeignMessage& hostile : foreign_gallery(s.expiring, version_of(s.client)))
        exhibition.add([&s, hostile] { s.send_foreign(hostile); });
    const ConnectTime connecting;
    // Of two messages, each by its limit and one more.
    exhibition.show(machine, [&] { return connecting.of(18); });
    CHECK(s.hostile_sent >= 30);
    // Where one cannot be handed over, what is not confirmed yet of those beside it comes once more. On a busy machine
    // that may be so of the same message for each of the two.
    const int ended = s.daemon.lines_with({"RabbitMQ ended the connection that consumes"});
    for (const auto& [id, times] : s.home) {
        CAPTURE(id, ended);
        CHECK(times <= 1 + ended);
    }
    CHECK(s.daemon.lines_with({"ended the connection: "}) == 0);  // none of the good ones is accused
    check_all_exits(s);
    s.stop();
    check_safe("the log, to its end", s.daemon.log());
}

TEST_CASE("what is parked of hostile messages is listed and shown safely", "[slow][one-version]") {
    GalleryScene s("text");
    const auto gallery = hostile_gallery(s.names);
    for (const HostileMessage& hostile : gallery)
        s.send_hostile(hostile, Way::errors);
    CHECK(await([&] {
        while (s.work_for(milliseconds(20))) {
        }
        return s.hostile_home() + s.parked() == s.hostile_sent;
    }));
    check_all_exits(s);
    check_parked_show(s, 12);
    s.stop();
}

TEST_CASE("queues with hostile names: their messages come home, and no exit shows the name as it is",
          "[slow][one-version]") {
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
            const Received back = worker.receive();
            CHECK(text_header(back, "retryd-queue") == queue);
            worker.reject(back);
            CHECK(s.await_depth(s.parking_of(queue), 1));
        }
        const auto gallery = hostile_gallery(s.names);
        for (std::size_t i = 0; i < gallery.size(); i += 4)
            s.send_hostile(gallery[i], Way::errors);
        CHECK(await([&] { return s.depth(s.config.error_queue) == 0; }));
        check_all_exits(s);
        s.stop();
        check_safe("the log, to its end", s.daemon.log());
    }
}

TEST_CASE("a name that was shown can be pasted back, in $'…' of the shell", "[slow][one-version]") {
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
                                            << shell_word(retryd_binary()) << " parked list --from \"$name\" -c "
                                            << s.daemon.config_file() << " >" << folder.file("out") << " 2>&1";
        const ShellResult result = run_shell("bash " + folder.file("paste"));
        CHECK(result.code == 0);
        CHECK(queues.contains(result.out));
        pasted.insert(result.out);
    }
    CHECK(pasted == queues);
}
