#include "config/keys.h"

#include <chrono>
#include <utility>

#include "config/scalars.h"
#include "core/duration.h"

namespace retryd::config {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds least_delay{1};

const Choices<core::QueueType> queue_types{{"quorum", core::QueueType::quorum}, {"classic", core::QueueType::classic}};
const Choices<core::ReturnPath> return_paths{{"queue", core::ReturnPath::queue},
                                             {"headers", core::ReturnPath::headers}};
const Choices<core::Action> actions{
    {"retry", core::Action::retry}, {"park", core::Action::park}, {"drop", core::Action::drop}};

void binding(Section& s, RawBinding& binding) {
    s.key("exchange", required(foreign_exchange(binding.exchange)),
          "An existing dead-letter exchange that work queues name as an argument.");
    s.key("routing_key", routing_key(binding.routing_key), "The binding's routing key; on a topic exchange, # is any.");
}

void errors(Section& s, RawConfig& written) {
    s.key("exchange", exchange_name(written.exchange),
          "The fanout exchange to which the work queues' policy dead-letters.");
    s.key("queue", queue_name(written.queue), "The one queue that retryd consumes.");
    s.key("queue_type", choice(written.settings.policy.error_queue_type, queue_types), "The error queue's type.");
    s.key("prefetch", integer(written.settings.prefetch.messages, 1), "How many messages are in hand at once.");
    s.key("prefetch_bytes", size(written.settings.prefetch.body_bytes),
          "How many bytes of messages wait in hand at once; whichever limit is reached first.");
    s.sections(
        "bind", Presence::optional,
        [&](Section& in, const Place& place) {
            written.bindings.push_back({});
            written.bindings.back().place = place;
            binding(in, written.bindings.back());
        },
        "Other exchanges that lead to the error queue too.");
}

void jitter(Section& s, RawJitter& jitter) {
    s.key("width", required(percent(jitter.width_percent, {1, 99})),
          "By how much of its delay an attempt may come earlier.");
    s.key("lanes", required(integer(jitter.lanes, {2, 16})), "How many queues each rung becomes.");
}

void ladder(Section& s, RawLadder& ladder) {
    RawFormula& formula = ladder.formula;
    s.list("delays", each_step(ladder.delays),
           "The wait after the first failure, after the second, and so on; a message that fails after the last one is "
           "parked.");
    s.key("first", duration(formula.first, least_delay, core::longest_ttl, seconds{1}),
          "Instead of delays: the wait after the first failure.");
    s.key("factor", decimal(formula.factor, {1, 100}), "How much longer each wait is than the one before.");
    s.key("max", duration(formula.max, least_delay, core::longest_ttl, minutes{5}),
          "The longest wait; without it, the waits keep growing.");
    s.key("attempts", integer(formula.attempts, {1, longest_ladder}), "How many waits there are, first included.");
    s.key("return", choice(ladder.ladder.return_path, return_paths),
          "How messages come back: through delay queues of each work queue's own, or through delay queues that all "
          "work queues share, with the producer's routing key.");
    s.key("queue_type", choice(ladder.ladder.queue_type, queue_types), "The type of the ladder's delay queues.");
    s.section(
        "jitter", [&](Section& in) { jitter(in, ladder.jitter); }, "Spreads out what failed at the same moment.");
}

void on_death(Section& s, core::OnDeath& on) {
    s.key("rejected", choice(on.rejected, actions), "A consumer rejected it.");
    s.key("delivery_limit", choice(on.delivery_limit, actions),
          "It was delivered more often than its quorum queue allows.");
    s.key("expired", choice(on.expired, actions), "Its TTL expired in the work queue.");
    s.key("maxlen", choice(on.maxlen, actions), "The work queue was full.");
}

void parked_exchange(Section& s, RawParking& parked) {
    s.key("exchange", required(foreign_exchange(parked.exchange)),
          "An existing exchange to which the messages go instead.");
    s.key("routing_key", routing_key_template(parked.routing_key),
          "The routing key to publish with; without it, the producer's. {queue} stands for the work queue.");
}

void entry(Section& s, RawEntry& entry) {
    s.key("match", required(queue_pattern(entry.match)),
          "A work queue, or a glob: * stands for any number of characters, ? for one.");
    s.key("ladder", required(text(entry.ladder, "the name of a ladder")), "The ladder for its messages.");
    s.key("max_age", duration(entry.max_age, seconds{1}, core::longest_ttl, hours{24}),
          "A message is parked when its first failure is longer ago than this.");
    s.section(
        "on", [&](Section& in) { on_death(in, entry.on); },
        "What happens to a message, by the reason of its death: retry, park or drop.");
    Scalar queue = queue_template(entry.parked.queue);
    queue.expected.append(", or {exchange: NAME, routing_key: KEY}");
    s.text_or_section(
        "parked", queue, [&](Section& in) { parked_exchange(in, entry.parked); },
        "Where its messages are parked; without it, parking.queue. {queue} stands for the work queue.");
}

void parking(Section& s, RawConfig& written) {
    s.key("queue", queue_template(written.parking_queue),
          "Where messages that have used up their ladder are parked. {queue} stands for the work queue.");
    s.key("catch_all", queue_name(written.catch_all),
          "Where messages that belong to no work queue, or to none that an entry matches, are parked.");
}

}  // namespace

