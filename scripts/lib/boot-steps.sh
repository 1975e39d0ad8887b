# shellcheck shell=bash disable=SC2154
# What is shown of the service from its installation on, as long as its machine runs. Each function is one step: it ends with
# an error where something is not as it should be, and prints what was seen. Sourced after boot-service.sh.

install_the_package() {
    inside apt-get -q install --yes --no-install-recommends /root/retryd.deb >&2
    expect retryd ActiveState inactive
    echo "$(inside retryd --version): neither enabled nor started, as it has no configuration of yours yet"
}

verify_the_units() {
    local level
    inside systemd-analyze --man=no verify retryd.service retryd@other.service >&2
    inside systemd-analyze security --offline=true --threshold=15 --no-pager retryd.service retryd@other.service \
        >"$work/security" || {
        cat "$work/security" >&2
        return 1
    }
    level=$(grep --only-matching -E 'level for retryd.service: [0-9.]+' "$work/security")
    echo "verify is silent; exposure ${level##* }, of at most 1.5"
}

# Work queues, the policies that connect them, and retryd's user, whose password no command line shows. A classic queue may
# lose what it dead-letters; where every message is counted stands a quorum queue.
definitions() {
    cat <<END
{"vhosts": [{"name": "/"}, {"name": "other"}],
 "users": [{"name": "guest", "password": "guest", "tags": "administrator"},
           {"name": "retryd", "password": "$password", "tags": ""}],
 "permissions": [{"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"},
                 {"user": "guest", "vhost": "other", "configure": ".*", "write": ".*", "read": ".*"},
                 {"user": "retryd", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"},
                 {"user": "retryd", "vhost": "other", "configure": ".*", "write": ".*", "read": ".*"}],
 "policies": [{"vhost": "/", "name": "retryd", "pattern": "^email$", "apply-to": "queues", "priority": 0,
               "definition": {"dead-letter-exchange": "retryd.errors", "dead-letter-strategy": "at-least-once",
                              "overflow": "reject-publish"}},
              {"vhost": "other", "name": "retryd", "pattern": "^sms$", "apply-to": "queues", "priority": 0,
               "definition": {"dead-letter-exchange": "retryd.errors"}}],
 "queues": [{"name": "email", "vhost": "/", "durable": true, "auto_delete": false,
             "arguments": {"x-queue-type": "quorum"}},
            {"name": "sms", "vhost": "other", "durable": true, "auto_delete": false, "arguments": {}}]}
END
}

prepare_the_broker() {
    definitions >"$machine/var/lib/rabbitmq/definitions.json"
    inside rabbitmqctl -q import_definitions /var/lib/rabbitmq/definitions.json >&2
    rm "$machine/var/lib/rabbitmq/definitions.json"
    echo "work queues 'email' and, in another vhost, 'sms'; one policy leads each to retryd.errors"
}

start_with_a_credential() {
    local pid user
    install -D -m 0600 /dev/stdin "$machine/etc/credstore/retryd.password" <<<"$password"
    install -m 0600 "$machine/etc/credstore/retryd.password" "$machine/etc/credstore/retryd.other.password"
    write_config "$config" "" email 500ms "$password_file"
    inside systemctl enable --now retryd >&2
    expect retryd ActiveState active
    await 30 is_connected
    pid=$(of retryd MainPID)
    inside grep -q '^Max core file size *0 ' "/proc/$pid/limits"
    inside grep -q '^Max stack size *16777216 ' "/proc/$pid/limits"
    user=$(inside ps -o user= -p "$pid")
    [[ $user != root ]]
    echo "$(of retryd StatusText), as user $user; the password only in /etc/credstore"
}

messages_come_back() { traffic load email 50 1; }

reload_a_good_file() {
    local pid
    pid=$(of retryd MainPID)
    write_config "$config" "" email 700ms "$password_file" 127.0.0.1:9467
    inside systemctl reload retryd
    await 10 listens_on 127.0.0.1:9467
    traffic load email 20 1
    has_queue email.retry.700ms
    expect retryd MainPID "$pid"
    echo "over the new rung, connection kept; http listens"
}

reload_a_wrong_file() {
    local pid answer=0 problem
    pid=$(of retryd MainPID)
    echo 'nonsense: 1' >>"$machine$config"
    inside systemctl reload retryd 2>/dev/null || answer=$?
    # Where systemd sends the signal itself, nothing tells it that a file was refused.
    if is retryd Type notify && ((answer == 0)); then echo "systemctl reload reported nothing" >&2 && return 1; fi
    await 10 says retryd 'is wrong and was not reloaded'
    expect retryd MainPID "$pid"
    problem=$(journal --priority err..err --output cat --grep "^$config:[0-9]+:[0-9]+: nonsense" --lines 1)
    traffic load email 20 1 >"$work/reload"
    write_config "$config" "" email 500ms "$password_file" 127.0.0.1:9467
    inside systemctl reload retryd
    await 10 is_connected
    if says retryd 'is wrong'; then echo "the status goes on about a file that is right" >&2 && return 1; fi
    echo "systemctl reload ends with $answer, the status says so, the former file stays in force; journal, err: $problem"
}

start_with_a_wrong_file() {
    local answer=0
    echo 'nonsense: 1' >>"$machine$config"
    inside systemctl restart retryd 2>/dev/null || answer=$?
    if ((answer == 0)); then echo "systemctl restart reported nothing" >&2 && return 1; fi
    sleep 5 # RestartSec is 2: by then it would have been started again
    expect retryd ActiveState failed
    expect retryd ExecMainStatus 78
    expect retryd NRestarts 0
    write_config "$config" "" email 500ms "$password_file" 127.0.0.1:9467
    inside systemctl start retryd
    await 30 is_connected
    echo "exit code 78, failed, not started again in 5 s; with a right file it starts"
}

hang_an_instance() {
    write_config /etc/retryd/other.yaml other sms 500ms /run/credentials/retryd@other.service/password
    inside systemctl enable --now retryd@other >&2
    await 30 is_connected retryd@other
    traffic --vhost other load sms 20 1
    of retryd@other MainPID >"$work/hung"
    inside kill -STOP "$(<"$work/hung")"
}
