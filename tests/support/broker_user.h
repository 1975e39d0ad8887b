// A user of the broker, with the permissions that a test gives it in its own vhost.
#pragma once

#include <string>

#include "support/client.h"

namespace retryd::test {

/// Patterns of names; by default it may do nothing.
struct Permissions {
    std::string configure = "^$";
    std::string write = "^$";
    std::string read = "^$";
};

/// The destructor deletes it.
class BrokerUser {
  public:
    /// `tags` as add_user() takes them.
    explicit BrokerUser(std::string name, const Permissions& permissions = {}, const std::string& tags = "");
    ~BrokerUser();
    BrokerUser(const BrokerUser&) = delete;
    BrokerUser& operator=(const BrokerUser&) = delete;

    /// A channel may remember for a while what was allowed before.
    void may(const Permissions& permissions) const;
    void set_tags(const std::string& tags) const;

    const std::string& name() const { return name_; }
    Address address() const;
    std::string uri() const { return uri_of(address()); }
    /// A line of the configuration: retryd asks the management API as this user.
    std::string management_line() const;

  private:
    std::string name_;
};

}  // namespace retryd::test
