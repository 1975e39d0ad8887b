#include "commands/parked/one_message.h"

#include "commands/common/text.h"

namespace retryd::commands {

namespace {

std::string why_none(const ParkedOverview& overview, std::size_t number) {
    std::string text = overview.selected() == 0 ? "no message that fits is parked there"
                                                : "there is no message number " + std::to_string(number) + ": only " +
                                                      counted(overview.selected(), "message fits", "messages fit");
    for (const ParkingQueueOverview& queue : overview.queues) {
        if (!queue.fault.empty()) text += "; " + queue.fault;
    }
    for (const std::string& note : overview.notes)
        text += "; not seen: " + note;
    return text + "; retryd parked list shows what there is";
}

}  // namespace

OneMessage find_one(ParkedBrowser& browser, std::size_t number) {
    OneMessage one;
    const ParkedOverview overview =
        browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t at) {
            if (at == number) one.found.emplace(FoundMessage{from, core::OwnedDelivery(delivery)});
            return !one.found;
        });
    one.fault = overview.fault;
    if (one.fault.empty() && !one.found) one.fault = why_none(overview, number);
    return one;
}

}  // namespace retryd::commands
