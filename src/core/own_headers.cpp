#include "core/own_headers.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <variant>

#include "core/names.h"

namespace retryd::core {
namespace {

/// What is hashed next: the header that it belongs to (or that it is nested in), what kind of thing it is, and its
/// length or, of what is small, itself. No two lists of headers make the same words.
enum class Piece : std::uint8_t { short_text, text, small_integer, integer, other, fields, elements };

std::uint64_t opening(std::size_t place, Piece piece, std::uint64_t rest) {
    return (std::uint64_t{place} << 60U) | (std::uint64_t{static_cast<std::uint8_t>(piece)} << 56U) | rest;
}

constexpr std::size_t longest_short_text = 6;
constexpr std::uint64_t largest_small_integer = (std::uint64_t{1} << 56U) - 1;

/// A long one in words, of which the last overlaps the one before it: with the length said before, no other text makes
/// the same words.
void add(SipHash& hash, std::size_t place, std::string_view text) {
    const char* const bytes = text.data();
    const std::size_t size = text.size();
    if (size <= longest_short_text) {
        return hash.word(opening(place, Piece::short_text, std::uint64_t{size} << 48U | few_bytes(bytes, size)));
    }
    hash.word(opening(place, Piece::text, size));
    if (size < 8) return hash.word(few_bytes(bytes, size));
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8)
        hash.word(eight_bytes(bytes + at));
    if (at < size) hash.word(eight_bytes(bytes + size - 8));
}

void add(SipHash& hash, std::size_t place, std::uint64_t number) {
    if (number <= largest_small_integer) return hash.word(opening(place, Piece::small_integer, number));
    hash.word(opening(place, Piece::integer, 0));
    hash.word(number);
}

/// Of what retryd never writes by itself, only carries on.
std::uint64_t bits_of(std::monostate) {
    return 0;
}
std::uint64_t bits_of(bool truth) {
    return truth ? 1 : 0;
}
std::uint64_t bits_of(float number) {
    return std::bit_cast<std::uint32_t>(number);
}
std::uint64_t bits_of(double number) {
    return std::bit_cast<std::uint64_t>(number);
}
std::uint64_t bits_of(const Decimal& number) {
    return std::uint64_t{number.scale} << 32U | number.unscaled;
}

void add(SipHash& hash, std::size_t place, const Value& value);

void add(SipHash& hash, std::size_t place, const Table& table) {
    hash.word(opening(place, Piece::fields, table.size()));
    for (const Field& field : table) {
        add(hash, place, field.name);
        add(hash, place, field.value);
    }
}

void add(SipHash& hash, std::size_t place, const Array& array) {
    hash.word(opening(place, Piece::elements, array.size()));
    for (const Value& value : array)
        add(hash, place, value);
}

void add_rare(SipHash& hash, std::size_t place, const Value& value) {
    std::visit(
        [&](const auto& data) {
            using Data = std::decay_t<decltype(data)>;
            if constexpr (std::is_same_v<Data, Table> || std::is_same_v<Data, Array>) {
                add(hash, place, data);
            } else if constexpr (!std::is_integral_v<Data> || std::is_same_v<Data, bool>) {
                if constexpr (!std::is_same_v<Data, std::string_view>) {
                    hash.word(opening(place, Piece::other, static_cast<std::uint8_t>(value.kind)));
                    hash.word(bits_of(data));
                }
            }
        },
        value.data);
}

/// Texts and integers are all that most messages have.
void add(SipHash& hash, std::size_t place, const Value& value) {
    if (const auto* text = std::get_if<std::string_view>(&value.data)) return add(hash, place, *text);
    if (const auto* number = std::get_if<std::int64_t>(&value.data))
        return add(hash, place, static_cast<std::uint64_t>(*number));
    if (const auto* number = std::get_if<std::uint64_t>(&value.data)) return add(hash, place, *number);
    add_rare(hash, place, value);
}

}  // namespace

