// A password where one belongs is never shown, however it is written and whatever is around it.
#include <array>

#include "fuzz/bytes.h"
#include "fuzz/checked_settings.h"
#include "fuzz/require.h"
#include "fuzz/targets.h"

namespace retryd::fuzz {
namespace {

/// `@@` stands for the password with what is around it.
constexpr std::array<std::string_view, 10> places{
    "broker:\n  password: @@\n",
    "broker:\n  password: \"@@\"\n",
    "broker:\n  password: '@@'\n",
    "broker:\n  uri: amqp://u:@@@h/\n",
    "broker:\n  uri: @@\n",
    "broker:\n  uris:\n    - amqp://u:@@@h/\n    - amqps://@@@h:1\n",
    "broker: {password: '@@'}\n",
    "management:\n  url: http://h:1\n  username: u\n  password: @@\n",
    "management:\n  url: http://u:@@@h:1\n",
    "management:\n  url: @@\n",
};

std::string filled_in(std::string_view place, std::string_view password) {
    std::string text{place};
    for (std::size_t at = text.find("@@"); at != std::string::npos; at = text.find("@@", at + password.size()))
        text.replace(at, 2, password);
    return text;
}

/// What is written where a name belongs is shown as a name.
bool is_a_name(const config::Settings& settings) {
    const auto holds = [](const std::string& text) { return text.find(secret) != std::string::npos; };
    for (const config::Endpoint& endpoint : settings.broker.endpoints) {
        if (holds(endpoint.host) || holds(endpoint.vhost) || holds(endpoint.username)) return true;
    }
    return settings.management && (holds(settings.management->url) || holds(settings.management->username));
}

}  // namespace

void secrets(std::string_view input) {
    if (input.find(secret) != input.npos) return;  // only the password below may contain it
    Bytes bytes{input};
    const std::string_view place = bytes.one_of<std::string_view>(places);
    const std::size_t split = bytes.byte();
    std::string password{bytes.text_until('\n')};
    if (password.find_first_of("&@\r") != std::string::npos) return;  // an anchor's value may be shown elsewhere
    password.insert(std::min(split, password.size()), secret);
    const std::string text = filled_in(place, password).append(bytes.rest());

    const auto loaded = config::load(text, env());
    if (const auto* problems = std::get_if<config::Problems>(&loaded)) {
        const std::string told = config::format(*problems, "f");
        require(told.find(secret) == std::string::npos, "no problem holds a password: " + told);
        return;
    }
    const auto& settings = std::get<config::Settings>(loaded);
    if (is_a_name(settings)) return;
    require(check_settings(settings).find(secret) == std::string::npos, "no password is shown");
}

}  // namespace retryd::fuzz
