// What a test changes on its broker without AMQP: users, permissions, policies, vhosts. It uses the management API,
// which answers in milliseconds; rabbitmqctl starts an Erlang node each time. All functions throw the API's answer when
// it refuses.
#pragma once

#include <string>
#include <vector>

namespace retryd::test {

/// `tags` as the API takes them: "management,policymaker"; none: an ordinary user. An existing user is changed.
void add_user(const std::string& name, const std::string& password, const std::string& tags = "");
void delete_user(const std::string& name);
/// In the vhost of this test.
void set_permissions(const std::string& user, const std::string& configure, const std::string& write,
                     const std::string& read);

/// By their name in the API.
enum class PolicyKind { policies, operator_policies };

/// For queues of this test's vhost whose name matches the pattern; `definition` is JSON.
void set_policy(const std::string& name, const std::string& pattern, const std::string& definition,
                PolicyKind kind = PolicyKind::policies, int priority = 0);
/// A policy that does not exist is no error.
void clear_policy(const std::string& name, PolicyKind kind = PolicyKind::policies);
/// All of this test's vhost, as JSON.
std::string policies();

/// With all permissions for guest.
void add_vhost(const std::string& name);
void delete_vhost(const std::string& name);

/// An exchange that only other exchanges may publish to.
void declare_internal_exchange(const std::string& name);

/// Of all queues in this test's vhost.
std::vector<std::string> queue_names();

}  // namespace retryd::test
