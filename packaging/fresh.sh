#!/bin/sh
# Runs README's commands on systems that have nothing: debootstrap makes a bare root of each, and every block of
# README.md that has no language runs in it as root, as printed, in the tree of the commit that is checked out.
# What the blocks installed is then used (try_installed.sh). Prints a line a test: ok, not ok or skip; a system whose
# mirror cannot be reached is skipped.
#
#   sh packaging/fresh.sh FOLDER [SUITE]...      FOLDER: for the roots (3 to 8 GB each) and logs; all suites below
#
# BLOCKS   which blocks run, from 1; default all. README's are quickstart, tests, package, install.
# STAGES   the stages of tests/run.sh; default all of them, which takes half an hour of two cores
# KEEP     1: roots are not removed, and used again
# MIRROR_debian, MIRROR_ubuntu: where packages come from; default: what apt uses here, if it is the same distribution,
# else what debootstrap knows. Proxies of apt and the configuration of pip are those of this machine.
#
# Needs root and debootstrap; for Ubuntu, its keyring in /usr/share/keyrings.
set -u
source=$(cd "$(dirname "$0")/.." && pwd) || exit 2
# Mounts are this process's own, and end with it.
if [ "$(id -u)" = 0 ] && [ -z "${FRESH_UNSHARED:-}" ] && unshare --mount true 2>/dev/null; then
    FRESH_UNSHARED=1 exec unshare --mount sh "$0" "$@"
fi
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
shift
suites=${*:-bookworm trixie noble}
export LC_ALL=C
if [ -z "${FRESH_UNSHARED:-}" ] || ! command -v debootstrap >/dev/null 2>&1; then
    echo "skip fresh: needs root, namespaces for mounts, and debootstrap"
    exit 0
fi
failed=0
no() { # what, log
    tail -n 40 "$2" | sed 's/^/    /'
    echo "not ok fresh: $1; log: $2"
    failed=1
}

mirror_for() { # distribution
    eval "mirror=\${MIRROR_$1:-}"
    [ -n "$mirror" ] || [ "$(. /etc/os-release && echo "$ID")" != "$1" ] ||
        mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Identifier: Packages' |
            awk -v suite="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$1 == suite && $2 == "main" { print $3; exit }')
}
make_root() { # suite root
    case $1 in
    noble | jammy) distribution=ubuntu components=main,universe script=gutsy ;;
    *) distribution=debian components=main script=sid ;;
    esac
    mirror_for $distribution
    # Names of suites that this debootstrap is too old for have the script of their family.
    [ ! -e "/usr/share/debootstrap/scripts/$1" ] || script=$1
    keyring=/usr/share/keyrings/$distribution-archive-keyring.gpg
    [ -e "$keyring" ] || {
        echo "no file '$keyring'"
        return 1
    }
    if [ -n "$mirror" ] || [ "$script" = "$1" ]; then
        debootstrap --variant=minbase --components=$components --keyring="$keyring" "$1" "$2" ${mirror:+"$mirror"} \
            ${mirror:+"/usr/share/debootstrap/scripts/$script"}
    else
        debootstrap --variant=minbase --components=$components --keyring="$keyring" "$1" "$2" \
            "$(sed -n 's/^default_mirror *//p' "/usr/share/debootstrap/scripts/$script")" "/usr/share/debootstrap/scripts/$script"
    fi
}

# The network as it is here: names, apt's proxies, pip's configuration and the certificates that it trusts.
carry_network() { # root
    cp -L /etc/resolv.conf "$1/etc/resolv.conf"
    [ -s "$1/etc/hosts" ] || printf '127.0.0.1 localhost\n::1 localhost\n' >"$1/etc/hosts" # as an installer leaves it
    apt-config dump | grep -i '^Acquire::[a-z:]*proxy' >"$1/etc/apt/apt.conf.d/99machine"
    mkdir -p "$1/opt/pip"
    python3 -m pip config list 2>/dev/null | while IFS= read -r line; do
        name=${line%%=*} value=${line#*=}
        value=${value#?} value=${value%?} name=${name##*[:.]}
        case $name in
        cert) cp -L "$value" "$1/opt/pip/cert.pem" && echo "cert = /opt/pip/cert.pem" ;;
        find-links) cp -rL "$value" "$1/opt/pip/wheels" 2>/dev/null && echo "find-links = /opt/pip/wheels" ;;
        index-url | extra-index-url | trusted-host | proxy | default-timeout | timeout) echo "$name = $value" ;;
        esac
    done | sort -u | sed '1i [global]' >"$1/etc/pip.conf"
}
inside() { # root command...
    root=$1
    shift
    chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
}
# As it would be typed, in README's folder.
run() { # root block
    inside "$1" sh -c "cd /srv/rankwood && $2"
}

# N.block: README's blocks without a language, in order.
rm -f "$folder"/*.block
awk -v folder="$folder" '
/^```/ { if (inside) inside = 0; else if ($0 == "```") { inside = 1; n++ } else inside = 2; next }
inside == 1 { print >(folder "/" n ".block") }' "$source/README.md"
[ "$(cat "$folder/1.block" 2>/dev/null)" = "sh examples/quickstart.sh" ] && [ "$(cat "$folder/2.block")" = "sh tests/run.sh" ] ||
    { echo "not ok fresh: README begins with other blocks" && exit 1; }

for suite in $suites; do
    root=$folder/$suite
    if [ ! -e "$root/complete" ]; then
        rm -rf "$root"
        if ! make_root "$suite" "$root" >"$folder/$suite.root.log" 2>&1; then
            tail -n 2 "$folder/$suite.root.log" | sed 's/^/    /'
            echo "skip fresh: $suite: no root can be made here"
            rm -rf "$root"
            continue
        fi
        : >"$root/complete"
    fi
    mount -t proc proc "$root/proc" && mount -t tmpfs tmpfs "$root/dev/shm" && mount -t devpts devpts "$root/dev/pts" || exit 2
    carry_network "$root"
    rm -rf "$root/srv/rankwood" && mkdir "$root/srv/rankwood" && git -C "$source" archive HEAD | tar -x -C "$root/srv/rankwood" || exit 2
    n=1
    while [ -e "$folder/$n.block" ]; do
        case " ${BLOCKS:-$n} " in
        *" $n "*) ;;
        *)
            echo "skip fresh: $suite: $(cat "$folder/$n.block"): not in BLOCKS"
            n=$((n + 1))
            continue
            ;;
        esac
        block=$(cat "$folder/$n.block") log=$folder/$suite.$n.log at=$(date +%s)
        [ "$block" != "sh tests/run.sh" ] || block="$block${STAGES:+ $STAGES}"
        if run "$root" "$block" >"$log" 2>&1; then
            echo "ok fresh: $suite: $block ($(($(date +%s) - at)) s)"
            case $block in
            "sh tests/run.sh"*) tail -n 1 "$log" | sed 's/^/    /' ;;
            *"examples/quickstart.sh") grep '^ndcg@10 .*\.' "$log" >/dev/null || no "$suite: quickstart measures no NDCG" "$log" ;;
            *"meson install"*)
                run "$root" "PATH=/srv/rankwood/build-venv/bin:\$PATH sh packaging/try_installed.sh" >"$log" 2>&1 ||
                    no "$suite: what was installed does not work" "$log"
                ;;
            esac
        else
            no "$suite: $block" "$log"
            grep '^  not ok' "$log" | head -n 20
        fi
        n=$((n + 1))
    done
    umount "$root/dev/pts" "$root/dev/shm" "$root/proc"
    [ "${KEEP:-0}" = 1 ] || rm -rf "$root"
done
exit $failed
