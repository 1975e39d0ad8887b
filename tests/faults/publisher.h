// A user of the broker that a test gives and takes permissions.
#pragma once

#include <unistd.h>

#include <string>

#include "faults/fault_proxy.h"
#include "support/environment.h"
#include "support/management.h"

namespace retryd::test {

/// A user of the broker whose permissions can be taken away; a channel may remember them for a while.
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
    /// Everything but the default exchange may be written to: declaring and binding go on.
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
