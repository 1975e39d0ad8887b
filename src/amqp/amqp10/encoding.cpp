#include "amqp/amqp10/encoding.h"

#include <algorithm>

namespace retryd::amqp::amqp10 {
namespace {

/// More of them nobody needs; each of 16 MiB of them takes a byte.
constexpr std::uint64_t most_items = 10'000;

std::string big_endian(std::uint64_t value, int bytes) {
    std::string all;
    for (int i = bytes - 1; i >= 0; --i)
        all += static_cast<char>(value >> (8 * i));
    return all;
}

std::uint64_t unsigned_of(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes)
        value = value << 8U | static_cast<std::uint8_t>(c);
    return value;
}

std::string sized(char constructor, std::string_view bytes) {
    return constructor + big_endian(bytes.size(), 4) + std::string{bytes};
}

std::optional<std::string_view> take(std::string_view& bytes, std::uint64_t size) {
    if (size > bytes.size()) return std::nullopt;
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
}

/// A width, or how many bytes say how many bytes follow: the upper half of the constructor tells (AMQP 1.0, 1.2).
std::optional<std::string_view> take_value(std::string_view& bytes, std::uint8_t constructor) {
    const unsigned kind = constructor >> 4U;
    if (kind < 0x4) return std::nullopt;
    if (kind < 0xa) return take(bytes, kind == 0x4 ? 0 : std::uint64_t{1} << (kind - 5U));
    const auto size = take(bytes, kind % 2 == 0 ? 1 : 4);
    return size ? take(bytes, unsigned_of(*size)) : std::nullopt;
}

}  // namespace

std::string null() {
    return "\x40";
}
std::string boolean(bool value) {
    return value ? "\x41" : "\x42";
}
std::string byte(std::uint8_t value) {
    return '\x50' + big_endian(value, 1);
}
std::string number(std::uint32_t value) {
    return '\x70' + big_endian(value, 4);
}
std::string text(std::string_view value) {
    return sized('\xb1', value);
}
std::string symbol(std::string_view value) {
    return sized('\xb3', value);
}
std::string binary(std::string_view value) {
    return sized('\xb0', value);
}

std::string list(Code code, const std::vector<std::string>& items) {
    std::string all = big_endian(items.size(), 4);
    for (const std::string& item : items)
        all += item;
    return std::string("\0\x53", 2) + static_cast<char>(code) + sized('\xd0', all);
}

std::optional<std::string_view> Item::text() const {
    switch (constructor) {
        case 0xa0:  // binary
        case 0xb0:
        case 0xa1:  // string
        case 0xb1:
        case 0xa3:  // symbol
        case 0xb3:
            return bytes;
        default:
            return std::nullopt;
    }
}

std::optional<std::uint64_t> Item::number() const {
    switch (constructor) {
        case 0x50:  // ubyte
        case 0x60:  // ushort
        case 0x70:  // uint
        case 0x52:  // smalluint
        case 0x43:  // uint0
        case 0x80:  // ulong
        case 0x53:  // smallulong
        case 0x44:  // ulong0
            return unsigned_of(bytes);
        default:
            return std::nullopt;
    }
}

bool Item::is_true() const {
    return constructor == 0x41 || (constructor == 0x56 && bytes == "\1");
}

std::vector<Item> Item::items() const {
    const bool small = constructor == 0xc0 || constructor == 0xc1;
    const bool large = constructor == 0xd0 || constructor == 0xd1;
    std::string_view rest = bytes;
    const auto count = small || large ? take(rest, small ? 1 : 4) : std::nullopt;
    if (!count) return {};
    std::vector<Item> all;
    for (std::uint64_t left = std::min(unsigned_of(*count), most_items); left > 0; --left) {
        const auto item = take_item(rest);
        if (!item) return {};
        all.push_back(*item);
    }
    return all;
}

std::optional<Item> take_item(std::string_view& bytes) {
    const auto constructor = take(bytes, 1);
    if (!constructor) return std::nullopt;
    Item item;
    if (constructor->front() != '\0') {
        item.constructor = static_cast<std::uint8_t>(constructor->front());
        const auto value = take_value(bytes, item.constructor);
        if (!value) return std::nullopt;
        item.bytes = *value;
        return item;
    }
    // Described: by a number or a symbol, never by what is described itself.
    if (bytes.empty() || bytes.front() == '\0') return std::nullopt;
    const auto description = take_item(bytes);
    if (!description || bytes.empty() || bytes.front() == '\0') return std::nullopt;
    auto value = take_item(bytes);
    if (value) value->code = description->number();
    return value;
}

}  // namespace retryd::amqp::amqp10
