#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include "config/addresses.h"
#include "config/validate.h"
#include "core/duration.h"

namespace retryd::config {

namespace {

/// The contents of a file that a key names; nothing, and a problem, where it cannot be read.
std::optional<std::string> read_named_file(const Given<std::string>& file, const FileEnvironment& env,
                                           Problems& problems) {
    std::string error;
    auto contents = env.read_file(file.value, error);
    if (!contents) {
        add(problems, file.place,
            "the file " + in_quotes(file) + " cannot be read (" + error + "); expected one that retryd may read");
    }
    return contents;
}

/// The given password, or the one in the file, without the line break at its end. Nothing where neither is given. An
/// empty one where the file cannot be read, so that no other problem follows.
std::optional<std::string> read_password(const Given<std::string>& password, const Given<std::string>& file,
                                         const FileEnvironment& env, Problems& problems) {
    if (password.given && file.given) refuse_both(file.place, password.place, problems);
    if (password.given) return password.value;
    if (!file.given) return std::nullopt;
    auto contents = read_named_file(file, env, problems);
    if (!contents) return "";
    if (contents->ends_with('\n')) contents->pop_back();
    if (contents->ends_with('\r')) contents->pop_back();
    if (contents->empty()) {
        add(problems, file.place, "the file " + in_quotes(file) + " is empty; expected the password in it");
    }
    return contents;
}

/// What the keys say of who logs in; they override a URI.
struct Credentials {
    Given<std::string> username;
    std::optional<std::string> password;
    bool external = false;  // with a certificate: no password, and the user's name only for what needs to know it
};

const std::string no_password =
    "a password has no effect where broker.auth_mechanism is external; expected none, since the certificate says who "
    "logs in";

std::optional<Endpoint> endpoint(const Given<std::string>& uri, const Credentials& keys, Problems& problems) {
    auto parsed = parse_uri(uri.value);
    if (const auto* complaint = std::get_if<UriComplaint>(&parsed)) {
        add(problems, uri.place, complaint->text);
        return std::nullopt;
    }
    Uri& parts = std::get<Uri>(parsed);
    if (keys.external) {
        if (parts.password) add(problems, uri.place, no_password);
        const std::string username = keys.username.given ? keys.username.value : parts.username.value_or("");
        return Endpoint{std::move(parts.host), parts.port, parts.tls, std::move(parts.vhost), username, ""};
    }
    const Endpoint defaults;
    const auto username = keys.username.given ? std::optional{keys.username.value} : parts.username;
    const auto& password = keys.password ? keys.password : parts.password;
    if (username && *username != defaults.username && !password) {
        add(problems, keys.username.given ? keys.username.place : uri.place,
            "a user has no password; expected one in the URI, or broker.password or broker.password_file");
    }
    Endpoint endpoint{std::move(parts.host), parts.port, parts.tls, std::move(parts.vhost), "", ""};
    endpoint.username = username.value_or(defaults.username);
    endpoint.password = password.value_or(defaults.password);
    return endpoint;
}

/// Whether the URIs have a problem already: then it is unknown where they lead.
bool uris_are_wrong(const Problems& problems) {
    return std::any_of(problems.begin(), problems.end(),
                       [](const Problem& problem) { return problem.key.starts_with("broker.uri"); });
}

std::vector<Endpoint> endpoints(const RawBroker& raw, const Credentials& keys, Problems& problems) {
    std::vector<Given<std::string>> uris = raw.uris;
    if (raw.uri.given) {
        if (!uris.empty()) refuse_both(raw.uri.place, uris.front().place, problems);
        uris.push_back(raw.uri);
    }
    // Without user and password: those of the keys, if given, must come first.
    if (uris.empty() && !uris_are_wrong(problems)) uris.push_back({"amqp://" + Endpoint{}.host, {}, false});
    std::vector<Endpoint> found;
    for (const auto& uri : uris) {
        if (auto one = endpoint(uri, keys, problems)) found.push_back(std::move(*one));
    }
    return found;
}

void validate_tls(const RawBroker& raw, const FileEnvironment& env, bool any_tls, Tls& tls, Problems& problems) {
    const auto validate_file = [&](const Given<std::string>& file, std::string& to) {
        if (!file.given) return;
        read_named_file(file, env, problems);
        to = file.value;
        // Without this, a file that speaks of certificates could send the password over the wire in clear.
        if (!any_tls) add(problems, file.place, "has no effect; expected a broker URI that begins with amqps://");
    };
    validate_file(raw.ca_file, tls.ca_file);
    validate_file(raw.cert_file, tls.cert_file);
    validate_file(raw.key_file, tls.key_file);
    if (raw.cert_file.given && !raw.key_file.given) {
        add(problems, raw.cert_file.place, "is given alone; expected broker.tls.key_file too");
    }
    if (raw.key_file.given && !raw.cert_file.given) {
        add(problems, raw.key_file.place, "is given alone; expected broker.tls.cert_file too");
    }
}

void check_external(const RawBroker& raw, bool all_tls, Problems& problems) {
    if (raw.password.given) add(problems, raw.password.place, no_password);
    if (raw.password_file.given) add(problems, raw.password_file.place, no_password);
    const Place& place = raw.auth_mechanism.place;
    if (!all_tls) add(problems, place, "external takes TLS; expected broker URIs that begin with amqps://");
    if (!raw.cert_file.given) {
        add(problems, place, "external takes a certificate to log in with; expected broker.tls.cert_file and key_file");
    }
}

Reconnect validate_reconnect(const RawBroker& raw, Problems& problems) {
    const Reconnect reconnect{raw.reconnect_first.value, raw.reconnect_max.value};
    if (reconnect.first <= reconnect.max) return reconnect;
    if (raw.reconnect_max.given) {
        add(problems, raw.reconnect_max.place,
            "is shorter than broker.reconnect.first; expected at least " + core::format_duration(reconnect.first));
    } else {
        add(problems, raw.reconnect_first.place,
            "is longer than broker.reconnect.max; expected at most its default, " +
                core::format_duration(reconnect.max));
    }
    return reconnect;
}

Place place_of(const Given<std::string>& file) {
    return file.given ? file.place : Place{{}, "http.admin"};
}

}  // namespace

void validate_http(const RawHttp& raw, const FileEnvironment& env, std::optional<Http>& http, Problems& problems) {
    if (!raw.admin) {
        if (raw.audit.given)
            add(problems, raw.audit.place, "has no effect without http.admin; expected a section admin, or no audit");
        return;
    }
    const Given<std::string>& file = raw.admin->password_file;
    const auto password = read_password({}, file, env, problems);
    if (raw.audit.given && !raw.audit.value.starts_with('/')) {
        add(problems, raw.audit.place,
            in_quotes(raw.audit) + " depends on where retryd is started; expected a path that begins with /");
    }
    if (!http) return;
    if (!is_loopback(http->host)) {
        add(problems, {place_of(file).at, "http.admin"},
            "cannot be with http.listen: " + in_quotes(to_string(*http)) +
                ", because the password would cross the network in clear; expected http.listen: 127.0.0.1:" +
                std::to_string(http->port) + ", and from elsewhere `ssh -L " + std::to_string(http->port) +
                ":127.0.0.1:" + std::to_string(http->port) + " HOST`, or a reverse proxy with TLS on the same machine");
    }
    http->admin = HttpAdmin{password.value_or(""), raw.admin->session};
    http->audit = raw.audit.value;
}

std::vector<std::string> read_secrets(const Given<std::string>& file, const FileEnvironment& env, Problems& problems) {
    constexpr std::size_t shortest = 32;
    std::vector<std::string> secrets;
    const auto contents = file.given ? read_named_file(file, env, problems) : std::nullopt;
    if (!contents) return secrets;
    std::size_t number = 0;
    for (std::istringstream lines{*contents}; std::getline(lines, secrets.emplace_back());) {
        std::string& line = secrets.back();
        ++number;
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty() && line.size() < shortest) {
            add(problems, file.place,
                "line " + std::to_string(number) + " of the file " + in_quotes(file) +
                    " is too short for a secret; expected at least 32 characters, as `openssl rand -hex 32` prints "
                    "them");
        }
    }
    std::erase(secrets, "");
    if (secrets.empty())
        add(problems, file.place, "the file " + in_quotes(file) + " is empty; expected a secret in it");
    return secrets;
}

