# shellcheck shell=bash disable=SC2154
# Working in another Debian: a root that builds packages, and one for trying them that is thrown away. Sourced after
# say.sh, debian.sh and root.sh; $project is the root of the project.

# in_root ROOT FOLDER COMMAND... - with FOLDER seen as /work in it, the host's network and little else of its environment.
# The host sees none of its mounts, and what it has started ends with it.
in_root() {
    local variable environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
        LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
    for variable in http_proxy https_proxy SOURCE_DATE_EPOCH; do
        if [[ -v $variable ]]; then environment+=("$variable=${!variable}"); fi
    done
    # shellcheck disable=SC2016  # the inner shell expands these
    "${private[@]}" --pid --fork --kill-child bash -c '
        set -e
        . "$1"
        private_tree "$2"
        mkdir -p "$2/work"
        mount -t proc proc "$2/proc"
        mount --rbind /dev "$2/dev"
        mount --bind "$3" "$2/work"
        cp /etc/resolv.conf /etc/hosts "$2/etc/"
        root=$2
        shift 3
        exec chroot "$root" env --ignore-environment "$@"
    ' bash "$here/lib/debian.sh" "$1" "$2" "${environment[@]}" "${@:3}"
}

# building_root_for VERSION - sets $root: a plain one and what scripts/install-deps --package brings. It is kept; what a
# newer project needs more is added to it. Two at once: the second waits for the first.
building_root_for() {
    local suite building lock
    suite=$(codename_of "$1")
    plain_root_for "$1"
    need_private_mounts
    building=$cache/roots/package-$suite
    exec {lock}>"$cache/roots/.package-$suite.lock"
    flock "$lock"
    if [[ ! -d $building ]]; then
        rm -rf --one-file-system "$building.partial"
        cp --archive "$root" "$building.partial"
        mv "$building.partial" "$building"
    fi
    root=$building
    step "what building needs, in Debian $1" "$cache/roots/.package-$suite.log" \
        in_root "$root" "$project" /work/scripts/install-deps --package ||
        fail "the root of Debian $1 lacks what building needs" "no package is built there" "read apt's words above"
    exec {lock}>&-
}

# try_package VERSION PACKAGE - on a copy of that Debian's plain root.
try_package() {
    plain_root_for "$1"
    need_private_mounts
    mkdir -p "$work/try"
    cp "$2" "$work/try/retryd.deb"
    cp "$here/lib/try-package" "$here/lib/say.sh" "$work/try"
    cp --archive "$root" "$work/root-$1"
    in_root "$work/root-$1" "$work/try" /work/try-package /work/retryd.deb
    rm -rf --one-file-system "$work/root-$1"
}
