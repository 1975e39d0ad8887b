// A queue as it is declared where one of that name may be there already, with other arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/refusal.h"
#include "core/topology.h"

namespace retryd::amqp {

class QueueVariant {
  public:
    explicit QueueVariant(const core::QueueSpec& wanted) : wanted_(wanted), spec_(wanted) {}

    /// As it is to be declared next.
    const core::QueueSpec& spec() const { return spec_; }

    /// After the broker's refusal: gives up one optional argument, or takes the value that an earlier retryd declared.
    /// False where nothing can be given up: the queue cannot be used.
    bool adapt(int code, std::string_view refusal);

    /// Optional arguments that the queue is without.
    const std::vector<std::string>& lacking() const { return lacking_; }
    /// For the operator: what the queue that is there lacks, what follows and what mends it. Empty where nothing
    /// follows.
    Explanation note() const;
    /// The refusal that counts, after adapt() gave up: the last one, unless it is about an argument that was given up
    /// before.
    std::string decisive(std::string_view last) const;

  private:
    struct GivenUp {
        std::string argument;
        std::string refusal;    // the first one
        std::size_t tried = 0;  // so many of the older values
        bool left_out = false;  // declared without it
        Explanation note = {};
    };

    const core::QueueSpec::Older* next_older(GivenUp& given, std::string_view refusal) const;
    const GivenUp* given_up(std::string_view argument) const;

    core::QueueSpec wanted_;
    core::QueueSpec spec_;
    std::vector<GivenUp> given_up_;
    std::vector<std::string> lacking_;
};

}  // namespace retryd::amqp
