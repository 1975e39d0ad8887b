# shellcheck shell=bash disable=SC2154
# What is written for a private RabbitMQ before it starts: its ports, its configuration, its environment for tests. The head
# of node.sh lists the files of DIR. Sourced after say.sh and root.sh.

ports_fd= # holds the lock on the ports until the node holds it

port_is_free() { ! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# claim_ports BASE - reserves five ports from BASE on for this process and its children, as long as one of them lives.
claim_ports() {
    local port
    mkdir -p "$cache/ports"
    exec {ports_fd}>"$cache/ports/$1"
    if ! flock --nonblock "$ports_fd"; then return 1; fi
    for port in "$1" $(($1 + 1)) $(($1 + 2)) $(($1 + 3)) $(($1 + 4)); do
        if ! port_is_free "$port"; then return 1; fi
    done
}

# Sets $base to the first of five free ports, below those that Linux uses for outgoing connections.
choose_ports() {
    local try
    for try in {1..100}; do
        base=$((20000 + (RANDOM % 2400) * 5))
        if claim_ports "$base"; then return; fi
        exec {ports_fd}>&-
    done
    fail "no five free ports in $try tries" "no broker was started" "see what listens between 20000 and 32000: ss -ltn"
}

# write_node DIR VERSION ROOT PORT PLUGINS - if PORT is empty, a free one is chosen. PLUGINS are named without rabbitmq_.
write_node() {
    local dir=$1 version=$2 root=$3 port=$4 plugins=$5 base owner
    choose_ports
    port=${port:-$base}
    mkdir -p "$dir/root" "$dir/node/data" "$dir/node/log"
    (($(df --output=avail --block-size=M "$dir" | tail -n 1 | tr -dc 0-9) >= 100)) ||
        fail "less than 100 MB are free for $dir" "RabbitMQ would block its publishers there" "make room, or set TMPDIR"
    cat >"$dir/settings" <<SETTINGS
version=$version
exact_version=$(rabbitmq_version "$root")
base=$base
amqp_port=$port
dist_port=$((base + 1))
epmd_port=$((base + 2))
management_port=$([[ " $plugins " == *' management '* ]] && echo $((base + 3)))
tls_port=$((base + 4))
node_name=retryd-$base@localhost
SETTINGS
    write_certificates "$dir/node/tls"
    write_rabbitmq_conf "$dir/node" "$port" $((base + 3)) $((base + 4)) "$plugins"
    echo '127.0.0.1 localhost' >"$dir/node/hosts"
    (umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$dir/node/.erlang.cookie")
    owner=$(awk -F: '$1 == "rabbitmq" {print $3 ":" $4}' "$root/etc/passwd")
    chown -R "$owner" "$dir/node"
    # The node only reads these. The tests, of whoever has called sudo, read the keys and put other certificates there.
    chown -R "${SUDO_UID:-0}" "$dir/node/tls" && chmod -R a+rX "$dir/node/tls"
}

# certificate NAME SUBJECT EXTENSION - NAME.pem and NAME.key, signed by ca. The kind of key is a fast one, since each node gets its own.
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" -keyout "$1.key" -out "$1.csr"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile <(echo "$3") -out "$1.pem"
}

# write_certificates FOLDER - of an authority and, signed by it, of the broker and of a client, which can log in as the user
# guest with it.
write_certificates() {
    mkdir -p "$1"
    (
        cd "$1"
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=tests of retryd" \
            -keyout ca.key -out ca.pem
        certificate server localhost subjectAltName=DNS:localhost,IP:127.0.0.1
        cat server.key >>server.pem
        certificate client guest extendedKeyUsage=clientAuth
    ) &>"$1/openssl.log" || fail "openssl made no certificates" "no broker was started" "read $1/openssl.log"
}

# write_rabbitmq_conf FOLDER AMQP_PORT MANAGEMENT_PORT TLS_PORT PLUGINS - for a small and busy machine: late alarms, a
# write-ahead log of 64 MiB instead of 512.
write_rabbitmq_conf() {
    local plugin enabled=rabbitmq_auth_mechanism_ssl
    cat >"$1/rabbitmq.conf" <<CONF
listeners.tcp.1 = 127.0.0.1:$2
disk_free_limit.absolute = 32MB
vm_memory_high_watermark.relative = 0.8
raft.wal_max_size_bytes = 67108864
log.file = rabbit.log
listeners.ssl.1 = 127.0.0.1:$4
listeners.ssl.2 = 127.0.0.2:$4
ssl_options.cacertfile = /mnt/tls/ca.pem
ssl_options.certfile = /mnt/tls/server.pem
ssl_options.keyfile = /mnt/tls/server.pem
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = EXTERNAL
ssl_cert_login_from = common_name
log.file.level = info
CONF
    if [[ -e /proc/net/if_inet6 ]] && grep -q '^0\{31\}1 ' /proc/net/if_inet6; then
        echo "listeners.ssl.3 = ::1:$4" >>"$1/rabbitmq.conf"
    fi
    for plugin in $5; do
        enabled+=", rabbitmq_$plugin"
        case $plugin in # AMQP 1.0 comes in on the port of AMQP
            management) printf 'management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %s\n' "$3" ;;
            mqtt) echo "mqtt.listeners.tcp.1 = 127.0.0.2:$2" ;;
            stomp) echo "stomp.listeners.tcp.1 = 127.0.0.3:$2" ;;
        esac
    done >>"$1/rabbitmq.conf"
    echo "[$enabled]." >"$1/enabled_plugins"
}

# write_env DIR - the variables for the tests and the demo. Every value is quoted for `. env`, commands also for sh -c.
write_env() {
    local broker dir
    # shellcheck source=/dev/null
    . "$1/settings"
    broker=$(printf '%q' "$here/broker")
    dir=$(printf '%q' "$1")
    {
        printf 'export RETRYD_TEST_AMQP_URI=%q\n' "amqp://guest:guest@127.0.0.1:$amqp_port/"
        printf 'export RETRYD_TEST_AMQPS_URI=%q\n' "amqps://guest:guest@127.0.0.1:$tls_port/"
        printf 'export RETRYD_TEST_CERTIFICATES=%q\n' "$1/node/tls"
        printf 'export RETRYD_TEST_BROKER_VERSION=%q\n' "$exact_version"
        printf 'export RETRYD_TEST_BROKER_DIR=%q\n' "$1"
        printf 'export RETRYD_TEST_BROKER=%q\n' "$broker"
        printf 'export RETRYD_TEST_CTL=%q\n' "$broker ctl $dir"
        if [[ -n $management_port ]]; then
            printf 'export RETRYD_TEST_MANAGEMENT_URL=%q\n' "http://127.0.0.1:$management_port"
        fi
    } >"$1/env"
}