void validate_broker(const RawBroker& raw, const FileEnvironment& env, Broker& broker, Problems& problems) {
    const bool external = raw.auth_mechanism.value == AuthMechanism::external;
    const Credentials keys{raw.username, read_password(raw.password, raw.password_file, env, problems), external};
    const auto has_tls = [](const Endpoint& endpoint) { return endpoint.tls; };
    broker.auth_mechanism = raw.auth_mechanism.value;
    broker.endpoints = endpoints(raw, keys, problems);
    const bool any_tls = std::any_of(broker.endpoints.begin(), broker.endpoints.end(), has_tls);
    const bool all_tls = std::all_of(broker.endpoints.begin(), broker.endpoints.end(), has_tls);
    validate_tls(raw, env, any_tls || uris_are_wrong(problems), broker.tls, problems);
    if (external) check_external(raw, all_tls, problems);
    broker.reconnect = validate_reconnect(raw, problems);
}

std::optional<Management> validate_management(const RawManagement& raw, const FileEnvironment& env,
                                              const Broker& broker, Problems& problems) {
    auto password = read_password(raw.password, raw.password_file, env, problems);
    if (!raw.url.given) return std::nullopt;
    const Endpoint first = broker.endpoints.empty() ? Endpoint{} : broker.endpoints.front();
    Management management{raw.url.value, first.username, first.password};
    if (raw.username.given) management.username = raw.username.value;
    if (broker.auth_mechanism == AuthMechanism::external && (!raw.username.given || !password)) {
        add(problems, raw.url.place,
            "the management API takes a user with a password, and broker.auth_mechanism is external; expected "
            "management.username, and management.password or management.password_file");
        return management;
    }
    // Another user with the broker's password is a mistake. Where no URI could be read, the broker's user is unknown.
    const bool another_user = management.username != first.username;
    if (another_user && !password && !broker.endpoints.empty()) {
        add(problems, raw.username.place,
            "a user has no password; expected management.password or management.password_file");
    }
    if (password) management.password = std::move(*password);
    return management;
}

}  // namespace retryd::config
