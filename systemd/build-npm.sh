#!/usr/bin/env bash
# Builds postern-VERSION.tgz, the npm package, in the output folder, from a checkout after `npm ci`. What runs is bundled:
# it depends on the two packages with native code alone, so `npm install` brings few files and needs no compiler on Node
# 22.14 and newer. The same commit gives the same octets.
# Usage: systemd/build-npm.sh [output folder]
set -euo pipefail
umask 022
out=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/package"
tar -c --exclude=node_modules bin config systemd README.md LICENSE | tar -x -C "$work/package"
node systemd/release/parts.mjs node "$(node -p process.arch)" "$work/node"
"$work/node" systemd/bundle/bundle.mjs "$work/package/dist/run" --npm
"$work/node" -e '
  const { readFileSync, writeFileSync } = require("node:fs")
  const [version, file] = process.argv.slice(1)
  const { devDependencies, tap, allowScripts, scripts, dependencies, ...about } = JSON.parse(readFileSync("package.json", "utf8"))
  const { bcrypt } = dependencies
  const made = { ...about, version, scripts: { install: scripts.install }, dependencies: { bcrypt } }
  writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`)' "$(node systemd/release/version.mjs)" "$work/package/package.json"
cd "$work/package"
npm pack --silent --ignore-scripts --pack-destination "$work" >"$work/name"
# not by npm's own gzip, which makes other octets on other processors
gzip -dc "$work"/*.tgz | gzip -9n >"$out/$(cat "$work/name")"
echo "$out/$(cat "$work/name")"
