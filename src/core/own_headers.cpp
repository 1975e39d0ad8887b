#include "core/own_headers.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <variant>

namespace retryd::core {
namespace {

// Of what retryd never writes by itself, only carries on.
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

}  // namespace

void ProofHash::add_long_text(std::string_view text) {
    hash_.word(long_text | std::uint64_t{text.size()} << 8U);
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8)
        hash_.word(eight_bytes(text.data() + at));
    if (at < text.size()) hash_.word(eight_bytes(text.data() + text.size() - 8));
}

/// What it is and how much, then that.
void ProofHash::add_rare(const Value& value) {
    const auto opening = static_cast<std::uint8_t>(value.kind);
    std::visit(
        [&](const auto& data) {
            using Data = std::decay_t<decltype(data)>;
            if constexpr (std::is_same_v<Data, Table>) {
                hash_.word(opening | std::uint64_t{data.size()} << 8U);
                for (const Field& field : data) {
                    add_text(field.name);
                    add_nested(field.value);
                }
            } else if constexpr (std::is_same_v<Data, Array>) {
                hash_.word(opening | std::uint64_t{data.size()} << 8U);
                for (const Value& element : data)
                    add_nested(element);
            } else if constexpr (!std::is_integral_v<Data> || std::is_same_v<Data, bool>) {
                if constexpr (!std::is_same_v<Data, std::string_view>) {
                    hash_.word(opening);
                    hash_.word(bits_of(data));
                }
            }
        },
        value.data);
}

/// As add(), but the kind comes first: the last word does not tell it.
void ProofHash::add_nested(const Value& value) {
    constexpr std::uint64_t text_next = 1;
    constexpr std::uint64_t number_next = 2;
    if (const auto* text = std::get_if<std::string_view>(&value.data)) {
        hash_.word(text_next);
        add_text(*text);
    } else if (const auto* number = std::get_if<std::int64_t>(&value.data)) {
        hash_.word(number_next);
        hash_.word(static_cast<std::uint64_t>(*number));
    } else if (const auto* seconds = std::get_if<std::uint64_t>(&value.data)) {
        hash_.word(number_next);
        hash_.word(*seconds);
    } else {
        add_rare(value);
    }
}

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
            if (letter == 'x') return name == header::x_death ? OwnHeader::x_death : OwnHeader::none;
            return name == header::user_id ? OwnHeader::user_id : OwnHeader::none;
        case header::exchange.size():
            if (letter == 'r') return name == header::reply_to ? OwnHeader::reply_to : OwnHeader::none;
            return name == header::exchange ? OwnHeader::exchange : OwnHeader::none;
        case header::parked_at.size():
            return name == header::parked_at ? OwnHeader::parked_at : OwnHeader::none;
        case header::expiration.size():
            if (letter == 'h') return name == header::held_since ? OwnHeader::held_since : OwnHeader::none;
            return name == header::expiration ? OwnHeader::expiration : OwnHeader::none;
        case header::first_death.size():
            if (letter == 'f') return name == header::first_death ? OwnHeader::first_death : OwnHeader::none;
            return name == header::routing_key ? OwnHeader::routing_key : OwnHeader::none;
        case header::parked_reason.size():
            if (letter == 'd') return name == header::delivery_time ? OwnHeader::delivery_time : OwnHeader::none;
            return name == header::parked_reason ? OwnHeader::parked_reason : OwnHeader::none;
        case header::deferral_token.size():
            return name == header::deferral_token ? OwnHeader::deferral_token : OwnHeader::none;
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
    ProofHash hash(key);
    for (std::size_t place = 0; place < static_cast<std::size_t>(OwnHeader::proof); ++place) {
        if (at_[place] != nullptr) hash.add(static_cast<OwnHeader>(place), *at_[place]);
    }
    return hash.finish();
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
