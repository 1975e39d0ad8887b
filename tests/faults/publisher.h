// A user of the broker whose permissions a test grants and takes away.
#pragma once

#include <unistd.h>

#include <string>

#include "faults/fault_proxy.h"
#include "support/environment.h"
#include "support/management.h"

namespace retryd::test {

/// A channel may remember the permissions for a while.
class Publisher {
  public:
    Publisher() {
        add_user(name, name);
        allow();
    }
    ~Publisher() { delete_user(name); }
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    void allow() { set_writable(".*"); }
    /// It may write to everything but the default exchange: declaring and binding still work.
    void forbid() { set_writable("^(?!amq\\.default$)"); }
    void set_writable(const std::string& pattern) { set(".*", pattern, ".*"); }
    /// Patterns of names; empty: none.
    void set(const std::string& configure, const std::string& write, const std::string& read) {
        set_permissions(name, configure, write, read);
    }
    Address through(const FaultProxy& network) const {
        Address address = network.address();
        address.user = address.password = name;
        return address;
    }

    const std::string name = "publisher" + std::to_string(::getpid());
};

}  // namespace retryd::test
