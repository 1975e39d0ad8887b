# shellcheck shell=bash disable=SC2154
# promtool tries the alert rules. Debian 13 has a package of it, Debian 12 has it in that of prometheus, which would start
# a server on this machine and with every boot: so it is unpacked into $cache/bin, not installed. Sourced after say.sh.

promtool_is_there() { command -v promtool >/dev/null || [[ -x $cache/bin/promtool ]]; }

# unpack_promtool FOLDER - from the package in apt's mirrors, as apt has checked it; as root, for the user that apt would
# read as may not write here.
unpack_promtool() {
    local package=prometheus
    if apt-cache show promtool &>/dev/null; then package=promtool; fi
    cd "$1" &&
        apt-get -o APT::Sandbox::User=root download "$package" &&
        dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x ./usr/bin/promtool &&
        mkdir -p "$cache/bin" &&
        mv usr/bin/promtool "$cache/bin/promtool"
}
