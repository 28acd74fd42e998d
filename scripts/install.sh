#!/bin/sh
# Installs quorum: from a release without compiling, or from its source.
#
#   curl -fsSL RELEASE/install.sh | sh
#   sh scripts/install.sh --release URL [--sha256 HEX] [--target TRIPLE] [--to DIR]
#   sh scripts/install.sh --source DIR [--to DIR]
#
# --release URL    the folder with the archives and SHA256SUMS; also QUORUM_RELEASE_URL. The script that a release holds
#                  knows its own.
# --sha256 HEX     what the archive must have instead of what SHA256SUMS says: a pipeline that holds it trusts no server
# --target TRIPLE  another build than the one for this machine, such as x86_64-unknown-linux-gnu
# --source DIR     build what lies in this folder, with cargo
# --to DIR         where `quorum` is put [default: ~/.local/bin]
#
# Nothing is put there before everything was checked, and what was downloaded never stays behind.
set -eu

# The scripts that are part of a release name its folder here.
release_of_this_script=

fail() {
  echo "install.sh: error: $1" >&2
  shift
  for line in "$@"; do echo "  $line" >&2; done
  exit 1
}

usage() {
  sed -n '2,/^set /p' "$0" 2>/dev/null | sed -n 's/^# \{0,1\}//p'
}

# The build for this machine. On Linux the static one, which asks for no libc.
target_of_this_machine() {
  case "$(uname -m)" in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) fail "there is no build for the processor $(uname -m)" "build from the source: --source DIR" ;;
  esac
  case "$(uname -s)" in
    Linux) echo "$cpu-unknown-linux-musl" ;;
    Darwin) echo "$cpu-apple-darwin" ;;
    *) fail "there is no build for $(uname -s)" "build from the source: --source DIR" ;;
  esac
}

# download URL FILE
download() {
  if command -v curl > /dev/null 2>&1; then
    curl --fail --silent --show-error --location --retry 2 --output "$2" "$1" >&2
  elif command -v wget > /dev/null 2>&1; then
    # Only GNU's wget tries again by itself, and 20 times if it is not told otherwise.
    if wget --version > /dev/null 2>&1; then wget --no-verbose --tries=3 -O "$2" "$1" >&2; else wget -q -O "$2" "$1" >&2; fi
  else
    fail "neither curl nor wget is there" "install one of them"
  fi || fail "cannot download $1" "is --release the folder with the archives of a release?"
}

sha256_of() {
  if command -v sha256sum > /dev/null 2>&1; then sha256sum < "$1"
  elif command -v shasum > /dev/null 2>&1; then shasum -a 256 < "$1"
  elif command -v openssl > /dev/null 2>&1; then openssl dgst -sha256 -r < "$1"
  else fail "no program can compute a SHA-256" "install sha256sum, shasum or openssl"; fi | cut -d ' ' -f 1
}

# Leaves the program in $scratch/quorum.
from_release() {
  test -n "$target" || target=$(target_of_this_machine)
  archive=quorum-$target.tar.gz
  wanted=$sha256
  if test -z "$wanted"; then
    download "$release/SHA256SUMS" "$scratch/SHA256SUMS"
    wanted=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
    test -n "$wanted" || fail "$release/SHA256SUMS does not name $archive" "this release has no build for $target"
  fi
  download "$release/$archive" "$scratch/$archive"
  found=$(sha256_of "$scratch/$archive")
  test "$found" = "$wanted" ||
    fail "the checksum of $archive is wrong, so it is not installed" "wanted $wanted" "found  $found" \
      "it was changed or only half downloaded: try again, and tell the owner of the release if it stays so"
  tar -xzf "$scratch/$archive" -C "$scratch" || fail "$archive cannot be unpacked: it is damaged"
  mv "$scratch/quorum-$target/quorum" "$scratch/quorum" 2> /dev/null ||
    fail "$archive does not hold quorum-$target/quorum"
}

# Leaves the program in $scratch/quorum.
from_source() {
  test -f "$source/Cargo.toml" || fail "there is no Cargo.toml in $source"
  command -v cargo > /dev/null 2>&1 || fail "cargo is missing" "install Rust, or name a release: --release URL"
  cargo install --locked --path "$source" --root "$scratch/built" >&2 || fail "quorum cannot be built from $source"
  mv "$scratch/built/bin/quorum" "$scratch/quorum"
}

main() {
  release=${QUORUM_RELEASE_URL:-$release_of_this_script} sha256='' target='' source='' to=''
  while test $# -gt 0; do
    case "$1" in
      -h | --help) usage; exit 0 ;;
      --release | --sha256 | --target | --source | --to) test $# -gt 1 || fail "$1 needs a value" ;;
      *) fail "there is no option $1" "see the first lines of this script" ;;
    esac
    case "$1" in
      --release) release=$2 ;;
      --sha256) sha256=$2 ;;
      --target) target=$2 ;;
      --source) source=$2 ;;
      --to) to=$2 ;;
    esac
    shift 2
  done
  release=${release%/}
  test -n "$release$source" || fail "there is nothing to install from" \
    "name a release: --release URL or QUORUM_RELEASE_URL" "or a folder with the source: --source DIR"
  test -z "$source" || test -z "$sha256" || fail "--sha256 is the checksum of a release, and --source builds from a folder" \
    "leave one of them out"
  test -n "$to" || to=${HOME:?is not set, so --to DIR is needed}/.local/bin

  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  if test -n "$source"; then from_source; else from_release; fi
  chmod 755 "$scratch/quorum"
  version=$("$scratch/quorum" --version) || fail "the program does not start on this machine" "try another --target"

  mkdir -p "$to"
  # A program that runs meanwhile keeps its file, and nobody ever sees half of the new one.
  new=$to/.quorum.new.$$
  trap 'rm -rf "$scratch" "$new"' EXIT
  cp "$scratch/quorum" "$new"
  mv -f "$new" "$to/quorum"
  echo "installed $version in $to"
  case ":$PATH:" in
    *":$to:"*) ;;
    *) echo "  it is not on the PATH yet: export PATH=\"$to:\$PATH\"" ;;
  esac
}

# The last line: a script that was only half downloaded does nothing.
main "$@"
