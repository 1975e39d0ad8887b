#include "config/keys.h"

#include <chrono>
#include <optional>
#include <utility>

#include "config/addresses.h"
#include "config/name_scalars.h"
#include "core/duration.h"

namespace retryd::config {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr milliseconds shortest_wait{1};
constexpr hours longest_wait{1};
constexpr std::chrono::seconds longest_heartbeat{65535};  // AMQP carries it as a short

const Choices<core::QueueType> queue_types{{"quorum", core::QueueType::quorum}, {"classic", core::QueueType::classic}};

// broker:

void describe_reconnect(Section& s, RawBroker& broker) {
    s.key("first", duration(broker.reconnect_first, shortest_wait, longest_wait),
          "The wait before the first new attempt. It doubles with each failure, with jitter.");
    s.key("max", duration(broker.reconnect_max, shortest_wait, longest_wait), "The longest wait between two attempts.");
}

void describe_tls(Section& s, RawBroker& broker, Tls& tls) {
    const std::string pem = "the path of a PEM file";
    s.key("ca_file", with_example(text(broker.ca_file, pem), "/etc/retryd/ca.pem"),
          "The certificate authorities to trust, in PEM; without it, the system's.");
    s.key("cert_file", with_example(text(broker.cert_file, pem), "/etc/retryd/client.pem"),
          "The certificate that retryd shows to the broker, in PEM; it needs `key_file` too.");
    s.key("key_file", with_example(text(broker.key_file, pem), "/etc/retryd/client.key"),
          "The private key of `cert_file`, in PEM, not encrypted.");
    s.key("verify_peer", boolean(tls.verify_peer),
          "Whether the broker's certificate must come from a trusted authority.");
    s.key(
        "verify_hostname", boolean(tls.verify_hostname),
        "Whether the broker's certificate must be for the host of the URI: a name must be among its names, an address "
        "among its addresses.");
}

std::string default_uri() {
    const Endpoint endpoint;
    return "amqp://" + endpoint.username + ":" + endpoint.password + "@" + host_and_port(endpoint.host, endpoint.port) +
           "/";
}

void describe_broker(Section& s, RawBroker& broker, Broker& settings) {
    const std::string uri = "amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// for TLS";
    s.key("uri", with_default(secret(text(broker.uri, uri)), default_uri()),
          "Where the broker is. The path is the vhost: none or / is the default vhost; any other name is "
          "percent-encoded (the vhost a/b is a%2Fb), and so are special characters in the user name and the password. "
          "Without a port it is 5672, with TLS 5671.");
    s.list("uris", with_example(secret(each_text(broker.uris, uri)), "[amqp://rabbit-1/, amqp://rabbit-2/]"),
           "Instead of `uri`: several nodes of one cluster, tried in turn.");
    s.key("username", with_example(text(broker.username, "a user name"), "retryd"),
          "The user to log in as; overrides the user in the URI.");
    s.key(
        "password",
        with_example(secret(any_text(broker.password, "a password, best as ${RETRYD_PASSWORD}")), "${RETRYD_PASSWORD}"),
        "The user's password; overrides the password in the URI.");
    s.key(
        "password_file",
        with_example(text(broker.password_file, "the path of a file"), "/run/credentials/retryd.service/password"),
        "Instead of `password`: a file that holds it, such as one that systemd's LoadCredential= provides, or a secret "
        "of Docker or Kubernetes. A line break at its end is not part of the password.");
    s.key("auth_mechanism",
          choice(broker.auth_mechanism,
                 Choices<AuthMechanism>{{"plain", AuthMechanism::plain}, {"external", AuthMechanism::external}}),
          "How to log in. plain: with user name and password. external: with the certificate in `tls`, whose name is a "
          "user on the broker; there is no password then, and `username` only tells `doctor` that name.");
    s.key("heartbeat", seconds(settings.heartbeat, std::chrono::seconds{1}, longest_heartbeat),
          "A connection that is silent for twice this long counts as lost.");
    s.key("connect_timeout", duration(settings.connect_timeout, shortest_wait, longest_wait),
          "How long connecting and logging in to one node may take.");
    s.section("reconnect", "The wait before reconnecting; it doubles from `first` to `max`, with jitter.",
              [&](Section& in) { describe_reconnect(in, broker); });
    s.section("tls", "TLS, for URIs that begin with amqps://.",
              [&](Section& in) { describe_tls(in, broker, settings.tls); });
}

// errors:

void describe_binding(Section& s, RawBinding& binding) {
    s.key("exchange", with_example(required(foreign_exchange(binding.exchange)), "legacy.dlx"),
          "The exchange; it has to exist.");
    s.key("routing_key", routing_key(binding.routing_key),
          "The binding's routing key. # is any key on a topic exchange, a fanout exchange ignores it, and a direct "
          "exchange needs the key itself.");
}

void describe_errors(Section& s, RawConfig& raw) {
    s.key("exchange", exchange_name(raw.exchange),
          "The fanout exchange that the work queues dead-letter to; retryd declares it.");
    s.key("queue", queue_name(raw.queue),
          "The error queue, bound to that exchange: the one queue that retryd consumes. retryd declares it too.");
    s.key("queue_type", choice(raw.settings.policy.error_queue_type, queue_types),
          "The error queue's type. A quorum queue survives the loss of a node.");
    s.key("prefetch", integer(raw.settings.prefetch.messages, {1, 65535}),
          "How many messages are unacknowledged at once: taken from the error queue, but not yet safe in their next "
          "queue.");
    s.key("prefetch_bytes", size(raw.settings.prefetch.body_bytes),
          "How many bytes of messages, headers included, are held in memory at once while they cannot be published. "
          "Whichever of the two limits is reached first applies.");
    s.key(
        "key_file", with_example(text(raw.key_file, "the path of a file"), "/run/credentials/retryd.service/key"),
        "A file with a secret of at least 32 characters, such as `openssl rand -hex 32` prints: by it retryd knows the "
        "headers that it wrote itself (docs/security.md). All daemons of one error queue and `retryd parked` need the "
        "same one. More lines are former ones, which are believed as well. Without it the password of the broker's "
        "user takes its place.");
    s.sections("bind", Presence::optional,
               "Other exchanges that lead to the error queue too: dead-letter exchanges that work queues name by an "
               "argument, which no policy can override. retryd binds the error queue to them.",
               [&](Section& in, const Place& place) {
                   RawBinding& binding = raw.bindings.emplace_back();
                   binding.place = place;
                   describe_binding(in, binding);
               });
}

// ladders:

void describe_jitter(Section& s, RawJitter& jitter) {
    s.key("width", required(percent(jitter.width_percent, {1, 99})),
          "By how much of the delay a message may come back earlier.");
    s.key("lanes", with_example(required(integer(jitter.lanes, {2, 16})), "4"),
          "How many queues each delay queue becomes.");
}

void describe_ladder(Section& s, RawLadder& ladder) {
    RawFormula& formula = ladder.formula;
    s.list("delays", with_example(each_step(ladder.delays), "[5s, 30s, 2m, 10m, 1h]"),
           "The wait after the first failure, after the second, and so on, at most " + std::to_string(longest_ladder) +
               " in all. `30s x3` is three waits in the same delay queue. A message that fails after the last one is "
               "parked.");
    s.key("first", duration(formula.first, shortest_wait, core::longest_ttl, std::chrono::seconds{1}),
          "Instead of `delays`, a formula, which needs `first` and `attempts`. This is its first wait.");
    s.key("factor", with_example(decimal(formula.factor, {1, 100}), "2"),
          "How many times longer each wait is than the one before.");
    s.key("max", duration(formula.max, shortest_wait, core::longest_ttl, minutes{5}),
          "The longest wait; without it, the waits grow to the end.");
    s.key("attempts", with_example(integer(formula.attempts, {1, longest_ladder}), "10"),
          "How many waits there are, the first included.");
    s.key(
        "return",
        choice(ladder.ladder.return_path,
               Choices<core::ReturnPath>{{"queue", core::ReturnPath::queue}, {"headers", core::ReturnPath::headers}}),
        "How messages come back. queue: each work queue has delay queues of its own, and the consumer sees the name of "
        "its queue as the routing key. headers: all work queues of the ladder share its delay queues, and the consumer "
        "sees the routing key that the producer used.");
    s.key("queue_type", choice(ladder.ladder.queue_type, queue_types),
          "The type of the delay queues. A quorum queue keeps a message until it has arrived in its work queue; a "
          "classic one loses it if the work queue is gone or full. Brokers before 3.10 always get classic ones.");
    s.section("jitter",
              "Spreads out what failed at the same moment: each delay queue becomes `lanes` queues. With a `width` of "
              "20% they "
              "have 80 to 100 percent of the delay. Without this section there is no jitter.",
              [&](Section& in) { describe_jitter(in, ladder.jitter); });
}

void describe_ladders(Section& file, RawConfig& raw) {
    file.named_sections("ladders",
                        "The lists of delays, each with a name of " + std::string{ladder_name_rule} + "; not `detour`.",
                        [&](Section& s, const Place& place, const std::string& name) {
                            RawLadder& ladder = raw.ladders.emplace_back();
                            ladder.name = name;
                            ladder.place = place;
                            describe_ladder(s, ladder);
                        });
}

// queues:

void describe_actions(Section& s, core::OnDeath& on) {
    const Choices<core::Action> actions{
        {"retry", core::Action::retry}, {"park", core::Action::park}, {"drop", core::Action::drop}};
    s.key("rejected", choice(on.rejected, actions), "A consumer rejected it.");
    s.key("delivery_limit", choice(on.delivery_limit, actions),
          "It was delivered more often than its quorum queue allows.");
    s.key("expired", choice(on.expired, actions), "Its TTL expired in the work queue.");
    s.key("maxlen", choice(on.maxlen, actions), "The work queue was full.");
}

void describe_parked_exchange(Section& s, RawParking& parked) {
    s.key("exchange", with_example(required(foreign_exchange(parked.exchange)), "team.dlx"),
          "The messages go to this exchange instead. It has to exist, such as a team's former dead-letter exchange.");
    s.key("routing_key", with_example(routing_key_template(parked.routing_key), "\"{queue}.dead\""),
          "The routing key to publish with; without it, the one that the producer used. {queue} stands for the work "
          "queue.");
}

void describe_outage(Section& s, RawOutage& outage) {
    s.key("failing", percent(outage.failing_percent, {50, 100}),
          "It is an outage when such a share of the messages fails whose end is known.");
    s.key("of", integer(outage.of, {2, 65535}), "Of at least so many messages.");
    s.key("within", duration(outage.within, std::chrono::seconds{5}, minutes{10}), "The time that is looked at.");
    s.key("probe", duration(outage.probe, std::chrono::seconds{1}, minutes{10}),
          "While messages are held, one is sent back to the work queue this often. Two that succeed in a row, or fresh "
          "messages that do, "
          "end the outage.");
    s.key("release", rate(outage.release, {1, 10'000}),
          "Then the held messages are sent back, at first so many; twice as many while few fail, half as many when a "
          "tenth does.");
}

void describe_parked_age(Section& s, RawParkedAge& age) {
    s.key("max", required(duration(age.max, minutes{1}, core::longest_ttl, hours{24 * 30})),
          "A message is too old when it has been parked for longer than this. Mostly it goes no more than a hundredth "
          "of that later, or a minute.");
    s.key("archive", with_example(text(age.archive, "the path of a folder"), "/var/lib/retryd"),
          "Messages that are too old go into a file in this folder, one for each parking queue and day, as `retryd "
          "parked export` writes it; once they are safe on the disk they are dropped. The folder has to be there and "
          "writable.");
    s.key("drop", boolean(age.drop),
          "Whether messages that are too old are dropped without being kept anywhere: they are gone for good.");
}

void describe_entry(Section& s, RawEntry& entry) {
    s.key("match", with_example(required(queue_pattern(entry.match)), "\"*\""),
          "The name of a work queue, or a glob: * stands for any number of characters, ? for one. A glob with a * must "
          "be quoted.");
    s.key("ladder", with_example(required(text(entry.ladder, "the name of a ladder")), "standard"),
          "The ladder for its messages.");
    s.key("failures",
          choice(entry.failures, Choices<core::FailuresBy>{{"error_queue", core::FailuresBy::error_queue},
                                                           {"source", core::FailuresBy::source}}),
          "By what its failures come. error_queue: it dead-letters to `errors.exchange`, and `retryd attach` sees to "
          "that. source: by one of the `sources` alone, as those of a framework that rejects what it also puts there; "
          "`retryd attach` leaves it out, since each failure would come twice.");
    s.key("max_age", duration(entry.max_age, std::chrono::seconds{1}, core::longest_ttl, hours{24}),
          "A message is parked when its first failure is longer ago than this, whatever is left of its ladder. Without "
          "it there is no limit.");
    s.key("hold", boolean(entry.hold),
          "Whether messages that fail are held, in `{queue}.held`, instead of being retried, their attempt unspent: by "
          "hand, for an outage that is known. Once it is taken away, they are sent back. With a glob it needs "
          "`management`.");
    s.section("outage",
              "Messages are held by themselves while nearly all fail, as when what the consumers depend on is down: an "
              "outage costs no message an attempt. It needs `management`, whose counters tell what succeeds. Without "
              "this section nothing is held by itself; `outage: {}` is one with all defaults.",
              [&](Section& in) { describe_outage(in, entry.outage.emplace()); });
    s.key("verdict", boolean(entry.verdict),
          "Whether consumers may say when a message that they give up is tried again, in its headers "
          "`x-opt-retry-after` and `x-opt-retry`.");
    s.key(
        "x_death",
        choice(entry.x_death, Choices<core::XDeath>{{"remove", core::XDeath::remove}, {"keep", core::XDeath::keep}}),
        "keep: consumers see their message's deaths in `x-death`, as without retryd, on every version of RabbitMQ: for "
        "those that count them, and for Rascal's `republish`. Then messages come back from their rung through retryd. "
        "remove: "
        "`x-death` is taken off.");
    s.section("on",
              "What happens to a message, by the reason of its death: retry, park or drop. A dropped message is gone.",
              [&](Section& in) { describe_actions(in, entry.on); });
    Scalar queue = with_example(queue_template(entry.parked.queue), "\"{queue}.dead\"");
    queue.expected.append(", or {exchange: NAME, routing_key: KEY}");
    s.value_or_section("parked", queue,
                       "Where its messages are parked, if not in `parking.queue`. {queue} stands for the work queue.",
                       [&](Section& in) { describe_parked_exchange(in, entry.parked); });
    s.section(
        "parked_age",
        "What becomes of parked messages that nobody has looked after for long: either `archive` or `drop` says so. "
        "With a glob it needs `management`. Without this section they wait for a person, however long.",
        [&](Section& in) { describe_parked_age(in, entry.parked_age.emplace()); });
}

void describe_queues(Section& file, RawConfig& raw) {
    file.sections("queues", Presence::required,
                  "Which work queue uses which ladder. The first entry that matches wins.",
                  [&](Section& s, const Place& place) {
                      RawEntry& entry = raw.entries.emplace_back();
                      entry.place = place;
                      describe_entry(s, entry);
                  });
}

// sources:

Scalar dialect(Given<core::Dialect>& target) {
    Scalar scalar = choice(target, Choices<core::Dialect>{{"masstransit", core::Dialect::masstransit},
                                                          {"nservicebus", core::Dialect::nservicebus},
                                                          {"rebus", core::Dialect::rebus},
                                                          {"easynetq", core::Dialect::easynetq},
                                                          {"spring", core::Dialect::spring},
                                                          {"symfony", core::Dialect::symfony},
                                                          {"celery", core::Dialect::celery},
                                                          {"dramatiq", core::Dialect::dramatiq},
                                                          {"generic", core::Dialect::generic}});
    scalar.default_value.clear();
    return with_example(required(scalar), "masstransit");
}

void describe_work_queue(Section& s, RawSource& source) {
    s.key("header", with_example(text(source.header, "the name of a header"), "x-origin"),
          "The header of the message that holds the name of the work queue.");
    s.key("suffix", with_example(text(source.suffix, "the end of the source's name"), "_error"),
          "What the name of the source has more than that of the work queue, at its end.");
}

void describe_reason(Section& s, RawSource& source) {
    s.key("header", with_example(required(text(source.reason_header, "the name of a header")), "x-exception"),
          "The header of the message that holds it.");
}

void describe_source(Section& s, RawSource& source) {
    s.key(
        "queue", with_example(required(source_queue(source.queue)), "orders_error"),
        "The name of the queue. It has to exist, is never declared, and retryd has to be its only consumer. Or a glob: "
        "its queues are found through `management`, which is looked at every minute. Left out are retryd's own, and "
        "those that are exclusive or auto-delete.");
    s.key("dialect", dialect(source.dialect),
          "Who puts the messages there, and so how they are read and how they go back. generic: anybody; then "
          "`work_queue` says where they belong, or else the broker does, which has dead-lettered them.");
    Scalar name = with_example(work_queue_name(source.work_queue), "orders");
    name.expected.append(", or {header: NAME}, or {suffix: TEXT}");
    s.value_or_section("work_queue", name,
                       "Which work queue they failed in, if the dialect does not tell, or not rightly: its name, or "
                       "where the name is.",
                       [&](Section& in) { describe_work_queue(in, source); });
    s.section("reason", "Where a message says why it failed, if not where the dialect has it.",
              [&](Section& in) { describe_reason(in, source); });
}

void describe_sources(Section& file, RawConfig& raw) {
    file.sections("sources", Presence::optional,
                  "Queues of others that retryd consumes beside the error queue: error queues of frameworks that put "
                  "away themselves what has failed, and dead-letter queues that are there already. What lies there is "
                  "read as a failure in its work queue: the same entries, ladders and parking queues.",
                  [&](Section& s, const Place& place) {
                      RawSource& source = raw.sources.emplace_back();
                      source.place = place;
                      describe_source(s, source);
                  });
}

// parking:, http:, log:, management:

void describe_parking(Section& s, RawConfig& raw) {
    s.key("queue", queue_template(raw.parking_queue),
          "For messages that have used up their ladder. {queue} stands for the work queue; without it, all work queues "
          "share one parking queue.");
    s.key(
        "catch_all", queue_name(raw.catch_all),
        "For messages that belong to no work queue: without a readable death, or from a queue that no entry matches.");
}

void describe_admin(Section& s, RawHttpAdmin& admin) {
    s.key(
        "password_file",
        with_example(required(text(admin.password_file, "the path of a file")), "/run/credentials/retryd.service/desk"),
        "A file with the password that signs in. A line break at its end is not part of it. A reload reads it again; "
        "with another password in it all who are signed in have to sign in again.");
    s.key("session", duration(admin.session, minutes{1}, hours{24 * 30}), "How long a sign-in lasts.");
}

void describe_http(Section& s, std::optional<Http>& http, RawHttp& raw) {
    s.key("listen", with_example(required(listen_address(http)), "127.0.0.1:9467"),
          "Where it listens; [::]:9467 and 0.0.0.0:9467 are every address. Anyone who can connect sees names of queues "
          "and numbers, never a message, and can change nothing.");
    s.section(
        "admin",
        "Whoever knows a password may see parked messages there, replay, drop and edit them, and send home or park "
        "what waits on rungs. `listen` has to be an address of this machine alone (127.0.0.1). Without this "
        "section nothing can be changed over HTTP.",
        [&](Section& in) { describe_admin(in, raw.admin.emplace()); });
    s.key("audit", with_example(text(raw.audit, "the path of a file"), "/var/lib/retryd/audit.ndjson"),
          "With `admin`: a file to which a line of JSON is appended when an action begins and when it ends: who, what, "
          "which messages, how many. A regular file, no link, which retryd may read and write. While it cannot be "
          "written nothing is done at the desk.");
}

void describe_log(Section& s, Log& log) {
    s.key("level",
          choice(log.level, Choices<LogLevel>{{"debug", LogLevel::debug},
                                              {"info", LogLevel::info},
                                              {"warning", LogLevel::warning},
                                              {"error", LogLevel::error}}),
          "The least important level that is logged.");
    s.key("format", choice(log.format, Choices<LogFormat>{{"text", LogFormat::text}, {"json", LogFormat::json}}),
          "text: lines for people. json: one JSON object a line.");
}

void describe_management(Section& s, RawManagement& management) {
    s.key("url", with_example(required(management_url(management.url)), "http://127.0.0.1:15672"),
          "Where RabbitMQ's management API is.");
    s.key("username", with_example(text(management.username, "a user name"), "retryd"),
          "The user to log in as, with the tag `management` at least; without it, the broker's.");
    s.key("password",
          with_example(secret(any_text(management.password, "a password, best as ${RETRYD_PASSWORD}")),
                       "${RETRYD_PASSWORD}"),
          "The user's password; without it, the broker's.");
    s.key(
        "password_file",
        with_example(text(management.password_file, "the path of a file"), "/run/credentials/retryd.service/password"),
        "A file with the password, instead of `password`. A line break at its end is not part of it.");
}

}  // namespace

void describe(Section& file, RawConfig& raw) {
    file.section("broker", "How to reach RabbitMQ.",
                 [&](Section& s) { describe_broker(s, raw.broker, raw.settings.broker); });
    file.section("errors",
                 "Where failed messages arrive. A policy on the broker has to make `errors.exchange` the dead-letter "
                 "exchange of the work queues; `retryd attach` prints the commands.",
                 [&](Section& s) { describe_errors(s, raw); });
    describe_ladders(file, raw);
    describe_queues(file, raw);
    describe_sources(file, raw);
    file.section("parking", "Where messages are parked: they wait there for a person, with headers that say why.",
                 [&](Section& s) { describe_parking(s, raw); });
    file.section(
        "http",
        "Metrics for Prometheus (/metrics), health (/healthz, /readyz) and a status page (/) over HTTP. Without "
        "this section nothing is served.",
        [&](Section& s) { describe_http(s, raw.settings.http, raw.http); });
    file.section("log", "The log, on standard error.", [&](Section& s) { describe_log(s, raw.settings.log); });
    file.section(
        "management",
        "RabbitMQ's management API. `plan`, `apply`, `attach`, `doctor`, `status` and `parked` ask it for what AMQP "
        "cannot tell: bindings, left-over rungs, policies and permissions. With `http` the daemon asks it too, to find "
        "the queues that an earlier run declared for a glob. Without this section it is not used.",
        [&](Section& s) { describe_management(s, raw.management); });
    file.key("declare", boolean(raw.settings.declare),
             "Whether retryd declares its exchanges, queues and bindings. If false, it only checks that they exist.");
    file.key("shutdown_timeout", duration(raw.settings.shutdown_timeout, milliseconds{0}, longest_wait),
             "How long retryd may take to settle the messages in flight when it is told to stop.");
}

ScalarInfo list_of_sections(Presence presence) {
    ScalarInfo info;
    info.required = presence == Presence::required;
    info.may_be_null = !info.required;
    info.expected = info.required ? "a list of at least one entry" : "a list of maps of keys and values";
    return info;
}

// The keys as data: what `describe` says, noted down instead of read.

namespace {

class Recorder : public Section {
  public:
    Recorder(std::string prefix, std::vector<KeyInfo>& keys) : prefix_(std::move(prefix)), keys_(keys) {}

    void key(std::string_view name, const Scalar& value, std::string_view description) override {
        add(name, KeyKind::value, value, description);
    }

    void list(std::string_view name, const Scalar& each, std::string_view description) override {
        add(name, KeyKind::list, each, description);
    }

    void section(std::string_view name, std::string_view description, const Describe& keys) override {
        add(name, KeyKind::section, {}, description);
        Recorder inner{path(name) + ".", keys_};
        keys(inner);
    }

    void value_or_section(std::string_view name, const Scalar& value, std::string_view description,
                          const Describe& keys) override {
        add(name, KeyKind::value_or_section, value, description);
        Recorder inner{path(name) + ".", keys_};
        keys(inner);
    }

    void named_sections(std::string_view name, std::string_view description, const DescribeNamed& keys) override {
        add(name, KeyKind::named_sections, {}, description);
        Recorder inner{path(name) + ".*.", keys_};
        keys(inner, {{}, path(name) + ".*"}, "*");
    }

    void sections(std::string_view name, Presence presence, std::string_view description,
                  const DescribeItem& keys) override {
        add(name, KeyKind::sections, list_of_sections(presence), description);
        Recorder inner{path(name) + "[].", keys_};
        keys(inner, {{}, path(name) + "[]"});
    }

  private:
    std::string path(std::string_view name) const { return prefix_ + std::string{name}; }

    void add(std::string_view name, KeyKind kind, const ScalarInfo& value, std::string_view description) {
        keys_.push_back({path(name), kind, value, std::string{description}});
    }

    std::string prefix_;
    std::vector<KeyInfo>& keys_;
};

}  // namespace

std::vector<KeyInfo> all_keys() {
    std::vector<KeyInfo> keys;
    RawConfig raw;
    Recorder recorder{"", keys};
    describe(recorder, raw);
    return keys;
}

}  // namespace retryd::config
