# shellcheck shell=bash disable=SC2154
# promtool, the one program of Debian's package prometheus that the tests need: unpacked into $cache/bin, not installed,
# for the package would start a server on this machine and with every boot. Sourced after say.sh.

promtool_is_there() { command -v promtool >/dev/null || [[ -x $cache/bin/promtool ]]; }

# unpack_promtool FOLDER - from the package in apt's mirrors, as apt has checked it; as root, for the user that apt would
# read as may not write here.
unpack_promtool() {
    cd "$1" &&
        apt-get -o APT::Sandbox::User=root download prometheus &&
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool &&
        mkdir -p "$cache/bin" &&
        mv usr/bin/promtool "$cache/bin/promtool"
}
