#include "admin/rabbitmqctl.h"

#include <string>

#include "support/catch.h"

namespace retryd::admin::rabbitmqctl_test {
namespace {

const BrokerPolicy plain{"retryd.errors", "^(email)$", "queues", {{"dead-letter-exchange", "\"retryd.errors\""}}, 0};

}  // namespace

TEST_CASE("rabbitmqctl: a word of the shell is one word, whatever is in it") {
    CHECK(shell_word("email") == "'email'");
    CHECK(shell_word("") == "''");
    CHECK(shell_word("it's $HOME; `x` \"y\" \\") == "'it'\\''s $HOME; `x` \"y\" \\'");
    CHECK(shell_word("a\x1b[2Jb'c\\d\x7f") == "$'a\\x1b[2Jb\\x27c\\\\d\\x7f'");
    CHECK(shell_word("a\u202eb") == "$'a\\u202eb'");
}

TEST_CASE("rabbitmqctl: a word is as people type it only where nothing in it means anything to a shell") {
    for (const char* typed : {"order-4711", "a/b=c", "me@host:1,2+3%._"})
        CHECK(word_as_typed(typed) == typed);
    for (const std::string odd : {"", "-x", "a b", "a;b", "$(x)", "`x`", "a'b", "~", "#x", "!x", "*", "a&b", "ü"}) {
        CAPTURE(odd);
        CHECK(word_as_typed(odd) == shell_word(odd));
    }
}

TEST_CASE("rabbitmqctl: sets a policy with all that belongs to it") {
    CHECK(set_policy_command(plain, "/") ==
          "rabbitmqctl set_policy --priority=0 --apply-to queues 'retryd.errors' '^(email)$' "
          "'{\"dead-letter-exchange\": \"retryd.errors\"}'");
    CHECK(clear_policy_command("retryd.errors", "/") == "rabbitmqctl clear_policy 'retryd.errors'");
}

TEST_CASE("rabbitmqctl: names a vhost that is not /, and takes a name with a dash for no option") {
    BrokerPolicy odd = plain;
    odd.name = "-it's";
    odd.priority = -3;
    odd.apply_to = "all";
    CHECK(set_policy_command(odd, "a b") ==
          "rabbitmqctl set_policy --vhost 'a b' --priority=-3 --apply-to all -- '-it'\\''s' '^(email)$' "
          "'{\"dead-letter-exchange\": \"retryd.errors\"}'");
    BrokerPolicy dashed = plain;
    dashed.pattern = "-mail$";
    CHECK(set_policy_command(dashed, "/").find(" -- 'retryd.errors' '-mail$' ") != std::string::npos);
    CHECK(clear_policy_command("-x", "a b") == "rabbitmqctl clear_policy --vhost 'a b' -- '-x'");
}

TEST_CASE("rabbitmqctl: sets the permissions of a user") {
    CHECK(set_permissions_command("retryd", {"^(a|b)$", "^$", ".*"}, "/") ==
          "rabbitmqctl set_permissions 'retryd' '^(a|b)$' '^$' '.*'");
    CHECK(set_permissions_command("-u", {"", "", ""}, "a b") ==
          "rabbitmqctl set_permissions --vhost 'a b' -- '-u' '' '' ''");
}

}  // namespace retryd::admin::rabbitmqctl_test
