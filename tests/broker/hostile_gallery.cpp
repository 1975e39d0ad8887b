#include "broker/hostile_gallery.h"

#include <cmath>
#include <limits>
#include <utility>

#include "broker/every_type.h"
#include "support/forged.h"

namespace retryd::test {

namespace {

/// Everything at once: ESC, a title of the window, C1, right to left, a line of Unicode's, what cannot be seen, no
/// UTF-8.
const std::string nasty =
    "\x1b[31m\x1b]0;owned\x07\r\n\u009b2J\u202eevil\u2066\u2028\u200b\ufeff\x7f\xff\xc3(\\x1b'\"<script>";

std::string filled(std::string text, std::size_t size) {
    text.resize(size, 'x');
    return text;
}

class Gallery {
  public:
    explicit Gallery(const GalleryNames& names) : names_(names) {}

    std::vector<HostileMessage> hang() {
        shapes_of_death();
        counts();
        names_in_death();
        parts_of_death();
        headers_of_ours();
        claims_of_place();
        headers_of_size();
        values();
        keys();
        properties();
        copies();
        bodies();
        return std::move(gallery_);
    }

  private:
    HostileMessage& add(const std::string& what, Message message) {
        return gallery_.emplace_back(HostileMessage{what, std::move(message)});
    }
    HostileMessage& headers(const std::string& what, Table table) { return add(what, {.headers = std::move(table)}); }
    /// An honest death, and these headers besides.
    HostileMessage& died_with(const std::string& what, Table more) {
        return headers(what, died_in(names_.work, std::move(more)));
    }
    /// The same where no consumer of the test can read it.
    void unreadable(const std::string& what, Table more) {
        headers(what, died_in(names_.ghost, std::move(more))).unreadable = true;
    }
    HostileMessage& death(const std::string& what, const Value& value) {
        return headers("x-death " + what, {{"x-death", value}});
    }
    /// An x-death of one entry, with these fields instead of the honest ones.
    HostileMessage& entry(const std::string& what, const Table& fields) {
        Table forged = std::get<Table>(death_entry(names_.work).data);
        for (const Field& field : fields) {
            std::erase_if(forged, [&](const Field& honest) { return honest.name == field.name; });
            forged.push_back(field);
        }
        return death(what, array({table(forged)}));
    }

    void shapes_of_death() {
        death("is a text", longstr(nasty));
        death("is a number", int64(7));
        death("is nothing", Value{});
        death("is a table", table({{"queue", longstr(names_.work)}, {"reason", longstr("rejected")}}));
        death("is bytes", bytes(nasty));
        death("is empty", array({}));
        death("is a list of texts", array({longstr(names_.work)})).breaks_old_brokers = true;
        death("is a list in a list", array({array({death_entry(names_.work)})})).breaks_old_brokers = true;
        death("has an empty entry", array({table({})}));
        death("has no queue", array({table({{"reason", longstr("rejected")}})}));
        death("has no reason", array({table({{"queue", longstr(names_.work)}})}));
        death("has a table for a queue", array({table({{"queue", table({})}, {"reason", array({})}})}));
        death("has a good entry behind a bad one", array({longstr("x"), death_entry(names_.work)})).breaks_old_brokers =
            true;
        death("has a bad entry behind a good one", array({death_entry(names_.work), longstr(nasty)}))
            .breaks_old_brokers = true;
        Array many;
        for (int i = 0; i < 500; ++i)
            many.push_back(death_entry("q" + std::to_string(i)));
        death("has 500 entries", array(many));
        for (Value& entry : many)
            entry = death_entry(names_.victim, "rejected", 7);
        death("has 500 entries of somebody else's queue", array(many));
        many.push_back(death_entry(names_.work));
        death("has its own behind 500 of somebody else's queue", array(many));
        death("has two entries of one queue, one of them negative",
              array({death_entry(names_.work, "rejected", -3), death_entry(names_.work, "rejected", 3)}));
        death("has entries of two queues that retryd knows",
              array({death_entry(names_.work, "expired"), death_entry(names_.shared, "rejected")}));
        headers("two x-deaths", {{"x-death", array({death_entry(names_.work)})}, {"x-death", longstr(nasty)}});
    }

