# shellcheck shell=bash disable=SC2154
# Building the Debian package and looking at what came out. Sourced after say.sh; $project is the root of the project,
# $revision the package's, $work a temporary folder.

# The moment that stands in the package instead of the one at which it is built: that of the last commit, or where there
# is no repository that of the CHANGELOG.
source_date() {
    git -C "$project" log -1 --format=%ct 2>/dev/null || stat --format %Y "$project/CHANGELOG.md"
}

# copy_sources FOLDER - as they are now, committed or not, without what was built.
copy_sources() {
    mkdir -p "$1"
    if git -C "$project" rev-parse --git-dir >/dev/null 2>&1; then
        git -C "$project" ls-files -z --cached --others --exclude-standard
    else
        (cd "$project" && find . -path ./build -prune -o -type f -print0)
    fi | tar -C "$project" --null --files-from - --create | tar -C "$1" --extract
}

# The flags of Debian's own packages with all of the hardening, and what only a newer dpkg counts among it; none of the
# symbols for a debugger, which would be stripped anyhow. They speak of the folder that this is called in.
debian_flags() {
    local more=-fstack-clash-protection
    case $(dpkg --print-architecture) in
        amd64) more+=' -fcf-protection' ;;
        arm64) more+=' -mbranch-protection=standard' ;;
    esac
    DEB_BUILD_MAINT_OPTIONS='hardening=+all reproducible=+all' DEB_CXXFLAGS_MAINT_STRIP=-g \
        DEB_CXXFLAGS_MAINT_APPEND=$more dpkg-buildflags --export=sh
}

# build_package SOURCES FOLDER - builds in FOLDER and leaves the package there. In a subshell: the flags stay inside.
build_package() (
    cd "$1" || return
    eval "$(debian_flags)"
    export LC_ALL=C.UTF-8 TZ=UTC
    umask 022
    step "configuring the package" "$work/configure.log" cmake --preset package -B "$2" \
        -DCMAKE_CXX_FLAGS="$CXXFLAGS $CPPFLAGS" -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" \
        -DRETRYD_PACKAGE_REVISION="$revision"
    step "building it" "$work/build.log" cmake --build "$2" --target retryd packaging/all --parallel "$(nproc)"
    rm -f "$2"/*.deb
    step "packing it" "$work/pack.log" cpack --config "$2/CPackConfig.cmake" -B "$2"
)

# check_lintian PACKAGE - no errors; warnings are shown.
check_lintian() {
    lintian --allow-root --no-cfg --fail-on error --display-info --tag-display-limit 0 "$1" >&2 ||
        fail "lintian finds errors in $1" "it is no package to give away" "read its words above: lintian-explain-tags TAG"
    say "lintian: no errors"
}

# check_hardening PACKAGE - the daemon that is in it.
check_hardening() {
    dpkg-deb --extract "$1" "$work/unpacked"
    hardening-check --nocfprotection "$work/unpacked/usr/bin/retryd" >&2 ||
        fail "the daemon lacks some hardening" "it is no package to give away" "which one stands above"
}

# check_twice PACKAGE - another folder, another moment, no compiler's cache: the same bytes.
check_twice() {
    local elsewhere=$work/elsewhere/retryd second
    copy_sources "$elsewhere"
    CCACHE_DISABLE=1 build_package "$elsewhere" "$elsewhere/build/second"
    second=$(echo "$elsewhere"/build/second/retryd_*.deb)
    if ! cmp "$1" "$second"; then
        diffoscope "$1" "$second" >&2 || true
        fail "built twice, $(basename "$1") is not the same" "nobody can verify it by building it" \
            "what differs stands above"
    fi
    say "built twice, in two folders: the same $(stat --format %s "$1") bytes"
}

# write_sbom PACKAGE - beside it, PACKAGE.spdx.json; after check_hardening, which unpacks the daemon.
write_sbom() {
    "$project/packaging/sbom.py" "$1" "$work/unpacked/usr/bin/retryd" >"${1%.deb}.spdx.json" ||
        fail "no list of what is in $1 could be written" "nobody can tell which libraries it needs" \
            "read Python's words above"
    say "$(grep -c '"SPDXID"' "${1%.deb}.spdx.json") entries in $(basename "${1%.deb}").spdx.json"
}
