# shellcheck shell=bash disable=SC2154
# promtool tests the alert rules, and prometheus tries them. Debian's packages would start a server on this machine: so they
# are unpacked into $cache/bin, not installed. Debian 13 has promtool in a package of its own, Debian 12 in that of prometheus.
# Sourced after say.sh.

is_there() { command -v "$1" >/dev/null || [[ -x $cache/bin/$1 ]]; }

# unpack PROGRAM FOLDER - from its package, downloaded and verified by apt. It downloads as root: the user _apt may not write
# to FOLDER.
unpack() {
    local package=prometheus
    if [[ $1 == promtool ]] && apt-cache show promtool &>/dev/null; then package=promtool; fi
    cd "$2" &&
        apt-get -o APT::Sandbox::User=root download "$package" &&
        dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x "./usr/bin/$1" &&
        mkdir -p "$cache/bin" &&
        mv "usr/bin/$1" "$cache/bin/.$1" && # one that is cut off has not the name
        mv "$cache/bin/.$1" "$cache/bin/$1"
}