    void counts() {
        for (const Value& count : {int64(-1), int64(std::numeric_limits<std::int64_t>::min()),
                                   int64(std::numeric_limits<std::int64_t>::max()), longstr("many"), Value{}, array({}),
                                   unsigned_of('B', 255), Value{'d', 1e300}})
            entry("with the count " + describe(count), {{"count", count}}).breaks_old_brokers =
                std::string("SVAd").find(count.kind) != std::string::npos;
        death("whose counts overflow together",
              array({death_entry(names_.work, "rejected", std::numeric_limits<std::int64_t>::max()),
                     death_entry(names_.work, "expired", std::numeric_limits<std::int64_t>::max())}));
    }

    void names_in_death() {
        for (const std::string& queue :
             {std::string(), std::string("a\r\nb"), std::string(300, 'q'), std::string(255, 'q'), nasty,
              std::string("nul\0byte", 8), std::string("*"), names_.ghost, names_.ghost + "\x1b[2J\u202e",
              names_.victim, names_.error_queue, names_.catch_all, names_.parking, names_.rung,
              std::string("retryd.detour.2s"), std::string("retryd.any.5s"), std::string("amq.gen-x"),
              std::string("amq.rabbitmq.reply-to"), std::string("amq.rabbitmq.reply-to.g1h2AA5yZXBseUAxMjM")})
            entry("in the queue " + describe(longstr(queue)), {{"queue", longstr(queue)}});
    }

