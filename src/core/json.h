// Reads JSON in place, for what frameworks write: envelopes and headers, from the front to the end and no copy but of
// texts with escapes.
//
// Written out here because core uses no library. It is no validator: what is skipped is not looked at, but for where it
// ends. Whatever the text is, it never reads beyond it, and does not recurse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retryd::core {

class Json {
  public:
    explicit Json(std::string_view text) : rest_(text) {}

    /// The first character of the next value: { [ " t f n - or a digit; 0 where there is none.
    char next();
    bool failed() const { return failed_; }

    /// Calls `member(name, json)` for each, with the name as it stands, escapes included; what that does not read is
    /// skipped. False where this is no object, or one that does not end.
    template <class Member>
    bool each_member(const Member& member) {
        return each('{', '}', [&] {
            const auto name = raw_text();
            if (!name || !take(':')) return false;
            read_or_skip([&] { member(*name, *this); });
            return true;
        });
    }
    /// The same for an array: `item(json)`.
    template <class Item>
    bool each_item(const Item& item) {
        return each('[', ']', [&] {
            read_or_skip([&] { item(*this); });
            return true;
        });
    }

    /// A text without its quotes, escapes as they stand. Nothing, and nothing is read, where the next value is none.
    std::optional<std::string_view> raw_text();
    /// A text; where it has escapes, unescaped at the end of `decoded`, which must have room for it.
    std::optional<std::string_view> text(std::string& decoded);
    /// Digits, sign, point and exponent.
    std::optional<std::string_view> raw_number();
    std::optional<std::int64_t> integer();
    std::optional<bool> boolean();
    bool null();
    void skip();

  private:
    void space();
    bool take(char c);
    bool fail();

    template <class Element>
    bool each(char open, char close, const Element& element) {
        if (!take(open)) return false;
        if (take(close)) return true;
        do {
            if (failed_ || !element()) return fail();
        } while (take(','));
        return take(close) || fail();
    }
    template <class Read>
    void read_or_skip(const Read& read) {
        space();
        const std::size_t before = rest_.size();
        read();
        if (!failed_ && rest_.size() == before) skip();
    }

    std::string_view rest_;
    bool failed_ = false;
};

/// Appends what the text stands for to `decoded`; a view of it. Nothing where an escape is wrong, or `decoded` would
/// have to grow: views into it may be out.
std::optional<std::string_view> unescape_json(std::string_view raw, std::string& decoded);
/// The same for base64, with or without padding.
std::optional<std::string_view> decode_base64(std::string_view encoded, std::string& decoded);

}  // namespace retryd::core
