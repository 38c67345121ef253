#!/usr/bin/env bash
# Builds the single executable `postern-VERSION-linux-ARCH` in the output folder, from a checkout after `npm ci`: the Node
# of parts.json with the program inside (Node SEA). It needs nothing else, not even a Node on the target.
# Usage: systemd/build-sea.sh [output folder] [x64|arm64]
set -euo pipefail
umask 022
out=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."
version=$(node systemd/release/version.mjs)
arch=${2:-$(node -p process.arch)}
made=$out/postern-$version-linux-$arch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the Node that makes the blob must be of the version that will read it
node systemd/release/parts.mjs node "$arch" "$work/postern"
node=$work/postern
if [ "$arch" != "$(node -p process.arch)" ]; then
  node=$work/node
  node systemd/release/parts.mjs node "$(node -p process.arch)" "$node"
fi
"$node" systemd/bundle/bundle.mjs "$work" --sea "$arch"
node -e '
  const { readdirSync } = require("node:fs")
  const [work] = process.argv.slice(1)
  const assets = readdirSync(work).filter((name) => /^(worker|writer-thread|body-thread|followers-thread)\.js$|\.node$/.test(name))
  console.log(JSON.stringify({
    main: "postern.cjs", // the blob keeps this name
    output: "postern.blob",
    disableExperimentalSEAWarning: true,
    // of another architecture than the one that will run it
    useSnapshot: false,
    useCodeCache: false,
    assets: Object.fromEntries(assets.sort().map((name) => [name, name])),
  }))' "$work" >"$work/sea.json"
(cd "$work" && "$node" --experimental-sea-config sea.json) >"$work/sea.log" 2>&1 || { cat "$work/sea.log"; exit 1; }
node_modules/.bin/postject "$work/postern" NODE_SEA_BLOB "$work/postern.blob" \
  --sentinel-fuse NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2 >"$work/postject.log" 2>&1 || { cat "$work/postject.log"; exit 1; }
mv "$work/postern" "$made"
{ cat "$work/licences.txt"; printf '%s\n' "$(printf -- '-%.0s' {1..80})" "node"; node systemd/release/parts.mjs licence "$arch"; } >"$made.licences.txt"
echo "$made"
