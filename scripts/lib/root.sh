# shellcheck shell=bash disable=SC2154
# The cached root file systems, made from Debian's own packages. For each RabbitMQ: $RETRYD_CACHE/roots/SUITE, in which its
# packages are unpacked but not installed (a node needs no more, and this takes a fifth of the time). For each Debian:
# roots/plain-SUITE, made by debootstrap without further packages. A root gets its name when it is complete; nodes see it
# read-only, any number of them at once. To have a root made again, remove its folder. Sourced after say.sh and debian.sh.

cache=${RETRYD_CACHE:-/var/cache/retryd}
default_mirror=http://deb.debian.org/debian
server=usr/lib/rabbitmq/bin/rabbitmq-server

# root_is_complete FOLDER WITNESS - whether the file WITNESS is in it, which a complete root has.
root_is_complete() { [[ -x $1/$2 && ! -e $1/debootstrap ]]; }

# The version of the RabbitMQ in a root: 4.0.5.
rabbitmq_version() {
    local folder
    folder=$(echo "$1"/usr/lib/rabbitmq/lib/rabbitmq_server-*)
    echo "${folder##*/rabbitmq_server-}"
}

# What a node needs besides RabbitMQ's dependencies (Debian's essential packages are no dependencies), and the keys of that
# Debian, which are newer than the host's.
node_packages=(rabbitmq-server base-files base-passwd bash coreutils dash findutils grep hostname libc-bin login mawk sed
    util-linux debian-archive-keyring)

# private_apt FOLDER LINE - sets the array `apt` to an apt-get that uses the source LINE and knows nothing of what this host
# has installed. It keeps everything in FOLDER, but uses the settings of the host, such as a proxy. An index that has
# expired, since the mirror is not updated any more, is accepted.
private_apt() {
    local folder
    mkdir -p "$1/lists/partial" "$1/archives/partial"
    folder=$(realpath "$1")
    echo "$2" >"$folder/sources.list"
    : >"$folder/status"
    apt=(apt-get -q -o Dir::State="$folder" -o Dir::State::status="$folder/status" -o Dir::Cache="$folder"
        -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
        -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3)
}