void describe_errors(Section& file, RawConfig& written) {
    file.section(
        "errors", [&](Section& s) { errors(s, written); }, "Where failed messages arrive.");
}

void describe_ladders(Section& file, RawConfig& written) {
    file.named_sections(
        "ladders",
        [&](Section& s, const Place& place, const std::string& name) {
            RawLadder& written_ladder = written.ladders.emplace_back();
            written_ladder.name = name;
            written_ladder.place = place;
            ladder(s, written_ladder);
        },
        "The ladders, by name.");
}

void describe_queues(Section& file, RawConfig& written) {
    file.sections(
        "queues", Presence::required,
        [&](Section& s, const Place& place) {
            RawEntry& written_entry = written.entries.emplace_back();
            written_entry.place = place;
            entry(s, written_entry);
        },
        "The work queues and their ladders; the first entry that matches wins.");
}

void describe_parking(Section& file, RawConfig& written) {
    file.section(
        "parking", [&](Section& s) { parking(s, written); }, "Where messages are parked.");
}

// The keys as data: what `describe` says, written down instead of read.

namespace {

class Recorder : public Section {
  public:
    Recorder(std::string prefix, std::vector<KeyInfo>& keys) : prefix_(std::move(prefix)), keys_(keys) {}

    void key(std::string_view name, const Scalar& value, std::string_view meaning) override {
        add(name, value.type, value, meaning);
    }

    void list(std::string_view name, const Scalar& each, std::string_view meaning) override {
        add(name, Type::list, each, meaning);
    }

    void section(std::string_view name, const std::function<void(Section&)>& keys, std::string_view meaning) override {
        add(name, Type::section, {}, meaning);
        Recorder inner{path(name) + ".", keys_};
        keys(inner);
    }

    void text_or_section(std::string_view name, const Scalar& text, const std::function<void(Section&)>& keys,
                         std::string_view meaning) override {
        add(name, Type::text_or_section, text, meaning);
        Recorder inner{path(name) + ".", keys_};
        keys(inner);
    }

    void named_sections(std::string_view name, const DescribeNamed& keys, std::string_view meaning) override {
        add(name, Type::named_sections, {}, meaning);
        Recorder inner{path(name) + ".*.", keys_};
        keys(inner, {{}, path(name) + ".*"}, "*");
    }

    void sections(std::string_view name, Presence presence, const Describe& keys, std::string_view meaning) override {
        add(name, Type::sections, presence_of(presence), meaning);
        Recorder inner{path(name) + "[].", keys_};
        keys(inner, {{}, path(name) + "[]"});
    }

  private:
    std::string path(std::string_view name) const { return prefix_ + std::string{name}; }

    void add(std::string_view name, Type type, const Scalar& value, std::string_view meaning) {
        keys_.push_back({path(name), type, value.type, value.expected, value.fallback, value.required,
                         value.may_be_null, value.pattern, value.choices, value.range, std::string{meaning}});
    }

    std::string prefix_;
    std::vector<KeyInfo>& keys_;
};

}  // namespace

std::vector<KeyInfo> all_keys() {
    std::vector<KeyInfo> keys;
    RawConfig written;
    Recorder recorder{"", keys};
    describe(recorder, written);
    return keys;
}

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds shortest_wait{1};
constexpr hours longest_wait{1};
constexpr seconds longest_heartbeat{65535};  // AMQP carries it as a short

void tls(Section& s, RawBroker& broker, Tls& settings) {
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

void reconnect(Section& s, RawBroker& broker) {
    s.key("first", duration(broker.reconnect_first, shortest_wait, longest_wait),
          "The wait before the first new attempt; it doubles with each failure, with jitter.");
    s.key("max", duration(broker.reconnect_max, shortest_wait, longest_wait), "The longest wait between two attempts.");
}

void broker(Section& s, RawConfig& written) {
    RawBroker& broker = written.broker;
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

void management(Section& s, RawManagement& management) {
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

void describe(Section& file, RawConfig& written) {
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
