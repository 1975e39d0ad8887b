#include "core/compose_scene.h"

namespace retryd::core::test {

void ComposeScene::arrives_with(std::vector<Field> fields) {
    message.properties.headers = headers.fields(std::move(fields));
}

void ComposeScene::died(const DeathEntry& entry, std::vector<Field> fields) {
    fields.insert(fields.begin(), {"x-death", headers.array({headers.death(entry)})});
    arrives_with(std::move(fields));
}

ComposeContext ComposeScene::context() const {
    const Table table = message.properties.header_table();
    const auto death = read_death(table, "retryd.errors");
    return {death, death ? read_claimed_history(table, death->queue) : RetryHistory{}, connection_user};
}

Message ComposeScene::retried(std::int64_t attempt) {
    return composed_ =
               compose_retry(message, context(), Retry{attempt, std::chrono::seconds{5}}, scratches_.emplace_back());
}

Message ComposeScene::parked(const Park& park, WallTime now) {
    return composed_ = compose_parked(message, context(), park, now, scratches_.emplace_back());
}

void ComposeScene::dies_again(const DeathEntry& entry) {
    const Table before = composed_.properties.header_table();
    message = composed_;
    died(entry, {before.begin(), before.end()});
}

std::string header_of(const Message& message, std::string_view name) {
    const Value* value = find(message.properties.header_table(), name);
    return value == nullptr ? "(absent)" : describe(*value);
}

std::string headers_of(const Message& message) {
    return describe(message.properties.header_table());
}

std::string names_of_headers(const Message& message) {
    std::string names;
    for (const Field& field : message.properties.header_table())
        names.append(names.empty() ? "" : " ").append(field.name);
    return names;
}

}  // namespace retryd::core::test
