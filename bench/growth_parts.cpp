#include "growth_parts.h"

#include "progress.h"

namespace retryd::bench {

namespace {

std::vector<std::string> delays(int count) {
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i)
        all.push_back(i == 0 ? "1h" : "1h" + std::to_string(i) + "m");  // as a rung's name writes it
    return all;
}

/// All on one shared ladder, the first too: what differs is nothing but their number.
GrowthPart work_queues(std::uint32_t messages, bool quick) {
    GrowthPart part{"queues", {}};
    for (const int count : quick ? std::vector{1, 100} : std::vector{1, 10, 100, 1000}) {
        part.rows.push_back({count_text(static_cast<std::size_t>(count), "work queue"),
                             {.work_queues = count, .shared = true},
                             {.messages = messages}});
    }
    return part;
}

GrowthPart rungs(std::uint32_t messages, bool quick) {
    GrowthPart part{"rungs", {}};
    for (const int count : quick ? std::vector{1, 10} : std::vector{1, 5, 20, 50}) {
        const auto steps = static_cast<std::uint32_t>(count);
        part.rows.push_back({count_text(steps, "rung"),
                             {.delays = delays(count)},
                             {.messages = messages / steps * steps, .steps = count}});
    }
    return part;
}

GrowthPart backlog(bool quick) {
    if (quick)
        return {"backlog",
                {{"10,000 waiting", {}, {.messages = 10'000}}, {"50,000 waiting", {}, {.messages = 50'000}}}};
    return {"backlog",
            {{"10,000 waiting", {}, {.messages = 10'000}},
             {"100,000 waiting", {}, {.messages = 100'000}},
             {.name = "1,000,000 waiting", .layout = {}, .load = {.messages = 1'000'000}, .once = true}}};
}

GrowthPart daemons(std::uint32_t messages) {
    GrowthPart part{"daemons", {}};
    for (const int count : {1, 2, 4})
        part.rows.push_back({count_text(static_cast<std::size_t>(count), "daemon"), {}, {.messages = messages}, count});
    return part;
}

GrowthPart headers(std::uint32_t messages, bool quick) {
    GrowthPart part{"headers", {}};
    for (const int count : quick ? std::vector{1, 50} : std::vector{1, 10, 50, 200}) {
        part.rows.push_back({count_text(static_cast<std::size_t>(count), "header"),
                             {},
                             {.messages = messages * 2 / 3, .headers = count}});
    }
    return part;
}

}  // namespace

std::vector<GrowthPart> growth_parts(std::uint32_t messages, bool quick) {
    return {work_queues(messages, quick), rungs(messages, quick), backlog(quick), daemons(messages),
            headers(messages, quick)};
}

}  // namespace retryd::bench
