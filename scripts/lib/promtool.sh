# shellcheck shell=bash disable=SC2154
# promtool tests the alert rules. Debian 13 has a package of it. Debian 12 has it in the package prometheus, which would start
# a server on this machine: so it is unpacked into $cache/bin, not installed. Sourced after say.sh.

promtool_is_there() { command -v promtool >/dev/null || [[ -x $cache/bin/promtool ]]; }

# unpack_promtool FOLDER - from the package, downloaded and verified by apt. It downloads as root: the user _apt may not
# write to FOLDER.
unpack_promtool() {
    local package=prometheus
    if apt-cache show promtool &>/dev/null; then package=promtool; fi
    cd "$1" &&
        apt-get -o APT::Sandbox::User=root download "$package" &&
        dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x ./usr/bin/promtool &&
        mkdir -p "$cache/bin" &&
        mv usr/bin/promtool "$cache/bin/.promtool" && # one that is cut off has not the name
        mv "$cache/bin/.promtool" "$cache/bin/promtool"
}
