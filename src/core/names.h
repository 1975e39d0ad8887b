// Names that users see: queues of retryd's, `retryd-*` headers, and how work queues are named in the configuration.
//
// What is named here is read back too: a rung that is on the broker already is told by its name and its arguments.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/policy.h"
#include "core/text.h"
#include "core/time.h"
#include "core/topology.h"

namespace retryd::core {

/// A queue name is an AMQP short string: at most this many bytes.
inline constexpr std::size_t longest_queue_name = longest_short_string;

/// Stands for the work queue in the template of a name.
inline constexpr std::string_view queue_placeholder = "{queue}";

namespace header {
inline constexpr std::string_view queue = "retryd-queue";
inline constexpr std::string_view attempt = "retryd-attempt";
inline constexpr std::string_view reason = "retryd-reason";
inline constexpr std::string_view first_death = "retryd-first-death";
inline constexpr std::string_view exchange = "retryd-exchange";
inline constexpr std::string_view routing_key = "retryd-routing-key";
inline constexpr std::string_view user_id = "retryd-user-id";
inline constexpr std::string_view cc = "retryd-cc";
inline constexpr std::string_view bcc = "retryd-bcc";
inline constexpr std::string_view expiration = "retryd-expiration";
inline constexpr std::string_view reply_to = "retryd-reply-to";
inline constexpr std::string_view parked_reason = "retryd-parked-reason";
inline constexpr std::string_view parked_at = "retryd-parked-at";
inline constexpr std::string_view held_since = "retryd-held-since";
inline constexpr std::string_view delivery_time = "retryd-delivery-time";
inline constexpr std::string_view deferral_token = "retryd-deferral-token";
inline constexpr std::string_view x_death = "retryd-x-death";
inline constexpr std::string_view proof = "retryd-proof";
inline constexpr std::string_view replays = "retryd-replays";
inline constexpr std::string_view edited = "retryd-edited";
inline constexpr std::string_view exception = "retryd-exception";
}  // namespace header

/// Headers of others by which a broker may delay or defer a message: annotations of AMQP 1.0, which RabbitMQ shows as
/// headers to AMQP 0-9-1 and takes headers for (mc_amqpl.erl, 4.0 to 4.3; 4.3 delays by the first one what a consumer
/// gives back).
inline constexpr std::string_view delivery_time_annotation = "x-opt-delivery-time";
inline constexpr std::string_view deferral_token_annotation = "x-opt-deferral-token";

/// `{queue}.held`: where messages of a work queue are held, cut as the name of a rung is.
inline constexpr std::string_view held_suffix = ".held";
std::string held_name(std::string_view work_queue, std::size_t longest = longest_queue_name);

/// `{queue}.retry.{delay}`, with `.x-death` behind it where that is kept, and `.high` at the end for the rung of
/// messages with a priority above 4.
/// Where that is longer than a queue name may be, the work queue's part is cut and a hash of the whole takes the
/// place of the rest, so that two work queues never share a rung.
std::string rung_name(std::string_view work_queue, Milliseconds delay, bool high_priority,
                      XDeath deaths = XDeath::remove);

/// `retryd.{ladder}.{delay}`: the rung that all work queues of a ladder share, and the fanout exchange before it. The
/// same at the end.
std::string shared_rung_name(std::string_view ladder, Milliseconds delay, bool high_priority,
                             XDeath deaths = XDeath::remove);

/// The headers exchange through which shared rungs return messages.
inline constexpr std::string_view return_exchange_name = "retryd.return";

/// Where messages wait whose rung or parking queue takes none at the moment: `retryd.detour.{delay}`. The shortest
/// first.
inline constexpr std::array<Milliseconds, 3> detour_delays{Milliseconds{2'000}, Milliseconds{30'000},
                                                           Milliseconds{300'000}};
/// The part of those names where a shared rung has its ladder's name: no ladder may be called so.
inline constexpr std::string_view detour_word = "detour";
std::string detour_name(Milliseconds delay);
/// Whether it is the name of one of them.
bool is_detour(std::string_view name);
/// Whether a name has that shape: of another version, perhaps.
bool looks_like_detour(std::string_view name);

/// The template with `{queue}` replaced, shortened as above where it gets too long.
std::string expand_queue(std::string_view pattern, std::string_view work_queue,
                         std::size_t longest = longest_queue_name);

/// Whether a name has the shape that rung_name gives.
bool looks_like_rung(std::string_view name);
/// Whether a name has the shape that shared_rung_name gives; that of detour_name is one of them.
bool looks_like_shared_rung(std::string_view name);

/// Whether it is one of those, and one that leads back to retryd because x-death is kept.
bool looks_like_x_death_rung(std::string_view name);
/// What the name of a rung says of it.
struct RungName {
    Milliseconds delay{};
    bool high_priority = false;
};
/// Of a rung that leads back to retryd, which serves that work queue alone or, where its name is of a shared one, any.
/// Nothing for any other name.
std::optional<RungName> read_x_death_rung(std::string_view name, std::string_view work_queue);

/// `*` stands for any run of bytes, `?` for one (a character beyond ASCII has several); everything else for itself.
bool glob_matches(std::string_view glob, std::string_view name);
bool is_glob(std::string_view pattern);

/// A rung that retryd once made, as its name and its arguments together prove.
struct ParsedRung {
    std::string serves;  // the work queue; of a shared rung the ladder
    ReturnPath return_path = ReturnPath::queue;
    Milliseconds delay{};
    XDeath x_death = XDeath::remove;
    bool operator==(const ParsedRung&) const = default;
};

/// Nothing for any other queue. `arguments` are those that it was declared with.
std::optional<ParsedRung> parse_rung(std::string_view name, const Arguments& arguments);

/// Whether that policy may publish to the rung: those of globs, of lanes and of high priorities included.
bool is_in_use(const Policy& policy, const ParsedRung& rung);

}  // namespace retryd::core
