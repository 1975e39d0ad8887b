// The part of the management client that asks for what not every user may know.
#include "http/inquiry.h"
#include "http/management.h"

namespace retryd::http {
namespace {

/// Nothing where our user may not know; null where there is nothing.
std::optional<Json> ask(const Inquiry& inquiry, const std::string& path) {
    const Response response = inquiry.response(path);
    if (response.status == http_status::unauthorised || response.status == http_status::forbidden) return std::nullopt;
    if (response.status == http_status::not_found) return Json();
    if (response.status != http_status::fine) throw Error(inquiry.odd(response.status));
    return Json::parse(response.body, nullptr, false);
}

}  // namespace

std::optional<core::Permissions> ManagementClient::permissions(const std::string& user) const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer = ask(inquiry, "permissions/" + percent_encoded(vhost_) + '/' + percent_encoded(user));
    if (!answer) return std::nullopt;
    if (!answer->is_object()) return core::Permissions{};
    return core::Permissions{text_in(*answer, "configure"), text_in(*answer, "write"), text_in(*answer, "read")};
}

std::optional<std::vector<std::string>> ManagementClient::disabled_feature_flags() const {
    const Inquiry inquiry(settings_, tls_, vhost_);
    const auto answer = ask(inquiry, "feature-flags");
    if (!answer || !answer->is_array()) return std::nullopt;
    std::vector<std::string> disabled;
    for (const Json& item : *answer) {
        if (item.is_object() && text_in(item, "state") == "disabled") disabled.push_back(text_in(item, "name"));
    }
    return disabled;
}

}  // namespace retryd::http
