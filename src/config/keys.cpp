#include "config/keys.h"

#include <chrono>

#include "config/keys_policy.h"
#include "config/scalars.h"

namespace retryd::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds shortest_wait{1};
constexpr hours longest_wait{1};
constexpr seconds longest_heartbeat{65535};  // AMQP carries it as a short

void tls(Section& s, WrittenBroker& broker, Tls& settings) {
    s.key("ca_file", text(broker.ca_file, "the path of a PEM file"),
          "The authorities whose certificates are trusted, in PEM; without it, the system's.");
    s.key("cert_file", text(broker.cert_file, "the path of a PEM file"),
          "The certificate that retryd shows to the broker, in PEM.");
    s.key("key_file", text(broker.key_file, "the path of a PEM file"), "The private key of cert_file, in PEM.");
    s.key("verify_peer", boolean(settings.verify_peer),
          "Whether the broker's certificate must come from a trusted authority.");
    s.key("verify_hostname", boolean(settings.verify_hostname),
          "Whether the broker's certificate must name the host of the URI.");
}

void reconnect(Section& s, WrittenBroker& broker) {
    s.key("first", duration(broker.reconnect_first, shortest_wait, longest_wait),
          "The wait before the first new attempt; it doubles with each failure, with jitter.");
    s.key("max", duration(broker.reconnect_max, shortest_wait, longest_wait), "The longest wait between two attempts.");
}

void broker(Section& s, Written& written) {
    WrittenBroker& broker = written.broker;
    Broker& settings = written.settings.broker;
    const std::string uri = "amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// for TLS";
    s.key("uri", secret(text(broker.uri, uri)), "Where the broker is; the path is the vhost.");
    s.list("uris", secret(each_text(broker.uris, uri)), "Instead of uri: several nodes, tried in turn.");
    s.key("username", text(broker.username, "a user name"), "The user to log in as; wins over the URI's.");
    s.key("password", secret(any_text(broker.password, "a password, best as ${RETRYD_PASSWORD}")),
          "The user's password; wins over the URI's.");
    s.key("password_file", text(broker.password_file, "the path of a file"),
          "Instead of password: a file that holds it; a line break at its end is not part of it.");
    s.key("auth_mechanism",
          choice(broker.auth_mechanism,
                 Choices<AuthMechanism>{{"plain", AuthMechanism::plain}, {"external", AuthMechanism::external}}),
          "How to log in: with user name and password, or as the user that the certificate in tls names.");
    s.key("heartbeat", config::seconds(settings.heartbeat, seconds{1}, longest_heartbeat),
          "A connection that is silent for twice as long counts as lost.");
    s.key("connect_timeout", duration(settings.connect_timeout, shortest_wait, longest_wait),
          "How long connecting and logging in to one node may take.");
    s.section(
        "reconnect", [&](Section& in) { reconnect(in, broker); }, "The waits after a connection was lost.");
    s.section(
        "tls", [&](Section& in) { tls(in, broker, settings.tls); }, "TLS, for URIs that begin with amqps://.");
}

void management(Section& s, WrittenManagement& management) {
    s.key("url", required(management_url(management.url)), "Where RabbitMQ's management API is.");
    s.key("username", text(management.username, "a user name"),
          "The user to log in as, with the tag `management` at least; without it, the broker's.");
    s.key("password", secret(any_text(management.password, "a password, best as ${RETRYD_PASSWORD}")),
          "The user's password; without it, the broker's.");
    s.key("password_file", text(management.password_file, "the path of a file"),
          "Instead of password: a file that holds it; a line break at its end is not part of it.");
}

void http(Section& s, std::optional<Http>& settings) {
    s.key("listen", required(listen_address(settings)),
          "Where it listens; anyone who can connect sees names of queues and numbers, never a message.");
}

void log(Section& s, Log& settings) {
    s.key("level",
          choice(settings.level, Choices<LogLevel>{{"debug", LogLevel::debug},
                                                   {"info", LogLevel::info},
                                                   {"warning", LogLevel::warning},
                                                   {"error", LogLevel::error}}),
          "The least important level that is logged.");
    s.key("format", choice(settings.format, Choices<LogFormat>{{"text", LogFormat::text}, {"json", LogFormat::json}}),
          "Lines for people, or one JSON object per line.");
}

}  // namespace

void describe(Section& file, Written& written) {
    file.section(
        "broker", [&](Section& s) { broker(s, written); }, "How to reach RabbitMQ.");
    describe_errors(file, written);
    describe_ladders(file, written);
    describe_queues(file, written);
    describe_parking(file, written);
    file.section(
        "http", [&](Section& s) { http(s, written.settings.http); },
        "Metrics, health and a status page over HTTP; nothing is served without it.");
    file.section(
        "log", [&](Section& s) { log(s, written.settings.log); }, "The log, on standard error.");
    file.section(
        "management", [&](Section& s) { management(s, written.management); },
        "RabbitMQ's management API, for what AMQP cannot tell; without it, `plan` sees less.");
    file.key("declare", boolean(written.settings.declare),
             "Whether retryd declares its exchanges and queues; if false, it only checks that they exist.");
    file.key("shutdown_timeout", duration(written.settings.shutdown_timeout, milliseconds{0}, longest_wait),
             "How long retryd may take to settle the messages in hand when it is told to stop.");
}

}  // namespace retryd::config
