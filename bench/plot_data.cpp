#include "plot_data.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "contender.h"
#include "markdown.h"
#include "progress.h"
#include "summary.h"

namespace retryd::bench {

using nlohmann::json;

namespace {

/// What a bar shows, of the contender and of the ceiling at the same place.
using Bar = std::function<double(const Summary& contender, const Summary& ceiling)>;

std::string line_of(const json& results, const json& queues, const json& size, const Bar& bar) {
    const auto found = [&](const std::string& contender) {
        return summarize(results["runs"], {{"queues", queues}, {"size", size}, {"contender", contender}});
    };
    std::string line = "\"" + size_text(size) + "\\n" + count_text(queues, "queue") + "\\n" +
                       results["machine"]["broker"].get<std::string>() + "\"";
    const Summary ceiling = found("ceiling");
    for (const std::string& contender : all_contenders()) {
        const Summary summary = found(contender);
        line += "\t" + (summary.runs == 0 ? std::string("0") : with_decimals(bar(summary, ceiling), 3));
    }
    return line + "\n";
}

std::string data(const std::vector<json>& all, const Bar& bar) {
    std::string text = "place";
    for (const std::string& contender : all_contenders())
        text += "\t" + contender;
    text += "\n";
    for (const json& results : all) {
        if (!results.contains("runs")) continue;
        for (const json& queues : distinct(results["runs"], "queues")) {
            for (const json& size : distinct(results["runs"], "size"))
                text += line_of(results, queues, size, bar);
        }
    }
    return text;
}

}  // namespace

std::string ratio_data(const std::vector<json>& results) {
    return data(results, [](const Summary& contender, const Summary& ceiling) {
        return ceiling.runs == 0 ? 0 : contender.rate.median / ceiling.rate.median;
    });
}

std::string cpu_data(const std::vector<json>& results) {
    return data(results, [](const Summary& contender, const Summary&) {
        return contender.cpu_us.median + contender.broker_cpu_us.median;
    });
}

std::string own_cpu_data(const std::vector<json>& results) {
    return data(results, [](const Summary& contender, const Summary&) { return contender.cpu_us.median; });
}

}  // namespace retryd::bench
