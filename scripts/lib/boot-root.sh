# shellcheck shell=bash disable=SC2154
# The cached root file systems of scripts/boot: $RETRYD_CACHE/roots/boot-SUITE, a plain Debian with RabbitMQ, systemd
# and what the package depends on. Each trial runs in a copy of it, without a network. Sourced after root.sh.

# What a machine has: its broker, a systemd that boots it, apt's helpers, the consumer's library.
boot_packages=(rabbitmq-server systemd systemd-sysv dbus procps init-system-helpers iproute2 curl openssl python3-pika)

# install_in ROOT PACKAGE... - with the names or relations that `apt-get satisfy` takes, from the host's network; nothing
# that is installed is started.
install_in() {
    local folder=$1
    shift
    printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
    chmod 755 "$folder/usr/sbin/policy-rc.d"
    cp /etc/resolv.conf "$folder/etc/resolv.conf"
    # shellcheck disable=SC2016  # the inner shell expands these
    "${private[@]}" sh -ec '
        mount -t proc proc "$1/proc"
        mount --bind /dev "$1/dev"
        export DEBIAN_FRONTEND=noninteractive
        root=$1
        shift
        chroot "$root" apt-get -q update
        chroot "$root" apt-get -q satisfy --yes --no-install-recommends "$@"
        chroot "$root" apt-get -q clean
    ' sh "$folder" "$@"
    rm "$folder/usr/sbin/policy-rc.d"
}

# boot_root_for DEBIAN DEPENDS - sets $boot_root, and makes it where there is none that has all of it.
boot_root_for() {
    local debian=$1 depends="${boot_packages[*]}, $2" name partial lock
    plain_root_for "$debian"
    name=boot-$(codename_of "$debian")
    boot_root=$cache/roots/$name
    partial=$cache/roots/.$name.partial
    exec {lock}>"$cache/roots/.$name.lock"
    flock "$lock"
    if [[ $(cat "$boot_root/etc/retryd-depends" 2>/dev/null) != "$depends" ]]; then
        need_private_mounts
        rm -rf --one-file-system "$partial"
        cp -a --reflink=auto "$root" "$partial"
        step "making a Debian $debian that boots" "$work/root-$debian.log" \
            install_in "$partial" "${boot_packages[@]}" "$2" ||
            fail "the packages for Debian $debian could not be installed" "it cannot be booted" \
                "read apt's words above; is its mirror reachable?"
        echo "$depends" >"$partial/etc/retryd-depends"
        rm -rf --one-file-system "$boot_root"
        mv "$partial" "$boot_root"
    fi
    exec {lock}>&-
}
