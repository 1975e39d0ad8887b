#include "support/broker_user.h"

#include <utility>

#include "support/environment.h"
#include "support/management.h"

namespace retryd::test {
namespace {

constexpr const char* users_password = "secret";

}  // namespace

BrokerUser::BrokerUser(std::string name, const Permissions& permissions, const std::string& tags)
    : name_(std::move(name)) {
    set_tags(tags);
    may(permissions);
}

BrokerUser::~BrokerUser() {
    delete_user(name_);
}

void BrokerUser::may(const Permissions& permissions) const {
    set_permissions(name_, permissions.configure, permissions.write, permissions.read);
}

void BrokerUser::set_tags(const std::string& tags) const {
    add_user(name_, users_password, tags);
}

Address BrokerUser::address() const {
    Address address = broker_address();
    address.user = name_;
    address.password = users_password;
    return address;
}

std::string BrokerUser::management_line() const {
    return "management: {url: \"" + management_url() + "\", username: \"" + name_ + "\", password: " + users_password +
           "}\n";
}

}  // namespace retryd::test
