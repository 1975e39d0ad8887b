# shellcheck shell=bash disable=SC2154
# Three nodes of scripts/broker that know each other. Sourced after node.sh.
#
# Nodes find each other through epmd, which the first node on a machine starts, and which would end with that node. So a
# cluster starts its own (DIR/epmd.pid), which outlives every node.

# start_epmd DIR ROOT PORT
start_epmd() {
    setsid chroot --userspec=rabbitmq:rabbitmq "$2" /usr/bin/env -i TMPDIR="${TMPDIR:-}" \
        /usr/bin/epmd -port "$3" -address 127.0.0.1 >"$1/epmd.log" 2>&1 </dev/null 9>&- &
    echo "$!" >"$1/epmd.pid"
    disown
    until ! port_is_free "$3"; do
        kill -0 "$(<"$1/epmd.pid")" || fail "epmd ended" "the nodes could not find each other" "read $1/epmd.log"
        sleep 0.1
    done
}

# add_node DIR NUMBER VERSION ROOT - the others use the cookie and the epmd of the first one.
add_node() {
    local dir=$1/$2 first=$1/1 settings
    # shellcheck disable=SC2034  # write_node reserves ports for this node, and start_node passes them on
    ports_fd=
    mkdir -p "$dir"
    # Without MQTT: RabbitMQ 3.10's has a Raft group of its own, for which a node waits at its start, and may wait in vain.
    write_node "$dir" "$3" "$4" '' 'management amqp1_0'
    if [[ $dir == "$first" ]]; then
        # shellcheck source=/dev/null
        settings=$(. "$dir/settings" && echo "$epmd_port")
        start_epmd "$1" "$4" "$settings"
    else
        sed -i "s/^epmd_port=.*/$(grep '^epmd_port=' "$first/settings")/" "$dir/settings"
        cp --preserve=ownership,mode "$first/node/.erlang.cookie" "$dir/node/.erlang.cookie"
    fi
    start_node "$dir"
}

# join_node DIR NODE_NAME - the node of DIR becomes one of that node's cluster.
join_node() {
    "$here/broker" ctl "$1" stop_app && "$here/broker" ctl "$1" join_cluster "$2" && "$here/broker" ctl "$1" start_app
}

start_cluster() {
    local version=$1 dir=$2 number name
    if [[ -e $dir/1 ]]; then fail "$dir has a cluster already" "nothing was done" "scripts/cluster remove $dir"; fi
    root_for "$version"
    mkdir -p "$dir"
    for number in 1 2 3; do add_node "$dir" "$number" "$version" "$root"; done
    # shellcheck source=/dev/null
    name=$(. "$dir/1/settings" && echo "$node_name")
    for number in 2 3; do step "node $number joins" "$dir/join-$number.log" join_node "$dir/$number" "$name"; done
    write_cluster_env "$dir"
    say "the cluster is ready; . $dir/env"
}

# The environment of the first node, and the variables that only a test of the cluster needs.
write_cluster_env() {
    local number uris=''
    for number in 1 2 3; do
        # shellcheck source=/dev/null
        uris+=" $(. "$1/$number/env" && echo "$RETRYD_TEST_AMQP_URI")"
    done
    {
        # Its tests make a vhost of their own, and only some ask the management API.
        sed 's/RETRYD_TEST_MANAGEMENT_URL/RETRYD_TEST_CLUSTER_MANAGEMENT_URL/' "$1/1/env"
        printf 'export RETRYD_TEST_CLUSTER_URIS=%q\n' "${uris# }"
        printf 'export RETRYD_TEST_CLUSTER_DIR=%q\n' "$1"
    } >"$1/env"
}

remove_cluster() {
    local number
    if [[ ! -e $1 ]]; then return; fi
    if [[ ! -e $1/epmd.pid ]]; then
        fail "$1 is not the folder of a cluster" "nothing was done" "scripts/cluster start VERSION $1"
    fi
    for number in 1 2 3; do
        if [[ -e $1/$number/settings ]]; then kill_node "$1/$number"; fi
    done
    if [[ $(cat "/proc/$(<"$1/epmd.pid")/comm" 2>/dev/null) == epmd ]]; then kill "$(<"$1/epmd.pid")"; fi
    rm -rf --one-file-system "$1"
}
