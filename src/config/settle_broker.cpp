#include <algorithm>
#include <utility>

#include "config/password.h"
#include "config/settle.h"
#include "config/uri.h"
#include "core/duration.h"

namespace retryd::config {
namespace {

/// Who logs in, as far as the keys say it; they win over a URI.
struct Credentials {
    Given<std::string> username;
    std::optional<std::string> password;
    bool external = false;  // with a certificate: no password, and the user's name only for what needs to know it
};

const std::string no_password =
    "a password has no effect where broker.auth_mechanism is external; expected none, since the certificate says who "
    "logs in";

std::optional<Endpoint> endpoint(const Given<std::string>& uri, const Credentials& winning, Problems& problems) {
    auto parsed = parse_uri(uri.value);
    if (const auto* complaint = std::get_if<UriComplaint>(&parsed)) {
        add(problems, uri.place, complaint->text);
        return std::nullopt;
    }
    Uri& parts = std::get<Uri>(parsed);
    if (winning.external) {
        if (parts.password) add(problems, uri.place, no_password);
        const std::string username = winning.username.given ? winning.username.value : parts.username.value_or("");
        return Endpoint{std::move(parts.host), parts.port, parts.tls, std::move(parts.vhost), username, ""};
    }
    const Endpoint defaults;
    const auto username = winning.username.given ? std::optional{winning.username.value} : parts.username;
    const auto& secret = winning.password ? winning.password : parts.password;
    if (username && *username != defaults.username && !secret) {
        add(problems, winning.username.given ? winning.username.place : uri.place,
            "a user has no password; expected one in the URI, or broker.password or broker.password_file");
    }
    Endpoint endpoint{std::move(parts.host), parts.port, parts.tls, std::move(parts.vhost), "", ""};
    endpoint.username = username.value_or(defaults.username);
    endpoint.password = secret.value_or(defaults.password);
    return endpoint;
}

/// Whether a problem with the URIs has been told already: where they lead is not known then.
bool uris_are_wrong(const Problems& problems) {
    return std::any_of(problems.begin(), problems.end(),
                       [](const Problem& problem) { return problem.key.starts_with("broker.uri"); });
}

std::vector<Endpoint> endpoints(const WrittenBroker& broker, const Credentials& winning, Problems& problems) {
    std::vector<Given<std::string>> uris = broker.uris;
    if (broker.uri.given) {
        if (!uris.empty()) exclude(broker.uri.place, uris.front().place, problems);
        uris.push_back(broker.uri);
    }
    if (uris.empty() && !uris_are_wrong(problems)) uris.push_back({"amqp://" + Endpoint{}.host, {}, false});
    std::vector<Endpoint> found;
    for (const auto& uri : uris) {
        if (auto one = endpoint(uri, winning, problems)) found.push_back(std::move(*one));
    }
    return found;
}

void settle_tls(const WrittenBroker& broker, const Surroundings& surroundings, bool any_tls, Tls& tls,
                Problems& problems) {
    const auto settle = [&](const Given<std::string>& file, std::string& to) {
        if (!file.given) return;
        read_named_file(file, surroundings, problems);
        to = file.value;
        // Without this, the password would go over the wire in clear while the file speaks of certificates.
        if (!any_tls) add(problems, file.place, "has no effect; expected a broker URI that begins with amqps://");
    };
    settle(broker.ca_file, tls.ca_file);
    settle(broker.cert_file, tls.cert_file);
    settle(broker.key_file, tls.key_file);
    if (broker.cert_file.given && !broker.key_file.given) {
        add(problems, broker.cert_file.place, "is given alone; expected broker.tls.key_file too");
    }
    if (broker.key_file.given && !broker.cert_file.given) {
        add(problems, broker.key_file.place, "is given alone; expected broker.tls.cert_file too");
    }
}

void check_external(const WrittenBroker& broker, bool all_tls, Problems& problems) {
    if (broker.password.given) add(problems, broker.password.place, no_password);
    if (broker.password_file.given) add(problems, broker.password_file.place, no_password);
    const Place& place = broker.auth_mechanism.place;
    if (!all_tls) add(problems, place, "external takes TLS; expected broker URIs that begin with amqps://");
    if (!broker.cert_file.given) {
        add(problems, place, "external takes a certificate to log in with; expected broker.tls.cert_file and key_file");
    }
}

void settle_reconnect(const WrittenBroker& broker, Reconnect& reconnect, Problems& problems) {
    reconnect.first = broker.reconnect_first.value;
    reconnect.max = broker.reconnect_max.value;
    if (reconnect.first <= reconnect.max) return;
    if (broker.reconnect_max.given) {
        add(problems, broker.reconnect_max.place,
            "is shorter than broker.reconnect.first; expected at least " + core::format_duration(reconnect.first));
    } else {
        add(problems, broker.reconnect_first.place,
            "is longer than broker.reconnect.max; expected at most its default, " +
                core::format_duration(reconnect.max));
    }
}

}  // namespace

void settle_broker(const Written& written, const Surroundings& surroundings, Broker& settings, Problems& problems) {
    const WrittenBroker& broker = written.broker;
    const bool external = broker.auth_mechanism.value == AuthMechanism::external;
    const Credentials winning{broker.username,
                              read_password(broker.password, broker.password_file, surroundings, problems), external};
    const auto has_tls = [](const Endpoint& endpoint) { return endpoint.tls; };
    settings.auth_mechanism = broker.auth_mechanism.value;
    settings.endpoints = endpoints(broker, winning, problems);
    const bool any_tls = std::any_of(settings.endpoints.begin(), settings.endpoints.end(), has_tls);
    const bool all_tls = std::all_of(settings.endpoints.begin(), settings.endpoints.end(), has_tls);
    settle_tls(broker, surroundings, any_tls || uris_are_wrong(problems), settings.tls, problems);
    if (external) check_external(broker, all_tls, problems);
    settle_reconnect(broker, settings.reconnect, problems);
}

}  // namespace retryd::config
