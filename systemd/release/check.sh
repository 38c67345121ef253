#!/usr/bin/env bash
# Makes a whole release of what is committed, in a clean clone, and tries it: made once more in another folder it is the same
# octets, and the images of both architectures run as containers (test/e2e/19-*). Its Debian packages are not compressed:
# xz takes most of the time of a release. What held is written into systemd/release/checked: a digest
# of the files of packaging and of the versions of other people's packages, to be committed. While it fits and no tag is on
# the commit, nothing is done; it needs no history of the repository. --force does it all the same, --changed only says
# whether there is something to do (exit code 1: there is not).
#   systemd/release/check.sh [--force | --changed]
# Needs a checkout after `npm ci` that is compiled (`npm run build`), and root for the containers. Exit codes: 0 it holds or
# nothing changed, 69 a part can not be had here, 70 it does not hold.
set -euo pipefail
cd "$(dirname "$0")/../.."
paths=(systemd bin config/container config/postern.yaml
  test/e2e/19-release.test.ts test/e2e/19-image.test.ts test/e2e/19-image-arm64.test.ts test/parts/container.ts)
# our own version is no change of packaging
lists() { git show "HEAD:$1" | node -e '
  const json = JSON.parse(require("node:fs").readFileSync(0, "utf8"))
  delete json.version
  delete json.packages?.[""].version
  console.log(JSON.stringify(json))'; }
digest=$({ git ls-tree -r HEAD -- "${paths[@]}" | grep -v 'systemd/release/checked$'; lists package.json; lists package-lock.json; } |
  sha256sum | cut -d' ' -f1)
tags=$(git tag --points-at HEAD --list 'v*')
if [ "${1:-}" != --force ] && [ -z "$tags" ] && [ "$(cat systemd/release/checked 2>/dev/null)" = "$digest" ]; then
  echo "release check: no file of packaging and no version of a package changed since it held, and no tag is here"
  [ "${1:-}" = --changed ] && exit 1
  exit 0
fi
if [ "${1:-}" = --changed ]; then
  echo "release check: ${tags:-a file of packaging or a version of a package changed since it held}"
  exit 0
fi
export DPKG_DEB_COMPRESSOR_TYPE=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
began=$SECONDS
say() { echo "release check, $((SECONDS - began)) s: $*"; }

if [ ! -x /usr/bin/qemu-aarch64-static ] && [ "$(id -u)" = 0 ]; then
  { apt-get update && DEBIAN_FRONTEND=noninteractive timeout 180 apt-get install -y --no-install-recommends qemu-user-static; } \
    >"$work/apt.log" 2>&1 </dev/null ||
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
release a-folder-of-another-name
sums() { cat "$work/$1/dist/release/SHA256SUMS"; }
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
if [ "$(cat systemd/release/checked 2>/dev/null)" != "$digest" ]; then
  echo "$digest" >systemd/release/checked
  say "commit systemd/release/checked"
fi
