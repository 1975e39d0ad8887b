# shellcheck shell=bash disable=SC2034,SC2154
# The service in the machine: what is asked of it, and how an answer is waited for. Sourced after boot-machine.sh.

config=/etc/retryd/retryd.yaml
# shellcheck disable=SC2016  # retryd expands it
password_file='${CREDENTIALS_DIRECTORY:-/etc/credstore}/retryd.password'
# A word that stands nowhere else: wherever it turns up, the password has been given away.
password=correct-horse-$RANDOM$RANDOM

# await SECONDS COMMAND... - asks until it succeeds.
await() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        if ((SECONDS >= until)); then
            echo "not within the time: $*" >&2
            return 1
        fi
        sleep 0.2
    done
}

# of UNIT PROPERTY
of() { inside systemctl show "$1" --property "$2" --value; }

# is UNIT PROPERTY VALUE
is() { [[ $(of "$1" "$2") == "$3" ]]; }

# expect UNIT PROPERTY VALUE
expect() {
    is "$@" || {
        echo "$2 of $1 is '$(of "$1" "$2")', not '$3'" >&2
        return 1
    }
}

# says UNIT TEXT - whether `systemctl status` shows it.
says() { [[ $(of "$1" StatusText) == *"$2"* ]]; }

restarts() { of "${1:-retryd}" NRestarts; }

# pid_is_not UNIT PID - whether another process is the daemon now.
pid_is_not() { [[ $(of "$1" MainPID) != "$2" && $(of "$1" MainPID) != 0 ]]; }

is_connected() { is "${1:-retryd}" ActiveState active && says "${1:-retryd}" "connected to 127.0.0.1"; }

# traffic ARGUMENT... - see tests/boot/traffic.py.
traffic() { inside /usr/local/bin/traffic "$@"; }

# write_config FILE VHOST QUEUE DELAY PASSWORD_FILE [HTTP] - for a work queue with one rung of that delay and a far one.
write_config() {
    cat >"$machine$1" <<END
broker:
  uri: amqp://retryd@127.0.0.1:5672/$2
  password_file: $5
ladders:
  quick:
    delays: [$4, 1h]
queues:
  - match: $3
    ladder: quick
END
    if [[ -n ${6:-} ]]; then echo "http: {listen: $6}" >>"$machine$1"; fi
}

# under_load COUNT SECONDS COMMAND... - rejects so many messages over so long and carries out the command in the middle of
# it; then waits until all are home. Fails where one is lost, or the command does; tells both.
under_load() {
    local count=$1 seconds=$2 load code=0
    shift 2
    traffic load email "$count" "$seconds" >"$work/load" 2>&1 &
    load=$!
    sleep $((seconds / 3))
    "$@" || code=$?
    wait "$load" || code=$?
    tail -n 1 "$work/load"
    if ((code != 0)); then
        inside rabbitmqctl -q list_queues name messages_ready messages_unacknowledged >&2
    fi
    return "$code"
}

has_queue() { [[ $'\n'$(inside rabbitmqctl -q list_queues name)$'\n' == *$'\n'"$1"$'\n'* ]]; }

listens_on() { [[ $(inside ss -Hltn) == *" $1 "* ]]; }

# journal [OPTION...] - of the service in this boot, without words of journalctl's own.
journal() { inside journalctl --quiet --no-pager --boot --unit retryd "$@"; }
