#!/usr/bin/env bash
# Builds postern_VERSION_ARCH.deb in the current folder, from what `npm ci && npm run build` left:
# the compiled daemon, the packages it needs at run time (no compiler on the target), the units,
# the manual page and the completion. Installing starts nothing: configure first, then
#   systemctl enable --now postern
# An upgrade restarts a running daemon; removing keeps /var/lib/postern, purging removes it.
# Usage: systemd/build-deb.sh [output folder]
set -euo pipefail
umask 022
top=$(cd "$(dirname "$0")/.." && pwd)
out=$(cd "${1:-.}" && pwd)
cd "$top"
version=$(node -p 'require("./package.json").version')
arch=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-Postern maintainers} <${DEBEMAIL:-maintainers@postern.test}>"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"

lib=$stage/usr/lib/postern
doc=$stage/usr/share/doc/postern
mkdir -p "$lib" "$doc" "$stage/usr/bin" "$stage/DEBIAN"

# the program
mkdir -p "$lib/bin" "$lib/dist"
install -m 755 bin/postern "$lib/bin/postern"
(cd dist && find src -name '*.js' -print0 | xargs -0 cp --parents -t "$lib/dist")
node -e '
  const { name, version, type } = require("./package.json")
  console.log(JSON.stringify({ name, version, type }))' >"$lib/package.json"
ln -s ../lib/postern/bin/postern "$stage/usr/bin/postern"

# packages of the run time, without sources, tests, types and other platforms
node -e '
  const { readFileSync } = require("node:fs")
  const { dirname, join } = require("node:path")
  const BUILD_ONLY = new Set(["prebuild-install", "node-addon-api"])
  const found = new Set()
  const find = (name, from) => {
    for (let dir = from; ; dir = dirname(dir)) {
      const at = join(dir, "node_modules", name)
      try { readFileSync(join(at, "package.json")); return at } catch {}
      if (dir === dirname(dir)) return null
    }
  }
  const walk = (dir) => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"))
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const at = BUILD_ONLY.has(name) ? null : find(name, dir)
      if (at === null || found.has(at)) continue
      found.add(at)
      walk(at)
    }
  }
  walk(process.cwd())
  for (const at of found) console.log(at.slice(process.cwd().length + 1))' |
  while read -r package; do
    find "$package" -mindepth 1 -name node_modules -prune -o -type f \
      \( -name '*.js' -o -name '*.cjs' -o -name '*.mjs' -o -name '*.json' -o -name '*.node' -o -iname 'licen[sc]e*' \) -print
  done |
  grep -vE '^node_modules/(@[^/]+/)?[^/]+/(test|tests|__tests__|examples?|docs?|benchmarks?|\.github)/|better-sqlite3/(deps|src)/|better-sqlite3/build/(Makefile|config|deps)|test_extension|obj\.target|joi-browser|encoding\.min|/\.[^/]*$|tsconfig|package-lock' |
  grep -vE "bcrypt/prebuilds/(darwin|win32|linux-($(node -p 'process.arch === "x64" ? "arm|arm64" : "x64"')))" |
  tr '\n' '\0' | xargs -0 cp --parents -t "$lib"
find "$lib/node_modules" -name '*.node' -exec strip --strip-unneeded {} + 2>/dev/null || true
find "$lib/node_modules" -name '*.musl.node' -delete
find "$lib" -type f ! -path '*/bin/postern' -exec chmod 644 {} +
find "$stage" -type d -exec chmod 755 {} +

# the system's side
install -D -m 640 config/postern.yaml "$stage/etc/postern/postern.yaml"
sed -i 's|^#data_dir: data$|data_dir: /var/lib/postern|' "$stage/etc/postern/postern.yaml"
grep -q '^data_dir: /var/lib/postern$' "$stage/etc/postern/postern.yaml"
install -D -m 644 -t "$stage/usr/lib/systemd/system" systemd/postern.service systemd/postern.socket
install -D -m 644 systemd/sysusers.d/postern.conf "$stage/usr/lib/sysusers.d/postern.conf"
install -D -m 644 systemd/tmpfiles.d/postern.conf "$stage/usr/lib/tmpfiles.d/postern.conf"
mkdir -p "$stage/usr/share/man/man1" "$stage/usr/share/bash-completion/completions"
"$lib/bin/postern" man | gzip -9n >"$stage/usr/share/man/man1/postern.1.gz"
"$lib/bin/postern" completion >"$stage/usr/share/bash-completion/completions/postern"
gzip -9n <README.md >"$doc/README.md.gz"
[ -d systemd/examples ] && cp -r systemd/examples "$doc/examples"
cat >"$doc/copyright" <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: postern

Files: *
Copyright: $(sed -n 's/^Copyright (c) //p' LICENSE | head -1)
License: Expat

Files: usr/lib/postern/node_modules/*
Copyright: the authors named in the licence file of each package
License: Expat

License: Expat
$(sed -n '/^Permission is hereby/,$p' LICENSE | sed 's/^$/./; s/^/ /')
TEXT
date=$(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")
gzip -9n >"$doc/changelog.gz" <<TEXT
postern ($version) unstable; urgency=medium

  * See the history of the project.

 -- $maintainer  $date
TEXT

cat >"$stage/DEBIAN/control" <<TEXT
Package: postern
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk "$stage" --exclude=DEBIAN | cut -f1)
Depends: nodejs (>= 20.19), libc6, libstdc++6, systemd | systemd-standalone-sysusers
Recommends: ca-certificates
Section: mail
Priority: optional
Homepage: https://postern.invalid
Description: self-hosted gateway for transactional email
 Postern takes mail over an HTTP API and SMTP submission, puts it on disk before
 it says yes, relays it through the mail servers that you already run, and tells
 what became of it, per recipient.
TEXT
echo /etc/postern/postern.yaml >"$stage/DEBIAN/conffiles"
cat >"$stage/DEBIAN/postinst" <<'TEXT'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} postern.conf
  systemd-tmpfiles ${DPKG_ROOT:+--root="$DPKG_ROOT"} --create postern.conf || true
  if [ -z "$DPKG_ROOT" ]; then
    chown root:postern /etc/postern/postern.yaml
    if [ -d /run/systemd/system ]; then
      systemctl --system daemon-reload
      # an upgrade: what ran goes on with the new version
      [ -z "$2" ] || systemctl try-restart postern.service
    fi
  fi
fi
TEXT
cat >"$stage/DEBIAN/prerm" <<'TEXT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now postern.socket postern.service || true
fi
TEXT
cat >"$stage/DEBIAN/postrm" <<'TEXT'
#!/bin/sh
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload || true
fi
if [ "$1" = purge ]; then
  rm -rf "$DPKG_ROOT/var/lib/postern" "$DPKG_ROOT/etc/postern"
  if command -v userdel >/dev/null; then
    userdel ${DPKG_ROOT:+--prefix "$DPKG_ROOT"} postern 2>/dev/null || true
    groupdel ${DPKG_ROOT:+--prefix "$DPKG_ROOT"} postern 2>/dev/null || true
  fi
fi
TEXT
chmod 755 "$stage"/DEBIAN/{postinst,prerm,postrm}
(cd "$stage" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$stage" "$out/postern_${version}_$arch.deb"
