#include "config/keys.h"

#include <chrono>

#include "config/scalars.h"

namespace retryd::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds least{1};
constexpr hours longest_wait{1};
constexpr seconds longest_heartbeat{65535};  // AMQP carries it as a short

const Choices<core::QueueType> queue_types{{"quorum", core::QueueType::quorum}, {"classic", core::QueueType::classic}};

void tls(Section& s, WrittenBroker& broker, Tls& settings) {
    s.key("ca_file", text(broker.ca_file, "the path of a PEM file"),
          "The authorities whose certificates are trusted, in PEM; none: the system's.");
    s.key("cert_file", text(broker.cert_file, "the path of a PEM file"),
          "The certificate that retryd shows to the broker, in PEM.");
    s.key("key_file", text(broker.key_file, "the path of a PEM file"), "The private key of cert_file, in PEM.");
    s.key("verify_peer", boolean(settings.verify_peer),
          "Whether the broker's certificate must come from a trusted authority.");
    s.key("verify_hostname", boolean(settings.verify_hostname),
          "Whether the broker's certificate must name the host of the URI.");
}

void reconnect(Section& s, WrittenBroker& broker) {
    s.key("first", duration(broker.reconnect_first, least, longest_wait),
          "The wait before the first new attempt; it doubles with each failure, with jitter.");
    s.key("max", duration(broker.reconnect_max, least, longest_wait), "The longest wait between two attempts.");
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
    s.key("heartbeat", config::seconds(settings.heartbeat, seconds{1}, longest_heartbeat),
          "A connection that is silent for twice as long counts as lost.");
    s.key("connect_timeout", duration(settings.connect_timeout, least, longest_wait),
          "How long connecting and logging in to one node may take.");
    s.section(
        "reconnect", [&](Section& in) { reconnect(in, broker); }, "The waits after a connection was lost.");
    s.section(
        "tls", [&](Section& in) { tls(in, broker, settings.tls); }, "TLS, for URIs that begin with amqps://.");
}

void errors(Section& s, Written& written) {
    s.key("exchange", exchange_name(written.exchange),
          "The fanout exchange to which the work queues' policy dead-letters.");
    s.key("queue", queue_name(written.queue), "The one queue that retryd consumes.");
    s.key("queue_type", choice(written.settings.policy.error_queue_type, queue_types), "The error queue's type.");
    s.key("prefetch", integer(written.settings.prefetch.messages, 1), "How many messages are in hand at once.");
    s.key("prefetch_bytes", size(written.settings.prefetch.body_bytes),
          "How many bytes of bodies are in hand at once; whichever limit is reached first.");
}

void ladder(Section& s, core::Ladder& ladder) {
    Scalar delays = required(each_step(ladder.steps));
    s.list("delays", delays, "The wait after the first failure, the second, …; past the last one a message is parked.");
    s.key("queue_type", choice(ladder.queue_type, queue_types), "The type of the ladder's delay queues.");
}

void entry(Section& s, WrittenEntry& entry) {
    s.key("match", required(queue_pattern(entry.match)),
          "A work queue, or a glob: * stands for any run of characters, ? for one.");
    s.key("ladder", required(text(entry.ladder, "the name of a ladder")), "The ladder that its messages climb.");
    s.key("parked", queue_template(entry.parked),
          "Where its messages are parked; without it, parking.queue. {queue} stands for the work queue.");
}

void parking(Section& s, Written& written) {
    s.key("queue", queue_template(written.parking_queue),
          "Where messages are parked that have used up their ladder. {queue} stands for the work queue.");
    s.key("catch_all", queue_name(written.catch_all),
          "Where messages are parked that belong to no work queue, or to none that an entry matches.");
}

void log(Section& s, Log& settings) {
    s.key("level",
          choice(settings.level, Choices<LogLevel>{{"debug", LogLevel::debug},
                                                   {"info", LogLevel::info},
                                                   {"warning", LogLevel::warning},
                                                   {"error", LogLevel::error}}),
          "The least important level that is logged.");
    s.key("format", choice(settings.format, Choices<LogFormat>{{"text", LogFormat::text}, {"json", LogFormat::json}}),
          "Lines for people, or one JSON object a line.");
}

}  // namespace

void describe(Section& file, Written& written) {
    file.section(
        "broker", [&](Section& s) { broker(s, written); }, "How to reach RabbitMQ.");
    file.section(
        "errors", [&](Section& s) { errors(s, written); }, "Where failed messages arrive.");
    file.named_sections(
        "ladders",
        [&](Section& s, const Place& place, const std::string& name) {
            written.ladders.push_back({name, place, {name, {}, core::QueueType::quorum}});
            ladder(s, written.ladders.back().ladder);
        },
        "The ladders, by name.");
    file.sections(
        "queues",
        [&](Section& s, const Place& place) {
            written.entries.push_back({place, {}, {}, {}});
            entry(s, written.entries.back());
        },
        "The work queues and their ladders; the first entry that matches wins.");
    file.section(
        "parking", [&](Section& s) { parking(s, written); }, "Where messages wait for a person.");
    file.section(
        "log", [&](Section& s) { log(s, written.settings.log); }, "The log, on standard error.");
    file.key("shutdown_timeout", duration(written.settings.shutdown_timeout, milliseconds{0}, longest_wait),
             "How long messages in hand may take to be settled when retryd is told to stop.");
}

}  // namespace retryd::config
