#include "core/message.h"

#include <cstring>
#include <new>

namespace retryd::core {

namespace {

class Copier {
  public:
    explicit Copier(std::pmr::memory_resource& arena) : arena_(arena) {}

    std::string_view copy(std::string_view text) {
        if (text.empty()) return "";
        auto* bytes = static_cast<char*>(take(text.size(), 1));
        std::memcpy(bytes, text.data(), text.size());
        return {bytes, text.size()};
    }

    Value copy(const Value& value) {
        Value copied = value;
        if (auto* text = std::get_if<std::string_view>(&copied.data)) *text = copy(*text);
        if (auto* array = std::get_if<Array>(&copied.data)) *array = copy(*array);
        if (auto* table = std::get_if<Table>(&copied.data)) *table = copy(*table);
        return copied;
    }

    Array copy(const Array& array) {
        auto* values = allocate<Value>(array.size());
        Value* next = values;
        for (const Value& value : array)
            new (next++) Value(copy(value));
        return {values, array.size()};
    }

    Table copy(const Table& table) {
        auto* fields = allocate<Field>(table.size());
        Field* next = fields;
        for (const Field& field : table)
            new (next++) Field{copy(field.name), copy(field.value)};
        return {fields, table.size()};
    }

    template <typename T>
    void own(std::optional<T>& part) {
        if (part) *part = copy(*part);
    }

    std::size_t taken() const { return taken_; }

  private:
    void* take(std::size_t bytes, std::size_t alignment) {
        taken_ += bytes;
        return arena_.allocate(bytes, alignment);
    }

    // Values and fields hold views and numbers only: nothing to destroy when the arena goes.
    template <typename T>
    T* allocate(std::size_t count) {
        return static_cast<T*>(take(count * sizeof(T), alignof(T)));
    }

    std::pmr::memory_resource& arena_;
    std::size_t taken_ = 0;
};

}  // namespace

OwnedDelivery::OwnedDelivery(const Delivery& source)
    : arena_(std::make_unique<std::pmr::monotonic_buffer_resource>(source.message.body.size() + 1024)),
      delivery_(source) {
    Copier copier(*arena_);
    Properties& properties = delivery_.message.properties;
    for (const TextProperty& each : text_properties)
        copier.own(properties.*each.value);
    copier.own(properties.headers);
    copier.own(delivery_.routing_key);
    delivery_.message.body = copier.copy(source.message.body);
    bytes_ = copier.taken();
}

}  // namespace retryd::core
