#!/usr/bin/env bash
# Builds postern_VERSION_ARCH.deb in the output folder, from a checkout after `npm ci`: the program in a few files with a
# Node of its own (no node_modules, no compiler and no Node on the target), its native modules, the units, the manual
# pages and the completion. It needs glibc 2.34: Debian 12, Ubuntu 22.04 and newer. Installing makes the user and the
# pepper and starts nothing:
# configure first, then
#   systemctl enable --now postern
# An upgrade restarts a running daemon. Removing keeps /etc/postern and /var/lib/postern, purging removes both.
# The same commit gives the same octets. DPKG_DEB_COMPRESSOR_TYPE=none is quick, for trials.
# Usage: systemd/build-deb.sh [output folder] [amd64|arm64]
set -euo pipefail
umask 022
top=$(cd "$(dirname "$0")/.." && pwd)
out=$(cd "${1:-.}" && pwd)
cd "$top"
version=$(node systemd/release/version.mjs --deb)
arch=${2:-$(dpkg --print-architecture)}
case $arch in
  amd64) cpu=x64 ;;
  arm64) cpu=arm64 ;;
  *) echo "build-deb.sh: there is no Node to put in for $arch, only for amd64 and arm64" >&2; exit 64 ;;
esac
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH LC_ALL=C
maintainer="${DEBFULLNAME:-Postern maintainers} <${DEBEMAIL:-maintainers@postern.test}>"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
mkdir -m 755 "$stage"

lib=$stage/usr/lib/postern
doc=$stage/usr/share/doc/postern
mkdir -p "$lib/bin" "$doc" "$stage/usr/bin" "$stage/DEBIAN"

# the program
node systemd/release/parts.mjs node "$cpu" "$lib/bin/node"
# what builds is that Node, too, so that the builder's own makes no difference
here=$(node -p process.arch)
node=$lib/bin/node
if [ "$cpu" != "$here" ]; then
  node=$work/node
  node systemd/release/parts.mjs node "$here" "$node"
fi
"$node" systemd/bundle/bundle.mjs "$lib" --package "$cpu"
chmod 644 "$lib"/*.*
sed -i '1i #!/usr/lib/postern/bin/node --max-semi-space-size=8' "$lib/postern.js"
chmod 755 "$lib/postern.js"
ln -s ../lib/postern/postern.js "$stage/usr/bin/postern"
gzip -9n <"$lib/licences.txt" >"$doc/licences.gz"
rm "$lib/licences.txt"
node systemd/release/parts.mjs licence "$cpu" | gzip -9n >"$doc/node-licence.gz"

# the system's side
install -D -m 640 config/postern.yaml "$stage/etc/postern/postern.yaml"
sed -i 's|^#data_dir: data$|data_dir: /var/lib/postern|; s|^#\(pepper_file: /etc/postern/pepper\)$|\1|' "$stage/etc/postern/postern.yaml"
[ "$(grep -cxE 'data_dir: /var/lib/postern|pepper_file: /etc/postern/pepper' "$stage/etc/postern/postern.yaml")" = 2 ]
install -D -m 644 -t "$stage/usr/lib/systemd/system" systemd/postern.service systemd/postern.socket
install -D -m 644 systemd/sysusers.d/postern.conf "$stage/usr/lib/sysusers.d/postern.conf"
install -D -m 644 systemd/tmpfiles.d/postern.conf "$stage/usr/lib/tmpfiles.d/postern.conf"
mkdir -p "$stage/usr/share/man/man1" "$stage/usr/share/man/man5" "$stage/usr/share/bash-completion/completions"
# the pages say the same for each architecture; a program of another one can not be run here
program=$lib
if [ "$cpu" != "$here" ]; then
  program=$work/program
  "$node" systemd/bundle/bundle.mjs "$program" --package "$here"
fi
postern() { "$node" "$program/postern.js" "$@"; }
postern man | gzip -9n >"$stage/usr/share/man/man1/postern.1.gz"
postern man postern.yaml | gzip -9n >"$stage/usr/share/man/man5/postern.yaml.5.gz"
postern completion >"$stage/usr/share/bash-completion/completions/postern"
gzip -9n <README.md >"$doc/README.md.gz"
for paper in config/*.md; do gzip -9n <"$paper" >"$doc/config-$(basename "$paper").gz"; done
mkdir "$doc/container"
for file in config/container/*; do gzip -9n <"$file" >"$doc/container/$(basename "$file").gz"; done
[ -d systemd/examples ] && cp -r systemd/examples "$doc/examples"
cat >"$doc/copyright" <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: postern

Files: *
Copyright: $(sed -n 's/^Copyright (c) //p' LICENSE | head -1)
License: Expat

Files: usr/lib/postern/*
Copyright: the authors of the packages within, named in licences.gz
License: Expat
Comment: each package, its licence and the text of it stand in licences.gz.

Files: usr/lib/postern/bin/node
Copyright: Node.js contributors, and the authors of what is in it
License: Node
 The licence of Node.js and of all that is in it stands in node-licence.gz.

License: Expat
$(sed -n '/^Permission is hereby/,$p' LICENSE | sed 's/^$/./; s/^/ /')
TEXT
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
gzip -9n >"$doc/changelog.gz" <<TEXT
postern ($version) unstable; urgency=medium

  * See the history of the project.

 -- $maintainer  $date
TEXT

# what lintian would have otherwise: Node and its SQLite driver go along as their makers publish them
install -d "$stage/usr/share/lintian/overrides"
cat >"$stage/usr/share/lintian/overrides/postern" <<'TEXT'
postern: missing-dep-for-interpreter /usr/lib/postern/bin/node *
postern: wrong-path-for-interpreter /usr/lib/postern/bin/node *
postern: unstripped-binary-or-object *
TEXT
cat >"$stage/DEBIAN/control" <<TEXT
Package: postern
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(find "$stage" -type f ! -path '*/DEBIAN/*' -printf '%s\n' | awk '{n += int(($1 + 1023) / 1024)} END {print n}')
Depends: libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 11), systemd | systemd-standalone-sysusers
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
# The pepper is made once. One in the data folder moves out, so that a copy of that folder proves no key.
# A database without its pepper gets no new one: no key would work, and nobody would know why.
make_pepper() {
  pepper=$DPKG_ROOT/etc/postern/pepper
  data=$DPKG_ROOT/var/lib/postern
  [ ! -e "$pepper" ] || return 0
  if [ -s "$data/pepper" ]; then
    (umask 077 && cat "$data/pepper" >"$pepper.new")
    mv "$pepper.new" "$pepper"
    rm "$data/pepper"
  elif [ -e "$data/postern.db" ]; then
    echo "postern: $data/postern.db is there, but its pepper is not; put it to $pepper" >&2
  else
    (umask 077 && head -c 32 /dev/urandom >"$pepper.new")
    mv "$pepper.new" "$pepper"
  fi
}
if [ "$1" = configure ]; then
  systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} postern.conf
  make_pepper
  systemd-tmpfiles ${DPKG_ROOT:+--root="$DPKG_ROOT"} --create postern.conf || true
  if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload
    # an upgrade: what ran goes on with the new version
    [ -z "$2" ] || systemctl try-restart postern.service
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
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
# one thread: what xz makes with several is cut otherwise
export DPKG_DEB_COMPRESSOR_TYPE=${DPKG_DEB_COMPRESSOR_TYPE:-xz} DPKG_DEB_THREADS_MAX=1
dpkg-deb --root-owner-group --build "$stage" "$out/postern_${version}_$arch.deb"
