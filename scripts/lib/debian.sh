# shellcheck shell=bash
# What depends on Debian: which suite has which RabbitMQ, the mirror to use, and the rights that mounting needs.
# Sourced after say.sh.

# suite_of VERSION - the Debian suite whose package is that RabbitMQ.
suite_of() {
    case $1 in
        3.8) echo bullseye ;;
        3.10) echo bookworm ;;
        4.0) echo trixie ;;
        4.3) echo forky ;;
        *) fail "no RabbitMQ '$1' here" "nothing was started" "name one of 3.8, 3.10, 4.0, 4.3" ;;
    esac
}

# codename_of VERSION - the suite of that Debian.
codename_of() {
    case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) fail "retryd does not support a Debian '$1'" "nothing was done" "name one of 12, 13" ;;
    esac
}

# "debian 12", or the name of another system, from /etc/os-release.
debian_system() {
    # shellcheck source=/dev/null
    (. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-without a number}") || echo unknown
}

# The version of this system: 12.
debian_number() {
    local system
    system=$(debian_system)
    echo "${system##* }"
}

# The mirror that this host's apt uses for Debian; empty if there is none, and debootstrap uses its default.
host_mirror() {
    local codename='' uri=''
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
    if [[ -n $codename ]]; then
        # shellcheck disable=SC2016  # apt expands it
        uri=$(apt-get indextargets --format '$(REPO_URI)' \
            'Created-By: Packages' "Release: $codename" 'Component: main' 2>/dev/null |
            grep -m 1 -E '^https?://' || true)
    fi
    echo "$uri"
}

# as_root ARGUMENTS... - runs the calling script again through sudo when it was not started by root.
as_root() {
    umask 022 # what root makes is for its caller to read
    if ((EUID == 0)); then return; fi
    if ! command -v sudo >/dev/null; then
        fail "this needs root, and there is no sudo here" "nothing was done" "run it as root"
    fi
    # Of a program with the rights of another user, such as sudo, glibc takes TMPDIR away before sudo can keep it.
    exec sudo --preserve-env=RETRYD_CACHE,http_proxy,https_proxy ${TMPDIR:+"TMPDIR=$TMPDIR"} -- "$0" "$@"
}

# Sets the array `private` to the command prefix that gives a process a mount namespace of its own. In a plain chroot "/" is
# no mount point, and its propagation cannot be changed: there private_tree keeps mounts from being seen outside.
need_private_mounts() {
    private=(unshare --mount --propagation private)
    if "${private[@]}" true 2>/dev/null; then return; fi
    private=(unshare --mount --propagation unchanged)
    if "${private[@]}" true 2>/dev/null; then return; fi
    fail "this machine does not permit mounting (unshare --mount was refused)" \
        "no private RabbitMQ can be made or started here: it lives in a root file system of its own" \
        "as root, outside of a restricted container; in Docker: docker run --privileged; or ./test -L unit"
}

# private_tree FOLDER - from now on, what is mounted below FOLDER is seen in this mount namespace only.
private_tree() {
    mount --bind "$1" "$1"
    mount --make-rprivate "$1"
}
