#include <utility>

#include "config/password.h"
#include "config/settle.h"

namespace retryd::config {

std::optional<Management> settle_management(const WrittenManagement& written, const Surroundings& surroundings,
                                            const Broker& broker, Problems& problems) {
    auto password = read_password(written.password, written.password_file, surroundings, problems);
    if (!written.url.given) return std::nullopt;
    const Endpoint same = broker.endpoints.empty() ? Endpoint{} : broker.endpoints.front();
    Management management{written.url.value, same.username, same.password};
    if (written.username.given) management.username = written.username.value;
    if (broker.auth_mechanism == AuthMechanism::external && (!written.username.given || !password)) {
        add(problems, written.url.place,
            "the management API takes a user with a password, and broker.auth_mechanism is external; expected "
            "management.username, and management.password or management.password_file");
        return management;
    }
    const bool another_user = management.username != same.username;
    // Another user with the broker's password is a mistake; without a broker's user nothing can be said.
    if (another_user && !password && !broker.endpoints.empty()) {
        add(problems, written.username.place,
            "a user has no password; expected management.password or management.password_file");
    }
    if (password) management.password = std::move(*password);
    return management;
}

}  // namespace retryd::config
