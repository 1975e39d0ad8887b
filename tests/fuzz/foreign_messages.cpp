// A message by AMQP 1.0: what retryd says of one that RabbitMQ cannot hand over by AMQP 0-9-1.
#include <array>
#include <string>

#include "amqp/amqp10/receiver.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

using namespace amqp::amqp10;

bool lies_within(std::string_view part, std::string_view whole) {
    return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

/// Every value is a part of what it was read from, and shorter by its constructor at least.
void walk(std::string_view bytes) {
    std::string_view rest = bytes;
    while (const auto item = take_item(rest)) {
        require(lies_within(item->bytes, bytes), "a value lies where it was read from");
        require(lies_within(rest, bytes) && item->bytes.size() < bytes.size(), "a value takes a byte at least");
        for (const Item& part : item->items())
            require(lies_within(part.bytes, item->bytes), "a part lies within its list");
    }
}

/// What is written is read again.
void written(std::string_view text_of_it) {
    const std::string properties =
        list(Code::properties, {text(text_of_it), binary(text_of_it), null(), null(), null(), null(), symbol("a")});
    const Description description = describe(properties);
    require(description.message_id == text_of_it && description.user_id == text_of_it, "texts are read as written");
    require(description.content_type == "a", "fields behind empty ones are found");
}

}  // namespace

void foreign_messages(std::string_view input) {
    walk(input);
    const Description description = describe(input);
    for (const std::string& text : {description.exchange, description.queue, description.user_id,
                                    description.message_id, description.content_type})
        require(text.size() <= input.size(), "nothing is made up");
    written(input);
}

}  // namespace retryd::fuzz
