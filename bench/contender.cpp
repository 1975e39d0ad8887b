#include "contender.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "process_contender.h"
#include "shovel.h"
#include "support/environment.h"

namespace retryd::bench {

namespace {

std::string uri() {
    return test::uri_of(test::broker_address());
}

/// What the recipes of other languages are told.
std::string write_recipe_config(const Stage& stage) {
    const Place rung = stage.rung_template();
    const nlohmann::json config{{"uri", uri()},
                                {"errors", error_queue},
                                {"prefetch", prefetch},
                                {"delays", stage.layout().delays},
                                {"rung", {{"exchange", rung.exchange}, {"key", rung.key}}},
                                {"parking", catch_all}};
    const std::string path = stage.folder() + "/recipe.json";
    std::ofstream(path) << config.dump(2) << '\n';
    return path;
}

std::vector<std::string> command_of(const std::string& name, const Stage& stage) {
    if (name == "retryd") return {test::retryd_binary(), "run", "-c", stage.config_file()};
    if (name == "amqplib") return {"/usr/bin/env", "node", BENCH_AMQPLIB, write_recipe_config(stage)};
    if (name == "pika") return {"/usr/bin/python3", BENCH_PIKA, write_recipe_config(stage)};
    if (name != "ceiling") throw std::runtime_error("there is no contender '" + name + "'");
    const Place rung = stage.first_rung();
    return {BENCH_CEILING, uri(), error_queue, rung.exchange, rung.key, std::to_string(prefetch)};
}

}  // namespace

const std::vector<std::string>& all_contenders() {
    static const std::vector<std::string> names{"ceiling", "retryd", "shovel", "amqplib", "pika"};
    return names;
}

std::unique_ptr<Contender> make_contender(const std::string& name, Stage& stage, int count) {
    if (name == "shovel") return std::make_unique<Shovel>(stage);
    return std::make_unique<ProcessContender>(name, command_of(name, stage), stage, count);
}

}  // namespace retryd::bench
