// A regular expression as a broker has them, in policies and in permissions: whoever may set one wrote it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace retryd::admin {

/// Matches as RabbitMQ does, which hands it to PCRE: byte by byte, anywhere in the name. But it never takes long:
/// RabbitMQ itself gives up on one that tries too many ways, and this one does so earlier.
class BrokerPattern {
  public:
    /// A few milliseconds.
    static constexpr std::uint32_t few_steps = 100'000;
    /// For patterns of our own.
    static constexpr std::uint32_t as_many_steps_as_the_broker = 10'000'000;

    explicit BrokerPattern(const std::string& pattern, std::uint32_t most_steps = few_steps);
    ~BrokerPattern();
    BrokerPattern(BrokerPattern&&) noexcept;
    BrokerPattern& operator=(BrokerPattern&&) noexcept;

    bool readable() const { return compiled_ != nullptr; }
    /// Nothing where it cannot be told: it is not readable, or has taken too many steps, for this name or an earlier
    /// one.
    std::optional<bool> matches(std::string_view name) const;

  private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace retryd::admin
