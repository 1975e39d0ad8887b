// Messages as they come out of the error queue, each with the policy that decides about it.
#pragma once

#include <deque>
#include <string>

#include "core/compose_scene.h"
#include "core/policy.h"

namespace retryd::instructions {

struct Scene {
    core::Policy policy;
    core::test::ComposeScene dead;
    std::deque<std::string> texts;  // that the headers point into, where they are no literals
};

/// One entry, `email`, with a ladder of so many rungs.
core::Policy policy_of(int rungs);

void first_failure(Scene& scene);
/// It has been on two rungs, and has the headers of that.
void third_failure_of_five(Scene& scene);
/// The entry of its work queue is the last of twenty.
void one_of_twenty_queues(Scene& scene);
void last_of_fifty_rungs(Scene& scene);
void two_hundred_foreign_headers(Scene& scene);
/// The ladder is used up; copies, another user and an expiration have to be set aside.
void parked_with_its_story(Scene& scene);
void no_death(Scene& scene);

}  // namespace retryd::instructions