    void parts_of_death() {
        for (const std::string& reason : {std::string(), nasty, std::string(10'000, 'r'), std::string("expired"),
                                          std::string("maxlen"), std::string("delivery_limit"), std::string("later")})
            entry("with the reason " + describe(longstr(reason)), {{"reason", longstr(reason)}});
        entry("in a year to come", {{"time", timestamp(std::numeric_limits<std::uint64_t>::max())}});
        entry("before time began", {{"time", int64(-1)}});
        entry("from a nasty exchange", {{"exchange", longstr(nasty)}});
        entry("from an exchange that is a number", {{"exchange", int32(5)}});
        entry("with a nasty key", {{"routing-keys", array({longstr(nasty)})}});
        entry("with a key too long", {{"routing-keys", array({longstr(std::string(5'000, 'k'))})}});
        entry("with a key that is a table", {{"routing-keys", array({table({})})}});
        entry("with keys that are a text", {{"routing-keys", longstr("k")}});
        entry("with the expiration of a joker", {{"original-expiration", longstr("-1e99" + nasty)}});
        entry("with an expiration that is a number", {{"original-expiration", int64(-5)}});
    }

    /// Every header of ours with every type.
    void headers_of_ours() {
        for (const Value& value :
             {longstr(nasty), int64(-9), Value{}, array({longstr(nasty)}), timestamp(9'999'999'999)}) {
            Table forged{{"retryd-queue", longstr(names_.work)}};
            for (const char* name :
                 {"retryd-attempt", "retryd-reason", "retryd-first-death", "retryd-exchange", "retryd-routing-key",
                  "retryd-user-id", "retryd-cc", "retryd-bcc", "retryd-expiration", "retryd-reply-to",
                  "retryd-delivery-time", "retryd-deferral-token", "retryd-parked-reason", "retryd-parked-at",
                  "retryd-replays", "retryd-held-since", "retryd-edited"})
                forged.push_back({name, value});
            died_with("all headers of ours are " + describe(value), forged);
        }
        died_with("an attempt without end", {{"retryd-queue", longstr(names_.work)},
                                             {"retryd-attempt", int64(std::numeric_limits<std::int64_t>::max())}});
        died_with("a first death to come",
                  {{"retryd-queue", longstr(names_.work)},
                   {"retryd-first-death", timestamp(std::numeric_limits<std::uint64_t>::max())}});
        died_with("a user, CC and BCC that were never set aside", {{"retryd-queue", longstr(names_.work)},
                                                                   {"retryd-user-id", longstr("root")},
                                                                   {"retryd-cc", array({longstr(names_.victim)})},
                                                                   {"retryd-bcc", array({longstr(names_.victim)})}});
        died_with("replayed a thousand times",
                  {{"retryd-replays", array(Array(1'000, table({{"id", longstr(nasty)}, {"time", int64(-1)}})))}});
    }

    /// Where it claims to come from, so that it is sent there.
    void claims_of_place() {
        const Table claims{{"retryd-queue", longstr(names_.victim)},
                           {"retryd-attempt", int64(1)},
                           {"retryd-exchange", longstr("amq.topic")},
                           {"retryd-routing-key", longstr(names_.victim)},
                           {"retryd-parked-reason", longstr("attempts-exhausted")},
                           {"retryd-parked-at", timestamp(1)}};
        headers("says that it is the victim's, and has no death", claims);
        died_with("says that it is the victim's", claims);
        Table parked = claims;
        parked.push_back({"x-death", array({death_entry(names_.parking, "rejected")})});
        headers("says that it was parked and is the victim's", parked);
        for (const char* place : {"retryd.detour.2s", "retryd.any.5s"}) {
            Table returned = claims;
            returned.push_back({"x-death", array({death_entry(place, "expired")})});
            headers(std::string("says that it was in ") + place + " for the victim", returned);
        }
        headers(
            "says that a shared rung could not return it",
            {{"retryd-queue", longstr(names_.shared)}, {"x-death", array({death_entry("retryd.any.5s", "expired")})}});
        died_with("has the broker's own stamps", {{"x-first-death-queue", longstr(nasty)},
                                                  {"x-first-death-reason", int64(1)},
                                                  {"x-last-death-exchange", table({})},
                                                  {"x-delivery-count", int64(-1)},
                                                  {"x-acquired-count", longstr(nasty)},
                                                  {"x-stream-offset", int64(-1)},
                                                  {"x-match", longstr("any-with-x")}});
    }

    void headers_of_size() {
        Table wide;
        for (int i = 0; i < 3'000; ++i)
            wide.push_back({"h" + std::to_string(i), int32(i)});
        died_with("3,000 headers", wide);
        died_with("one header of 100,000 bytes", {{"large", longstr(filled(nasty, 100'000))}});
        unreadable("one header that leaves no room in a frame", {{"large", longstr(std::string(130'500, 'v'))}});
        died_with("tables in tables", {{"deep", nested_tables(60)}});
        died_with("lists in lists", {{"deep", nested_arrays(60)}});
        unreadable("tables nested deeper than anybody reads", {{"deep", nested_tables(150)}});
        unreadable("lists nested deeper than anybody reads", {{"deep", nested_arrays(150)}});
    }

    void values() {
        died_with("one of each type", one_of_each("own-"));
        died_with("a number that is none", {{"nan", Value{'d', std::nan("")}}});
        died_with("a number without end", {{"infinite", Value{'d', -std::numeric_limits<double>::infinity()}}});
        died_with("numbers next to nothing", {{"small", Value{'f', std::numeric_limits<float>::denorm_min()}},
                                              {"minus nothing", Value{'d', -0.0}}});
        died_with("decimals without sense", {{"scale", Value{'D', Decimal{255, 4'294'967'295U}}}});
        died_with("times beyond the calendar", {{"late", timestamp(std::numeric_limits<std::uint64_t>::max())}});
        died_with("texts that are no UTF-8", {{"broken", longstr("\xff\xfe\xc0\x80\xed\xa0\x80")}});
        died_with("texts with NUL",
                  {{"nul", longstr(std::string("a\0b", 3))}, {"bytes", bytes(std::string(300, '\0'))}});
        died_with("a nasty text", {{"text", longstr(nasty)}, {"bytes", bytes(nasty)}});
        died_with("a nasty text in a table in a list", {{"list", array({table({{nasty, longstr(nasty)}})})}});
    }

    void keys() {
        unreadable("a header without a name", {{"", longstr("x")}});
        died_with("a header with a nasty name", {{nasty, longstr(nasty)}});
        died_with("a header with a name of 255 bytes", {{filled(nasty, 255), int32(1)}});
        died_with("the same header twice", {{"twice", int32(1)}, {"twice", longstr(nasty)}});
        died_with("headers of other brokers' plugins", {{"x-delay", int32(-5)},
                                                        {"x-deduplication-header", longstr("1")},
                                                        {"sequence-number", int32(-1)},
                                                        {"x-opt-retry", longstr("never")},
                                                        {"x-opt-retry-after", longstr("1e9 years")}});
    }

    void properties() {
        const Table dead = died_in(names_.work);
        Properties texts;
        for (auto* text : {&texts.content_type, &texts.content_encoding, &texts.correlation_id, &texts.reply_to,
                           &texts.message_id, &texts.type, &texts.app_id, &texts.cluster_id})
            *text = nasty;
        add("all properties nasty", {.headers = dead, .properties = texts});
        for (auto* text : {&texts.content_type, &texts.content_encoding, &texts.correlation_id, &texts.reply_to,
                           &texts.message_id, &texts.type, &texts.app_id, &texts.cluster_id})
            *text = filled(nasty, 255);
        add("all properties of 255 bytes", {.headers = dead, .properties = texts});
        for (auto* text : {&texts.content_type, &texts.content_encoding, &texts.correlation_id, &texts.reply_to,
                           &texts.message_id, &texts.type, &texts.app_id, &texts.cluster_id})
            *text = "";
        add("all properties empty", {.headers = dead, .properties = texts});
        for (const char* expiration : {"0", "1", "4000000000"})
            add(std::string("the expiration ") + expiration,
                {.headers = dead, .properties = {.expiration = expiration}});
        add("the highest priority", {.headers = dead, .properties = {.priority = 255}});
        for (const int mode : {0, 1, 255})
            add("delivery mode " + std::to_string(mode),
                {.headers = dead, .properties = {.delivery_mode = static_cast<std::uint8_t>(mode)}});
        add("a time beyond the calendar",
            {.headers = dead, .properties = {.timestamp = std::numeric_limits<std::uint64_t>::max()}});
        add("an answer to somebody's own channel",
            {.headers = dead, .properties = {.reply_to = "amq.rabbitmq.reply-to.g1h2AA5yZXBseUAxMjM"}});
        add("an encoding that it has not", {.headers = dead, .properties = {.content_encoding = "gzip"}});
    }

    void copies() {
        died_with("copies to where nothing is",
                  {{"CC", array({longstr("nowhere"), longstr("")})}, {"BCC", array({longstr("nowhere too")})}});
        died_with("a copy with a nasty key", {{"CC", array({longstr("nowhere\x1b[2J\u202e")})}});
        died_with("copies in lower case", {{"cc", longstr(nasty)}, {"bcc", int32(1)}});
    }

    void bodies() {
        const Table dead = died_in(names_.work);
        add("no body", {.headers = dead});
        add("a nasty body", {.body = nasty, .headers = dead});
        add("a body of two million bytes", {.body = filled(nasty, 2'000'000), .headers = dead});
        add("JSON that nests", {.body = std::string(2'000, '[') + std::string(2'000, ']'), .headers = dead});
        add("JSON with unseen letters",
            {.body = "{\"a\u202e\": \"\u200b\u009b\", \"b\": \"\\u001b\"}", .headers = dead});
        add("nothing at all", {});
    }

    const GalleryNames& names_;
    std::vector<HostileMessage> gallery_;
};

}  // namespace

std::vector<HostileMessage> hostile_gallery(const GalleryNames& names) {
    return Gallery(names).hang();
}

std::vector<std::string> hostile_names() {
    return {"esc\x1b[31m\x1b]0;owned\x07",
            "c1\u009b2J\u0085",
            "bidi\u202egpj\u2066\u2069\u200e",
            "lines\u2028\u2029\t\v",
            "unseen\u200b\u2060\ufeff\u00ad",
            "del\x7f",
            "quotes'\"`\\x1b$(id)",
            "html<img src=x onerror=alert(1)>&amp;",
            "metric\"} 1\\",
            "blank ",
            "über-注文-😀-👩\u200d💻"};
}

}  // namespace retryd::test
