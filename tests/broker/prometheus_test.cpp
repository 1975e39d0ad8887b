// The alerts of config/monitoring end to end: a real daemon, a real Prometheus from Debian.
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "support/catch.h"
#include "support/folder.h"
#include "support/free_port.h"
#include "support/loopback.h"
#include "support/management.h"
#include "support/process.h"
#include "support/scenario.h"
#include "support/served.h"
#include "support/shell.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// In PATH, or where scripts/install-deps --prometheus puts it.
std::string prometheus_binary() {
    const ShellResult found =
        run_shell("PATH=\"$PATH:${RETRYD_CACHE:-/var/cache/retryd}/bin\" command -v prometheus | tr -d '\\n'");
    if (found.out.empty()) throw std::runtime_error("there is no prometheus; run scripts/install-deps --prometheus");
    return found.out;
}

/// The rules as they are shipped, but for the time that something has to last.
std::string hasty_rules() {
    const std::string broker = output_of("printf %s " + variable("RETRYD_TEST_BROKER"));  // it is quoted for a shell
    const std::filesystem::path scripts = std::filesystem::path(broker).parent_path();
    std::ostringstream text;
    text << std::ifstream(scripts.parent_path() / "config/monitoring/alerts.yaml").rdbuf();
    return std::regex_replace(text.str(), std::regex("\n( +for: )[0-9]+[smhd]\n"), "\n$011s\n");
}

class Prometheus {
  public:
    explicit Prometheus(const std::string& target) : url_("http://127.0.0.1:" + std::to_string(free_port())) {
        std::ofstream(folder_.file("alerts.yaml")) << hasty_rules();
        std::ofstream(folder_.file("prometheus.yml"))
            << "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
            << "rule_files: [alerts.yaml]\n"
            << "scrape_configs: [{job_name: retryd, static_configs: [{targets: ['" << target << "']}]}]\n";
        process_ = std::make_unique<Process>(
            std::vector<std::string>{prometheus_binary(), "--config.file=" + folder_.file("prometheus.yml"),
                                     "--storage.tsdb.path=" + folder_.file("data"),
                                     "--web.listen-address=" + url_.substr(std::string("http://").size())},
            folder_.file("log"));
    }

    /// `RetrydNotAttached critical` for each alert that fires.
    std::set<std::string> firing() const {
        std::set<std::string> found;
        const Answer answer = Served::get_from(url_, "/api/v1/alerts");
        if (answer.status != 200) return found;
        const auto told = nlohmann::json::parse(answer.body);
        for (const auto& alert : told["data"]["alerts"]) {
            if (alert["state"] != "firing") continue;
            const auto& labels = alert["labels"];
            found.insert(labels["alertname"].get<std::string>() + ' ' + labels["severity"].get<std::string>());
        }
        return found;
    }
    bool fires(const std::string& alert) const {
        return await([&] { return firing().count(alert) > 0; }, patience, milliseconds(500));
    }

  private:
    std::string url_;
    TemporaryFolder folder_;
    std::unique_ptr<Process> process_;
};

}  // namespace

TEST_CASE("alerts: one of each severity, from a real daemon by a real Prometheus, and no other",
          "[night][one-version]") {
    Scenario s;
    Served served(s.daemon);
    s.config.management_url = management_url();
    s.config.http = "127.0.0.1:0";
    const std::string work = s.work_queue("work");
    s.retry(work, {"1h"});
    s.entry().on = "{rejected: park}";
    s.start();
    const Prometheus prometheus(served.url().substr(std::string("http://").size()));
    CHECK(prometheus.fires("RetrydWarning info"));  // there is no guard
    // After a scrape that took longer than its second RetrydDown fires for a moment, and nothing else does.
    const std::set<std::string> wanted{"RetrydWarning info"};
    std::set<std::string> firing;
    await([&] { return (firing = prometheus.firing()) == wanted; }, patience, milliseconds(500));
    CHECK(firing == wanted);
    s.client.publish("", work, {.body = "m"});
    {
        Worker worker(work);
        worker.reject(worker.receive());
    }
    CHECK(prometheus.fires("RetrydParking warning"));
    s.retry(s.plain_queue("bare"), {"1h"});
    s.reload();
    CHECK(prometheus.fires("RetrydNotAttached critical"));
    s.stop();
    CHECK(prometheus.fires("RetrydDown critical"));
}
