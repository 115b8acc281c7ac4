# shellcheck shell=bash disable=SC2034
# Shared by tools/demo, tools/test and the benchmarks: finding the source, installing what is missing
# (Debian packages), configuring and building. Sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages_build=(gcc libc6-dev meson ninja-build pkg-config python3 libhwloc-dev
    libopenblas-pthread-dev libzstd-dev libmetis-dev libjansson-dev libfyaml-dev librandom123-dev
    libxxhash-dev check)
packages_mpi=(openmpi-bin libopenmpi-dev)
packages_pictures=(gnuplot-nox)
packages_test=(clang clang-format valgrind libglpk-dev libprotobuf-c-dev protobuf-c-compiler)

say() { printf '== %s\n' "$*" >&2; }

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# need PACKAGE...: installs those that are not installed yet.
need() {
    local missing=() package admin=()
    command -v dpkg-query >/dev/null || die "this is no Debian system; install by hand: $*"
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "not root and no sudo; as root: apt-get install ${missing[*]}"
        admin=(sudo)
    fi
    say "installing ${missing[*]}"
    "${admin[@]}" apt-get update -qq
    "${admin[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "${missing[@]}" >/dev/null
}

# configure FOLDER [MESON OPTIONS]: makes the build folder, or checks that it still is one.
configure() {
    local folder=$1
    shift
    if [ -f "$folder/build.ninja" ]; then
        meson configure "$folder" "$@" >/dev/null
    else
        rm -rf "$folder"
        meson setup "$folder" "$root" "$@" >/dev/null || die "meson failed: $folder/meson-logs"
    fi
}
