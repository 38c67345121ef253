#!/usr/bin/env bash
# Builds the single executable `postern-VERSION-linux-ARCH` in the current folder, from what `npm ci && npm run build`
# left: this very Node with the program inside (Node SEA). It needs nothing else, not even a Node on the target.
# Usage: systemd/build-sea.sh [output folder]
set -euo pipefail
umask 022
out=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."
version=$(node -p 'require("./package.json").version')
made=$out/postern-$version-$(node -p 'process.platform + "-" + process.arch')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

node systemd/bundle/bundle.mjs "$work" --sea
strip --strip-unneeded "$work"/*.node 2>/dev/null || true
node -e '
  const { readdirSync } = require("node:fs")
  const [work] = process.argv.slice(1)
  const assets = readdirSync(work).filter((name) => /^(worker|writer-thread|body-thread|followers-thread)\.js$|\.node$/.test(name))
  console.log(JSON.stringify({
    main: `${work}/postern.cjs`,
    output: `${work}/postern.blob`,
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(assets.map((name) => [name, `${work}/${name}`])),
  }))' "$work" >"$work/sea.json"
node --experimental-sea-config "$work/sea.json" >"$work/sea.log" 2>&1 || { cat "$work/sea.log"; exit 1; }
cp "$(node -p 'process.execPath')" "$work/postern"
chmod 755 "$work/postern"
node_modules/.bin/postject "$work/postern" NODE_SEA_BLOB "$work/postern.blob" \
  --sentinel-fuse NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2 >"$work/postject.log" 2>&1 || { cat "$work/postject.log"; exit 1; }
mv "$work/postern" "$made"
mv "$work/licences.txt" "$made.licences.txt"
echo "$made"