OwnHeader own_header_with_prefix(std::string_view name) {
    // Compared in full where the length fits. Those that share a length are told apart by their first letter.
    const char letter = name.size() > own_prefix.size() ? name[own_prefix.size()] : ' ';
    switch (name.size()) {
        case header::cc.size():
            return name == header::cc ? OwnHeader::cc : OwnHeader::none;
        case header::bcc.size():
            return name == header::bcc ? OwnHeader::bcc : OwnHeader::none;
        case header::queue.size():
            if (letter == 'q') return name == header::queue ? OwnHeader::queue : OwnHeader::none;
            return name == header::proof ? OwnHeader::proof : OwnHeader::none;
        case header::reason.size():
            return name == header::reason ? OwnHeader::reason : OwnHeader::none;
        case header::attempt.size():
            if (letter == 'a') return name == header::attempt ? OwnHeader::attempt : OwnHeader::none;
            return name == header::user_id ? OwnHeader::user_id : OwnHeader::none;
        case header::exchange.size():
            if (letter == 'r') return name == header::reply_to ? OwnHeader::reply_to : OwnHeader::none;
            return name == header::exchange ? OwnHeader::exchange : OwnHeader::none;
        case header::parked_at.size():
            return name == header::parked_at ? OwnHeader::parked_at : OwnHeader::none;
        case header::expiration.size():
            return name == header::expiration ? OwnHeader::expiration : OwnHeader::none;
        case header::first_death.size():
            if (letter == 'f') return name == header::first_death ? OwnHeader::first_death : OwnHeader::none;
            return name == header::routing_key ? OwnHeader::routing_key : OwnHeader::none;
        case header::parked_reason.size():
            return name == header::parked_reason ? OwnHeader::parked_reason : OwnHeader::none;
        default:
            return OwnHeader::none;
    }
}

OwnHeaders::OwnHeaders(const Table& headers) {
    for (const Field& field : headers) {
        const OwnHeader name = own_header_of(field.name);
        if (name == OwnHeader::none) continue;
        const Value*& value = at_[static_cast<std::size_t>(name)];
        if (value == nullptr) value = &field.value;
    }
}

std::uint64_t OwnHeaders::digest(const SipKey& key) const {
    SipHash hash(key);
    for (std::size_t place = 0; place < static_cast<std::size_t>(OwnHeader::proof); ++place) {
        if (at_[place] != nullptr) add(hash, place, *at_[place]);
    }
    return hash.finish(~std::uint64_t{0});
}

bool OwnHeaders::proven(const ProofKeys& keys) const {
    const auto claimed = text_of((*this)[OwnHeader::proof]);
    if (!claimed || claimed->size() != ProofText{}.size()) return false;
    return std::any_of(keys.begin(), keys.end(), [&](const SipKey& key) {
        const ProofText text = proof_text(digest(key));
        return *claimed == std::string_view{text.data(), text.size()};
    });
}

ProofText proof_text(std::uint64_t digest) {
    // Eight digits at once: each half byte in a byte of its own, then '0' added, and for ten and more 'a' - '0' - 10.
    const auto digits = [](std::uint64_t half) {
        half = (half << 16U | half) & 0x0000ffff0000ffffULL;
        half = (half << 8U | half) & 0x00ff00ff00ff00ffULL;
        half = (half << 4U | half) & 0x0f0f0f0f0f0f0f0fULL;
        const std::uint64_t letters = ((half + 0x0606060606060606ULL) >> 4U) & 0x0101010101010101ULL;
        return half + 0x3030303030303030ULL + letters * ('a' - '0' - 10);
    };
    ProofText text{};
    std::uint64_t word = digits(digest & 0xffffffffU);
    for (std::size_t i = 0; i < 8; ++i, word >>= 8U)
        text[15 - i] = static_cast<char>(word & 0xffU);
    word = digits(digest >> 32U);
    for (std::size_t i = 0; i < 8; ++i, word >>= 8U)
        text[7 - i] = static_cast<char>(word & 0xffU);
    return text;
}

}  // namespace retryd::core
