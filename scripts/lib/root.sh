# shellcheck shell=bash disable=SC2154
# The cached root file systems: one for each RabbitMQ, $RETRYD_CACHE/roots/SUITE, and one for each Debian with nothing in
# it, roots/plain-SUITE; made by debootstrap from Debian's own packages. A root appears under its name only when it is
# complete; nodes see it read-only, any number of them at once. Remove a folder there to have it made anew. Sourced after
# say.sh and debian.sh.

cache=${RETRYD_CACHE:-/var/cache/retryd}
server=usr/lib/rabbitmq/bin/rabbitmq-server

# root_is_complete FOLDER WITNESS - the program that must be in it.
root_is_complete() { [[ -x $1/$2 && ! -e $1/debootstrap ]]; }

# The version of the RabbitMQ in a root, as the broker itself reports it: 4.0.5.
rabbitmq_version() {
    local version
    version=$(dpkg-query --admindir="$1/var/lib/dpkg" -W -f '${Version}' rabbitmq-server)
    version=${version#*:}
    echo "${version%%[-+~]*}"
}

# bootstrap SUITE FOLDER PACKAGES MIRROR KEYRING - PACKAGES: beside the minimum, with commas. MIRROR empty: debootstrap's
# default. All scripts of debootstrap for today's Debian are the one of sid, which an older debootstrap has even if it
# has not heard of the suite.
bootstrap() {
    local suite=$1 folder=$2 packages=$3 mirror=$4 keyring=$5
    rm -rf --one-file-system "$folder"
    mkdir -p "$folder"
    # shellcheck disable=SC2016  # the inner shell expands these
    step "making the root of Debian $suite from ${mirror:-the default mirror}" "$folder.log" \
        "${private[@]}" bash -c '
            . "$1" && private_tree "$2" &&
            debootstrap --variant=minbase ${6:+--include="$6"} --keyring="$5" "$3" "$2" "$4" \
                /usr/share/debootstrap/scripts/sid && exit
            tail -n 40 "$2/debootstrap/debootstrap.log" 2>/dev/null
            exit 1
        ' bash "$here/lib/debian.sh" "$folder" "$suite" "$mirror" "$keyring" "$packages"
}

# make_root SUITE FOLDER PACKAGES - first from the host's own mirror, then from debootstrap's default; the second time
# with the keys of the newest Debian at hand, which may know a suite that the host's keyring has not heard of.
make_root() {
    local suite=$1 folder=$2 packages=$3 mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg newest
    mirror=$(host_mirror)
    if bootstrap "$suite" "$folder" "$packages" "$mirror" "$keyring"; then return; fi
    newest=$cache/roots/trixie$keyring
    if [[ -r $newest ]]; then keyring=$newest; fi
    if [[ -z $mirror && $keyring != "$newest" ]]; then return 1; fi
    say "trying once more, from debootstrap's default mirror with the keys in $keyring"
    bootstrap "$suite" "$folder" "$packages" '' "$keyring"
}

need_debootstrap() {
    local tool
    for tool in debootstrap unshare flock; do
        if ! command -v "$tool" >/dev/null; then
            fail "$tool is not installed" "no root of Debian can be made" "scripts/install-deps"
        fi
    done
    if [[ ! -r /usr/share/keyrings/debian-archive-keyring.gpg ]]; then
        fail "Debian's keys are not installed" "packages cannot be verified, so none are used" "scripts/install-deps"
    fi
}

# cached_root NAME SUITE WITNESS PACKAGES CONSEQUENCE - sets $root, and makes it if there is none; what it means if that
# fails. Two at once: the second waits for the first.
cached_root() {
    local name=$1 suite=$2 witness=$3 packages=$4 consequence=$5 partial lock
    root=$cache/roots/$name
    partial=$cache/roots/.$name.partial
    if ! root_is_complete "$root" "$witness"; then
        need_debootstrap
        need_private_mounts
        mkdir -p "$cache/roots"
        exec {lock}>"$cache/roots/.$name.lock"
        if ! flock --nonblock "$lock"; then
            say "waiting for the root of Debian $suite, which another process is making"
            flock "$lock"
        fi
        if ! root_is_complete "$root" "$witness"; then
            make_root "$suite" "$partial" "$packages" ||
                fail "the root of Debian $suite could not be made" "$consequence" \
                    "read debootstrap's output above; all of it is in $partial.log"
            if mountpoint -q "$partial"; then umount --recursive --lazy "$partial"; fi
            rm -rf --one-file-system "$root"
            mv "$partial" "$root"
        fi
        exec {lock}>&-
    fi
    # Each node mounts a hosts file of its own here; minbase does not always bring a file to mount it on.
    if [[ ! -e $root/etc/hosts ]]; then : >"$root/etc/hosts"; fi
}

# root_for VERSION - of RabbitMQ; sets $root.
root_for() {
    local suite
    suite=$(suite_of "$1")
    cached_root "$suite" "$suite" "$server" rabbitmq-server "RabbitMQ $1 cannot be started"
}

# plain_root_for VERSION - of Debian, 12 or 13; sets $root. Not to be written to: copy it.
plain_root_for() {
    local suite
    suite=$(codename_of "$1")
    cached_root "plain-$suite" "$suite" usr/bin/apt-get '' "nothing can be built or tried on Debian $1"
}
