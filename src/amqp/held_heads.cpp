#include "amqp/held_heads.h"

#include <utility>

#include "amqp/head_glance.h"

namespace retryd::amqp {
namespace {

constexpr core::Milliseconds between_turns{100};

}  // namespace

HeldHeads::HeldHeads() = default;
HeldHeads::~HeldHeads() = default;

bool HeldHeads::keep(std::unique_ptr<HeadGlance> head) {
    if (heads_.size() >= most_held) return false;
    heads_.push_back(std::move(head));
    return true;
}

void HeldHeads::turn(core::SteadyTime now) {
    if (heads_.empty() || now < due_) return;
    due_ = now + between_turns;
    std::erase_if(heads_, [&](const auto& head) { return !head->hold(now); });
}

void HeldHeads::release() {
    heads_.clear();
}

}  // namespace retryd::amqp
