// That the Dockerfile, the Compose file and the Kubernetes manifest are valid and hold together. Most of it is looked
// at by `holds`, beside this.
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <variant>

#include "config/load.h"
#include "support/catch.h"
#include "support/findings.h"

namespace retryd::container_test {
namespace {

std::string found(const std::string& check) {
    static const auto findings = findings_of(RETRYD_HOLDS, RETRYD_PROJECT);
    return findings.at(check);
}

/// What is wrong with a configuration as the daemon in its container sees it: with one file beside it, the password.
std::string problems_of(const std::string& text, const std::string& password_file) {
    config::FileEnvironment container;
    container.environment = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
    container.read_file = [&](const std::string& path, std::string& error) -> std::optional<std::string> {
        if (path == password_file) return "secret\n";
        error = "there is no " + path;
        return std::nullopt;
    };
    const auto loaded = config::load(text, container);
    const auto* problems = std::get_if<config::Problems>(&loaded);
    return problems ? config::format(*problems, "retryd.yaml") : "";
}

}  // namespace

TEST_CASE("containers: the Dockerfile agrees with the version, the port and what a build needs") {
    CHECK(found("dockerfile") == "");
}

TEST_CASE("containers: the Compose file is valid, its images are pinned, its ports are for this machine only") {
    CHECK(found("compose") == "");
}

TEST_CASE("containers: what the Compose file mounts and builds is there") {
    CHECK(found("mounts") == "");
}

TEST_CASE("containers: the services call each other by names, ports and passwords that they have") {
    CHECK(found("names") == "");
}

TEST_CASE("containers: Prometheus takes its configuration, alert rules included") {
    CHECK(found("prometheus") == "");
}

TEST_CASE("containers: Grafana is given its datasource and the dashboard") {
    CHECK(found("grafana") == "");
}

TEST_CASE("containers: the Kubernetes objects are what their schemas want") {
    CHECK(found("kubernetes") == "");
}

TEST_CASE("containers: the Kubernetes objects fit together") {
    CHECK(found("wiring") == "");
}

TEST_CASE("containers: no misspelt field of the Compose file or the Kubernetes objects goes unseen") {
    CHECK(found("typos") == "");
}

TEST_CASE("containers: the configuration of the Compose file is right") {
    std::ifstream file{RETRYD_PROJECT "/docker/compose/retryd.yaml"};
    REQUIRE(file);
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    CHECK(problems_of(text, "/run/secrets/retryd_password") == "");
}

TEST_CASE("containers: the configuration of the Kubernetes manifest is right") {
    CHECK(problems_of(found("configuration"), "/run/secrets/retryd/password") == "");
}

}  // namespace retryd::container_test
