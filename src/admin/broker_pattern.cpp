#define PCRE2_CODE_UNIT_WIDTH 8
#include "admin/broker_pattern.h"

#include <pcre2.h>

#include <utility>

namespace retryd::admin {

namespace {

constexpr std::uint32_t most_memory_kib = 4'096;

}  // namespace

struct BrokerPattern::Compiled {
    template <auto release>
    struct Release {
        template <typename Object>
        void operator()(Object* object) const {
            release(object);
        }
    };

    std::unique_ptr<pcre2_code, Release<pcre2_code_free>> code;
    std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>> limits;
    std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>> data;
    bool too_slow = false;
};

BrokerPattern::BrokerPattern(const std::string& pattern, std::uint32_t most_steps) {
    int error = 0;
    PCRE2_SIZE where = 0;
    const auto* text = reinterpret_cast<PCRE2_SPTR>(pattern.data());
    auto compiled = std::make_unique<Compiled>();
    compiled->code.reset(pcre2_compile(text, pattern.size(), 0, &error, &where, nullptr));
    if (!compiled->code) return;
    compiled->limits.reset(pcre2_match_context_create(nullptr));
    compiled->data.reset(pcre2_match_data_create(1, nullptr));
    if (!compiled->limits || !compiled->data) return;
    pcre2_set_match_limit(compiled->limits.get(), most_steps);
    pcre2_set_heap_limit(compiled->limits.get(), most_memory_kib);
    compiled_ = std::move(compiled);
}

BrokerPattern::~BrokerPattern() = default;
BrokerPattern::BrokerPattern(BrokerPattern&&) noexcept = default;
BrokerPattern& BrokerPattern::operator=(BrokerPattern&&) noexcept = default;

std::optional<bool> BrokerPattern::matches(std::string_view name) const {
    if (!compiled_ || compiled_->too_slow) return std::nullopt;
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(name.data());
    const int result =
        pcre2_match(compiled_->code.get(), subject, name.size(), 0, 0, compiled_->data.get(), compiled_->limits.get());
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result >= 0) return true;
    compiled_->too_slow = true;
    return std::nullopt;
}

}  // namespace retryd::admin
