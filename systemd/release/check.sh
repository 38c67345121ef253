#!/usr/bin/env bash
# Makes a whole release of what is committed, in a clean clone, and tries it: made once more in another folder its images,
# executables and npm package are the same octets, and the images of both architectures run as containers (test/e2e/19-*;
# the tests compare the Debian packages, without compression). It does nothing where no file of packaging, no
# version of another's package and no tag changed since it passed on this machine; --force does it all the same.
#   systemd/release/check.sh [--force]
# Needs a checkout after `npm ci` that is compiled (`npm run build`), and root for the containers. Exit codes: 0 it holds or
# nothing changed, 69 a part can not be had here, 70 it does not hold.
set -euo pipefail
cd "$(dirname "$0")/../.."
kept=${POSTERN_PARTS:-$HOME/.cache/postern}
mkdir -p "$kept"
paths=(systemd bin config/container config/postern.yaml package.json package-lock.json
  test/e2e/19-release.test.ts test/e2e/19-image.test.ts test/parts/container.ts)
now=$({ git ls-files --stage -- "${paths[@]}"; git tag --points-at HEAD --list 'v*'; } | sha256sum | cut -d' ' -f1)
if [ "${1:-}" != --force ] && [ "$(cat "$kept/release-checked" 2>/dev/null)" = "$now" ]; then
  echo "release check: no file of packaging and no tag changed since it passed here"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
began=$SECONDS
say() { echo "release check, $((SECONDS - began)) s: $*"; }

if [ ! -x /usr/bin/qemu-aarch64-static ] && [ "$(id -u)" = 0 ]; then
  { apt-get update && apt-get install -y --no-install-recommends qemu-user-static; } >"$work/apt.log" 2>&1 ||
    say "apt could not install qemu-user-static: the image for arm64 is not run"
fi
clone() {
  git clone --quiet . "$work/$1"
  cp -al node_modules "$work/$1/node_modules" 2>/dev/null || cp -a node_modules "$work/$1/node_modules"
}
release() { # FOLDER WORDS: a part that can not be had is no fault of the tree
  local folder=$1 code=0
  shift
  (cd "$work/$folder" && npm run --silent release -- --unsigned --old-pictures "$@") >"$work/log" 2>&1 || code=$?
  if [ $code -ne 0 ]; then
    tail -20 "$work/log"
    [ $code = 69 ] && exit 69
    exit 70
  fi
}

clone one
release one
cat "$work/log"
say "made"
clone a-folder-of-another-name
DPKG_DEB_COMPRESSOR_TYPE=none release a-folder-of-another-name
sums() { grep -v '\.deb$' "$work/$1/dist/release/SHA256SUMS"; }
if ! diff <(sums one) <(sums a-folder-of-another-name); then
  say "made once more, these are other octets"
  exit 70
fi
say "made once more, it is the same octets: $(sums one | wc -l) files"
rm -rf "$work/a-folder-of-another-name"

if ! POSTERN_RELEASE=$work/one/dist/release node dist/test/run/main.js --tap "$work/tap" e2e/19-image >"$work/log" 2>&1; then
  grep -aE '^\s*not ok' -A 25 "$work/tap" | head -150
  tail -20 "$work/log"
  say "the images do not run as they must"
  exit 70
fi
grep -aE '^ *# [0-9]|SKIP|no .* here' "$work/tap" || true
say "it holds"
echo "$now" >"$kept/release-checked"