# unpack FOLDER PACKAGE_FILE... - without running any script of the packages, and without documentation. /bin, /lib and so
# on are merged into /usr in every root, as in newer Debians.
unpack() {
    local folder=$1 merged package
    shift
    for merged in bin sbin lib lib64; do
        mkdir -p "$folder/usr/$merged"
        ln -s "usr/$merged" "$folder/$merged"
    done
    for package; do
        case ${package##*/} in python3* | libpython3* | perl* | libperl* | locales-all*) continue ;; esac
        echo "unpacking ${package##*/}"
        dpkg-deb --fsys-tarfile "$package" | tar --extract --numeric-owner --directory "$folder" --keep-directory-symlink \
            --exclude './usr/share/doc/*' --exclude './usr/share/man/*' --exclude './usr/share/locale/*' || return 1
    done
}

# settle FOLDER - creates what a node needs of that which the scripts of the packages would have done: mount points, awk, its
# user.
settle() {
    mkdir -p "$1"/{dev,mnt,proc,run,tmp} &&
        ln -sf mawk "$1/usr/bin/awk" &&
        cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd" &&
        cp "$1/usr/share/base-passwd/group.master" "$1/etc/group" &&
        echo 'rabbitmq:x:100:101::/var/lib/rabbitmq:/usr/sbin/nologin' >>"$1/etc/passwd" &&
        echo 'rabbitmq:x:101:' >>"$1/etc/group"
}

# unpack_root SUITE FOLDER MIRROR KEYRING
unpack_root() {
    local apt
    private_apt "$2.apt" "deb [arch=$(dpkg --print-architecture) signed-by=$4] $3 $1 main"
    "${apt[@]}" update --error-on=any &&
        "${apt[@]}" install --yes --download-only --no-install-recommends "${node_packages[@]}" &&
        unpack "$2" "$2.apt"/archives/*.deb &&
        settle "$2"
}

# bootstrap_root SUITE FOLDER MIRROR KEYRING - uses the script of sid: today's suites have the same one, and an older
# debootstrap that does not know the suite has that.
bootstrap_root() {
    # shellcheck disable=SC2016  # the inner shell expands these
    "${private[@]}" bash -c '
        . "$1" && private_tree "$2" &&
        debootstrap --variant=minbase --keyring="$5" "$3" "$2" "$4" /usr/share/debootstrap/scripts/sid && exit
        tail -n 40 "$2/debootstrap/debootstrap.log" 2>/dev/null
        exit 1
    ' bash "$here/lib/debian.sh" "$2" "$1" "$3" "$4"
}

# make_root MAKER SUITE FOLDER - first from the host's own mirror, then from Debian's; the second time with the keys of the
# newest Debian in the cache, since the suite may be newer than the host's keyring.
make_root() {
    local maker=$1 suite=$2 folder=$3 mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg newest
    mirror=$(host_mirror)
    mirror=${mirror:-$default_mirror}
    if try_root "$maker" "$suite" "$folder" "$mirror" "$keyring"; then return; fi
    newest=$cache/roots/trixie$keyring
    if [[ -r $newest ]]; then keyring=$newest; fi
    if [[ $mirror == "$default_mirror" && $keyring != "$newest" ]]; then return 1; fi
    say "trying once more, from $default_mirror with the keys in $keyring"
    try_root "$maker" "$suite" "$folder" "$default_mirror" "$keyring"
}

# try_root MAKER SUITE FOLDER MIRROR KEYRING
try_root() {
    rm -rf --one-file-system "$3" "$3.apt"
    mkdir -p "$3"
    step "making the root of Debian $2 from $4" "$3.log" "$1" "${@:2}"
}

# no_mirror LOG - whether apt failed because Debian's mirror could not be reached or has not all of that Debian today.
no_mirror() {
    ! grep -qE 'No space left|enough free space|Read-only file system|Input/output error' "$1" &&
        grep -qE 'Could not (resolve|connect)|Temporary failure resolving|onnection (failed|timed out|refused)|Unable to connect|Network is unreachable| (404|50[0-9])  |not have a Release file|unmet dependencies' "$1"
}

need_tools() {
    local tool
    for tool in "$@"; do
        if ! command -v "$tool" >/dev/null; then
            fail "$tool is not installed" "no root of Debian can be made" "scripts/install-deps"
        fi
    done
    if [[ ! -r /usr/share/keyrings/debian-archive-keyring.gpg ]]; then
        fail "Debian's keys are not installed" "packages cannot be verified, so none are used" "scripts/install-deps"
    fi
}

need_debootstrap() { need_tools debootstrap unshare flock; }

# cached_root NAME SUITE MAKER WITNESS CONSEQUENCE - sets $root, and makes the root if there is none; CONSEQUENCE is printed
# if that fails; ends with 77 if a mirror was the reason. Of two processes at once the second waits for the first.
cached_root() {
    local name=$1 suite=$2 maker=$3 witness=$4 consequence=$5 partial lock
    root=$cache/roots/$name
    partial=$cache/roots/.$name.partial
    if ! root_is_complete "$root" "$witness"; then
        mkdir -p "$cache/roots"
        exec {lock}>"$cache/roots/.$name.lock"
        if ! flock --nonblock "$lock"; then
            say "waiting for the root of Debian $suite, which another process is making"
            flock "$lock"
        fi
        if ! root_is_complete "$root" "$witness"; then
            if ! make_root "$maker" "$suite" "$partial"; then
                if no_mirror "$partial.log"; then
                    (fail "no mirror gives all of Debian $suite today" "$consequence" "is the network reachable?") || exit 77
                fi
                fail "the root of Debian $suite could not be made" "$consequence" \
                    "read the output above; all of it is in $partial.log"
            fi
            if mountpoint -q "$partial"; then umount --recursive --lazy "$partial"; fi
            rm -rf --one-file-system "$root" "$partial.apt"
            mv "$partial" "$root"
        fi
        exec {lock}>&-
    fi
    # Each node mounts a hosts file of its own here.
    if [[ ! -e $root/etc/hosts ]]; then : >"$root/etc/hosts"; fi
}

# root_for VERSION - sets $root to the root of that RabbitMQ.
root_for() {
    local suite
    suite=$(suite_of "$1")
    need_tools apt-get dpkg-deb flock tar
    cached_root "$suite" "$suite" unpack_root "$server" "RabbitMQ $1 cannot be started"
}

# plain_root_for VERSION - sets $root to the plain root of Debian 12 or 13. Copy it instead of writing to it.
plain_root_for() {
    local suite
    suite=$(codename_of "$1")
    need_debootstrap
    need_private_mounts
    cached_root "plain-$suite" "$suite" bootstrap_root usr/bin/apt-get "nothing can be built or tried on Debian $1"
}
