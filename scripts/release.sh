#!/bin/sh
# Makes the files of a release, which `install.sh` reads.
#
#   sh scripts/release.sh archive BINARY TRIPLE DIR   one archive: the program, its pages, its completions
#   sh scripts/release.sh publish URL DIR             what belongs to all archives of DIR: the checksums, and an
#                                                     install.sh that knows the folder URL where they will lie
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

archive() {
  name=quorum-$2 to=$3
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  folder=$scratch/$name
  mkdir -p "$folder/completions"
  cp "$1" "$folder/quorum"
  chmod 755 "$folder/quorum"
  cp "$here/README.md" "$here/CHANGELOG.md" "$here/LICENSE-MIT" "$here/LICENSE-APACHE" "$folder/"
  for shell in bash zsh fish; do
    "$folder/quorum" completions "$shell" > "$folder/completions/quorum.$shell"
  done
  if "$folder/quorum" man --help > /dev/null 2>&1; then
    mkdir "$folder/man"
    "$folder/quorum" man --dir "$folder/man"
  fi
  mkdir -p "$to"
  tar -czf "$to/$name.tar.gz" -C "$scratch" "$name"
}

publish() {
  url=$1
  cd "$2"
  sed "s|^release_of_this_script=.*|release_of_this_script=$url|" "$here/scripts/install.sh" > install.sh
  if command -v sha256sum > /dev/null 2>&1; then sha256sum -- *.tar.gz install.sh; else shasum -a 256 -- *.tar.gz install.sh; fi > SHA256SUMS
}

case "${1:-}-$#" in
  archive-4 | publish-3) "$@" ;;
  *)
    sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p' >&2
    exit 2
    ;;
esac
