// The `retryd-*` headers that a message carries, and the proof that it was retryd that wrote them.
//
// Whoever may publish can write any header. What `retryd-*` headers say leads to an exchange, to a routing key, to the
// catch-all or home again, so they are believed only with the header `retryd-proof`: a SipHash over all the others of
// ours, with a key that only retryd knows (amqp/proof_keys.h). Without it there are a few places where the broker's own
// record says that a queue of ours sent the message last (read_retry_history in core/death.h).
//
// Why a keyed hash, and no reading of x-death: RabbitMQ 3.x takes an x-death that a client publishes for its own and
// counts it on, and on every version a queue with the name of a rung can be a foreign one.
// Why SipHash, and no HMAC: it is made for short texts. With it a message costs 900 instructions more where the proof
// is written, and 300 more where an older one is checked as well (tests/instructions); HMAC-SHA256 alone would be four
// blocks of a few thousand each where the processor has no instructions for it. 64 bits are enough, because a guess can
// only be tried by sending a message. Of its variants 2-4, which its authors propose for this: whoever rejects messages
// of his own sees the proofs of as many as he likes, and 1-3 is meant for hashes that stay secret.
//
// What it does not cover: the body and all headers that are not ours. Who reads a message of a work queue can put its
// headers on another message of that same queue, and gives it the other's attempts, age and origin (docs/security.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/names.h"
#include "core/siphash.h"
#include "core/value.h"

namespace retryd::core {

/// The first one writes the proof, all of them are believed. None: nothing is proven.
using ProofKeys = std::vector<SipKey>;

enum class OwnHeader : std::uint8_t {
    queue,
    attempt,
    reason,
    first_death,
    exchange,
    routing_key,
    user_id,
    cc,
    bcc,
    expiration,
    reply_to,
    parked_reason,
    parked_at,
    held_since,
    delivery_time,
    deferral_token,
    x_death,
    proof,  // over all the others
    none,   // not one of these
};

inline constexpr std::string_view own_prefix = "retryd-";
OwnHeader own_header_with_prefix(std::string_view name);

/// Asked of every header of every message: inline.
inline OwnHeader own_header_of(std::string_view name) {
    return name.starts_with(own_prefix) ? own_header_with_prefix(name) : OwnHeader::none;
}

inline constexpr std::array<std::string_view, static_cast<std::size_t>(OwnHeader::none)> own_header_names{
    header::queue,          header::attempt,       header::reason,    header::first_death, header::exchange,
    header::routing_key,    header::user_id,       header::cc,        header::bcc,         header::expiration,
    header::reply_to,       header::parked_reason, header::parked_at, header::held_since,  header::delivery_time,
    header::deferral_token, header::x_death,       header::proof};

/// Hashes `retryd-*` headers one by one, in the order of OwnHeader: as they are written, so that writing them takes no
/// second look.
class ProofHash {
  public:
    explicit ProofHash(const SipKey& key) : hash_(key) {}

    /// The width of integers and the kinds of texts do not count, for clients change them.
    void add(OwnHeader name, const Value& value) {
        const unsigned place = 2 * static_cast<unsigned>(name);
        if (const auto* text = std::get_if<std::string_view>(&value.data)) {
            kinds_ |= std::uint64_t{1} << place;
            add_text(*text);
        } else if (const auto* number = std::get_if<std::int64_t>(&value.data)) {
            kinds_ |= std::uint64_t{2} << place;
            hash_.word(static_cast<std::uint64_t>(*number));
        } else if (const auto* seconds = std::get_if<std::uint64_t>(&value.data)) {
            kinds_ |= std::uint64_t{2} << place;
            hash_.word(*seconds);
        } else {
            kinds_ |= std::uint64_t{3} << place;
            add_rare(value);
        }
    }

    /// Once. The last word says which headers there were, and what of: with it no two lists of them make the same
    /// words, for each text says how long it is.
    std::uint64_t finish() { return hash_.finish(kinds_); }

  private:
    /// The length and as much of the text as fits beside it, then the rest in words, of which the last overlaps the one
    /// before it.
    void add_text(std::string_view text) {
        constexpr std::size_t beside = 7;
        const char* const bytes = text.data();
        const std::size_t size = text.size();
        if (size <= beside) return hash_.word(size | few_bytes(bytes, size) << 8U);
        if (size >= long_text) return add_long_text(text);
        hash_.word(size | eight_bytes(bytes) << 8U);
        std::size_t at = beside;
        for (; at + 8 <= size; at += 8)
            hash_.word(eight_bytes(bytes + at));
        if (at < size) hash_.word(eight_bytes(bytes + size - 8));
    }
    void add_long_text(std::string_view text);
    void add_rare(const Value& value);
    void add_nested(const Value& value);

    static constexpr std::size_t long_text = 255;

    SipHash hash_;
    std::uint64_t kinds_ = 0;
};

/// The text of a proof.
using ProofText = std::array<char, 16>;

/// Views into the header table, read once. Of headers with the same name the first one counts, as everywhere.
class OwnHeaders {
  public:
    explicit OwnHeaders(const Table& headers);

    /// Null where it is absent.
    const Value* operator[](OwnHeader name) const { return at_[static_cast<std::size_t>(name)]; }

    /// Over all but the proof itself.
    std::uint64_t digest(const SipKey& key) const;
    /// Whether they are as retryd wrote them.
    bool proven(const ProofKeys& keys) const;

  private:
    std::array<const Value*, static_cast<std::size_t>(OwnHeader::none)> at_{};
};

ProofText proof_text(std::uint64_t digest);

}  // namespace retryd::core
