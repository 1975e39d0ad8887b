#include "support/served.h"

#include <sstream>

#include "http/client.h"

namespace retryd::test {

std::string Served::url() const {
    const std::string log = daemon_.log();
    const auto at = log.rfind("status page on http://");
    if (at == std::string::npos) return "";
    const auto start = log.find("http://", at);
    return log.substr(start, log.find_first_of("\n \"", start) - start);
}

Answer Served::get_from(const std::string& url, const std::string& path) {
    http::Request request;
    request.url = url + path;
    try {
        const http::Response response = http::get(request);
        return {response.status, response.body};
    } catch (const http::Error&) {
        return {};
    }
}

double Served::metric(const std::string& series) const {
    std::istringstream lines(get("/metrics").body);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(series + " ")) return std::stod(line.substr(series.size()));
    }
    return -1.0;
}

bool Served::await_metric(const std::string& series, double value, milliseconds within) const {
    return await([&] { return metric(series) == value; }, within);
}

}  // namespace retryd::test
