#!/usr/bin/env bash
# Brings both SQLite drivers into the folder OUT, as old/ and new/, whatever Node builds (see src/store/sqlite/driver.ts):
# better-sqlite3 13, whose binary fits every Node from 22.14 on, and 12, compiled for Node 20.
# Each is taken from the checkout where npm has put it there, else from the npm registry.
# Usage: systemd/bundle/drivers.sh OUT
set -euo pipefail
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
export npm_config_audit=false npm_config_fund=false npm_config_loglevel=error

mkdir -p "$out/new" "$out/old"
if [ -d node_modules/better-sqlite3/prebuilds ]; then
  ln -s "$PWD/node_modules" "$out/new/node_modules"
else
  version=$(node -p 'require("./package.json").optionalDependencies["better-sqlite3"]')
  # by force: npm leaves out what this Node can not run
  npm install --prefix "$out/new" --no-save --force --ignore-scripts "better-sqlite3@$version" >&2
fi

cp bin/native/node20/package*.json "$out/old"
if grep -qs node_register_module_v115 bin/native/node20/node_modules/better-sqlite3/build/Release/better_sqlite3.node; then
  ln -s "$PWD/bin/native/node20/node_modules" "$out/old/node_modules"
else
  mkdir "$out/node"
  npm install --prefix "$out/node" --no-save node@20 >&2
  bin=$out/node/node_modules/node/bin
  headers=$(find "$out/node" -path '*/include/node/node_api.h' | head -1)
  PATH=$bin:$PATH npm_config_nodedir=${headers%/include/node/node_api.h} npm ci --prefix "$out/old" >&2
fi
