# shellcheck shell=bash disable=SC2154
# One private RabbitMQ and its folder DIR:
#   env       what a test sources      settings  ports and versions of the node    console.log  its standard output
#   lock      held while it runs       pid       its first process, while it runs   root         where its root is mounted
#   node/     what the node itself sees as /mnt: rabbitmq.conf, data/, log/
# Sourced after say.sh, debian.sh, root.sh and node-files.sh.

start_deadline=120 # seconds; a node needs 3 to 6 on two idle cores
stop_deadline=60
starting=

is_running() { [[ -e $1/lock ]] && ! flock --nonblock "$1/lock" true; }

need_node() {
    if [[ ! -r $1/settings ]]; then
        fail "$1 is not the folder of a broker" "nothing was done" "scripts/broker start VERSION $1"
    fi
}

need_running() {
    need_node "$1"
    if ! is_running "$1"; then
        fail "the broker in $1 is not running" "nothing was done" "scripts/broker start $1"
    fi
}

# Sets $processors to those that this process may use, and $processor to one of them. While a node starts, or rabbitmqctl, the
# threads of Erlang wait for each other all the time, and those of a virtual machine's processors wake each other slowly: on
# one, either takes half as long.
choose_processor() {
    local range
    processors=()
    for range in $(taskset --cpu-list --pid "$$" | sed 's/.*: //; s/,/ /g'); do
        mapfile -t -O "${#processors[@]}" processors < <(seq "${range%-*}" "${range#*-}")
    done
    processor=${processors[RANDOM % ${#processors[@]}]}
}

# give_processors PID - $processors to the node whose first process that is. Other processes come and go meanwhile, and
# threads, for which taskset fails.
give_processors() {
    local child list
    list=$(IFS=, && echo "${processors[*]}")
    for child in $(grep -sl "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status || true); do
        child=${child//[!0-9]/}
        taskset --all-tasks --cpu-list --pid "$list" "$child" >/dev/null 2>&1 ||
            taskset --all-tasks --cpu-list --pid "$list" "$child" >/dev/null || [[ ! -d /proc/$child ]] ||
            say "the node's process $child stays on one processor: RabbitMQ is slow"
    done
}

# Whether the broker speaks AMQP: its first frame is a method (connection.start). An open port alone does not prove that.
speaks_amqp() {
    local first=''
    {
        printf 'AMQP\x00\x00\x09\x01' >&"$socket"
        LC_ALL=C IFS= read -r -n 1 -t 2 first <&"$socket" || true
        exec {socket}>&-
    } {socket}<>"/dev/tcp/127.0.0.1/$1"
    [[ $first == $'\x01' ]]
}

# Evaluates the Erlang expression on the node of DIR, whose settings have been sourced: {ok, VALUE}.
evaluate() {
    nsenter --target "$(<"$1/pid")" --mount --pid --root --wd "$here/lib/in-node" "$1" /usr/bin/erl_call \
        -c "$(<"$1/node/.erlang.cookie")" -address "localhost:$dist_port" -e <<<"$2"
}

# is_ready DIR - whether all of it runs; it listens some moments earlier.
is_ready() {
    [[ $( (speaks_amqp "$amqp_port" && evaluate "$1" 'rabbit:is_running().') 2>/dev/null) == '{ok, true}' ]] && {
        [[ -z $management_port ]] || ! port_is_free "$management_port"
    }
}

# start_node DIR - starts the node of an existing DIR, with the data that is in it, and waits until it speaks AMQP. While it
# waits, $starting is DIR: when the script is interrupted, end_start kills the node.
start_node() {
    local dir=$1 began=$SECONDS shown=0 lock
    # shellcheck source=/dev/null
    . "$dir/settings"
    root_for "$version"
    need_private_mounts
    exec {lock}>"$dir/lock"
    flock --nonblock "$lock" || fail "the broker in $dir is running already" "nothing was done" "use it, or stop it first"
    if [[ -z $ports_fd ]]; then claim_ports "$base" || true; fi
    rm -f "$dir/pid"
    starting=$dir
    choose_processor
    schedulers=${#processors[@]} setsid taskset --cpu-list "$processor" "${private[@]}" --pid --fork --kill-child "$here/lib/node-init" "$dir" "$root" \
        >>"$dir/console.log" 2>&1 </dev/null 9>&- & # 9: session.sh
    exec {lock}>&-
    if [[ -n $ports_fd ]]; then exec {ports_fd}>&-; fi
    say "RabbitMQ $exact_version starts on 127.0.0.1:$amqp_port ..."
    until is_ready "$dir"; do
        sleep 0.2
        if ! is_running "$dir"; then show_failed_start "$dir" "it ended by itself"; fi
        if ((SECONDS - began >= start_deadline)); then
            kill_node "$dir"
            show_failed_start "$dir" "it did not speak AMQP within $start_deadline s and was ended"
        fi
        if ((SECONDS - began >= shown + 10)); then
            shown=$((SECONDS - began))
            say "RabbitMQ $exact_version starts: $(elapsed $shown)"
        fi
    done
    give_processors "$(<"$dir/pid")"
    write_env "$dir"
    starting=
    say "RabbitMQ $exact_version is ready after $(elapsed $((SECONDS - began))); its addresses are in $dir/env"
}

end_start() {
    if [[ -n $starting ]]; then kill_node "$starting"; fi
}

show_failed_start() {
    tail -n 40 "$1/console.log" "$1"/node/log/*.log >&2 2>/dev/null || true
    fail "RabbitMQ $exact_version could not be started: $2" "there is no broker" "read the end of its logs above"
}

# stop_node DIR - stops it in order: it closes its files and connections.
stop_node() {
    if ! is_running "$1"; then return; fi
    kill -TERM "$(<"$1/pid")" 2>/dev/null || true
    if ! flock --wait "$stop_deadline" "$1/lock" true; then
        say "the broker in $1 did not stop within $stop_deadline s: killing it"
    fi
    kill_node "$1"
}

# kill_node DIR - like a power failure, except that the disk keeps all that was written.
kill_node() {
    if is_running "$1" && [[ -s $1/pid ]]; then kill -KILL "$(<"$1/pid")" 2>/dev/null || true; fi
    flock --wait 10 "$1/lock" true || fail "the broker in $1 cannot be ended" "its processes go on" "see: ps -ef --forest"
    rm -f "$1/pid"
    # Where "/" is no mount point, the mount point of the private tree is visible outside of it.
    if mountpoint -q "$1/root"; then umount --lazy "$1/root"; fi
}
