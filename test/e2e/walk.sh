#!/usr/bin/env bash
# A new sysadmin's walk: config/OPERATE.md's way of the package, from the .deb to a relayed mail to a restored backup to a
# clean machine again, then its way of the single executable. Both by its own lines, as they stand there.
#   walk.sh DEB EXECUTABLE NODE [overlay|debootstrap]
# Runs in a root of its own: this machine's, with every change kept in memory, or a fresh one of $SUITE, by default this
# machine's; jammy and noble are Ubuntu's, fetched without its keyring where this machine has none. Mounts, processes
# and the network (loopback only) are its own, too; there is no systemd in it, so the unit is started as it says:
# its user, its command, no capability, its credential, and the ports below 1024 by systemd-socket-activate.
# Prints TAP. Needs root; a fresh Debian needs debootstrap and a mirror.
set -euo pipefail
unset NODE_OPTIONS # a test runner's hooks, which write where the daemon's user may not
step=0
ok() { step=$((step + 1)); echo "ok $step - $*"; }
fail() { step=$((step + 1)); echo "not ok $step - $*"; tail -n 25 "$root"/var/log/postern.log "$root"/var/log/postern.{postfix,doctor} "$root/var/log/postfix.log" 2>/dev/null | sed 's/^/# /'; exit 1; }
eventually() { # COMMAND: true within a minute
  for _ in $(seq 300); do if eval "$1" >/dev/null 2>&1; then return 0; fi; sleep 0.2; done
  return 1
}

# outside: a root to walk in; a fresh one needs the network
if [ "${INSIDE:-}" = "" ]; then
  deb=$1 executable=$2 node=$3 kind=${4:-overlay}
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  if [ "$kind" = debootstrap ]; then
    suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")} from=()
    case $suite in
      jammy | noble)
        from=(http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/gutsy)
        [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || set -- --no-check-gpg ;;
      *) set -- ;;
    esac
    DEBIAN_FRONTEND=noninteractive debootstrap --variant=minbase "$@" \
      --include=systemd,libstdc++6,ca-certificates,postfix,curl,openssl,iproute2 \
      "$suite" "$work/fresh" "${from[@]}" >"$work/log" 2>&1 || { tail -5 "$work/log" "$work/fresh/debootstrap/debootstrap.log"; exit 1; }
  fi
  INSIDE=yes unshare --mount --net --pid --fork --kill-child "$0" "$deb" "$executable" "$node" "$kind" "$work"
  exit
fi

deb=$1 executable=$2 node=$3 kind=$4 work=$5
paper=$(dirname "$(readlink -f "$0")")/../../config/OPERATE.md
root=$work/root
mkdir -p "$root"
ip link set lo up
ip address add 127.0.0.2/8 dev lo
if [ "$kind" = debootstrap ]; then
  mount --bind "$work/fresh" "$root"
else
  mount -t tmpfs none "$work/root"
  mkdir "$root/upper" "$root/temporary" "$root/whole"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/temporary" "$root/whole"
  root=$root/whole
fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs none "$root/run"
mount -t tmpfs none "$root/tmp"
mkdir "$root/packages"
# the paper calls the package by the release's name
cp "$deb" "$root/packages/$(grep -oE 'postern_[^ ]+_amd64\.deb' "$paper" | head -1)"
cp "$executable" "$root/packages/"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
in_root() { chroot "$root" "$@"; }
# as the sysadmin is told to: sudo -u postern postern ...
postern() { in_root setpriv --reuid=postern --regid=postern --clear-groups -- postern "$@"; }

# the lines of the paper's block that begins so, with our mail server for its example
lines_of() {
  awk -v begin="$1" '/^```/ { inside = !inside && /^```sh$/; fresh = inside; next }
    fresh { wanted = index($0, begin) == 1; fresh = 0 } inside && wanted' "$paper" |
    sed -E 's|gateway@mta1.example.com:587\?tls=verify&password_file=[^'"']*"'|127.0.0.2:2600?tls=none|'
}
# what stands for the person and for systemd: sudo becomes that user, an editor changes three lines, systemctl takes note
mkdir "$root/packages/bin"
cat >"$root/packages/bin/sudo" <<'TEXT'
#!/bin/sh
[ "$1" = -u ] || exec "$@"
user=$2
shift 2
exec setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
TEXT
cat >"$root/packages/bin/sudoedit" <<'TEXT'
#!/bin/sh
exec sed -i 's|^#hostname: .*|hostname: mail.walk.test|; s|^#base_url: .*|base_url: https://mail.walk.test|
  s|^#bounce:|bounce:|; s|^#  domain: .*|  domain: bounces.walk.test|' "$1"
TEXT
cat >"$root/packages/bin/systemctl" <<'TEXT'
#!/bin/sh
echo "$*" >>/packages/systemctl
TEXT
chmod 755 "$root"/packages/bin/*
echo sesame >"$root/packages/mta1.password"
# as typed, in the folder with the package
typed() { chroot "$root" env PATH="/packages/bin:$PATH" bash -c "cd /packages && $1"; }

# 1. the paper's first lines: install, edit
mapfile -t lines < <(lines_of 'sudo apt install')
[ ${#lines[@]} -ge 8 ] || fail "the paper's way of the package is found"
for line in "${lines[@]:0:3}"; do
  typed "$line" >>"$root/var/log/postern.dpkg" 2>&1 </dev/null || fail "$line"
  ok "$line"
done
[ "$(in_root stat -c '%a %U:%G' /etc/postern/pepper /etc/postern/postern.yaml /var/lib/postern | tr '\n' ' ')" = \
  "640 root:postern 640 root:postern 700 postern:postern " ] || fail "secrets are for root and the daemon alone"
ok "secrets are for root and the daemon alone"
in_root bash -c 'source /usr/share/bash-completion/completions/postern && complete -p postern' >/dev/null || fail "completion"
ok "the completion is there"

# 2. what was edited is in force
[ "$(postern config print --json | "$node" -pe 'JSON.parse(require("fs").readFileSync(0)).bounce.domain')" = bounces.walk.test ] ||
  fail "the configuration is good"
ok "the configuration is good"

# the mail server that was there before, on an address of its own: takes everything for walk.test, reports to the bounce domain on port 25
cat >"$root/etc/postfix/main.cf" <<TEXT
compatibility_level = 3.6
myhostname = mta.walk.test
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.2
smtp_bind_address = 127.0.0.2
inet_protocols = ipv4
alias_maps =
local_recipient_maps =
virtual_mailbox_domains = walk.test
mydestination =
virtual_mailbox_base = /var/mail
virtual_mailbox_maps = inline:{ admin@walk.test=admin }
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
transport_maps = inline:{ bounces.walk.test=smtp:[127.0.0.1]:25 }
smtp_tls_security_level = may
disable_dns_lookups = yes
maillog_file = /var/log/postfix.log
TEXT
# on another port, and without a chroot of its own
sed -i -E 's/^smtp +inet/2600 inet/; s/^(\S+\s+(inet|unix)\s+\S+\s+\S+\s+)[y-](\s)/\1n\3/' "$root/etc/postfix/master.cf"
grep -q '^postlog' "$root/etc/postfix/master.cf" || echo 'postlog unix-dgram n - n - 1 postlogd' >>"$root/etc/postfix/master.cf"
chmod 1777 "$root/var/mail"
in_root postfix start >"$root/var/log/postern.postfix" 2>&1 || fail "Postfix starts"

# 3. the paper's other lines: a way out, and a key
key=
for line in "${lines[@]:3}"; do
  said=$(typed "$line" 2>"$root/var/log/postern.doctor" </dev/null) || fail "$line"
  [[ $said != svc_live_* ]] || key=$said
  ok "$line"
done
[ -n "$key" ] || fail "a key"
[ "$(cat "$root/packages/systemctl")" = 'enable --now postern.socket postern' ] || fail "the last line starts it"

# the service, as its unit says
unit=$root/usr/lib/systemd/system/postern.service
command=$(sed -n 's/^ExecStart=//p' "$unit")
credential=$(sed -n 's/^LoadCredential=pepper://p' "$unit")
start() {
  mkdir -p "$root/run/credentials/postern.service"
  cp "$root$credential" "$root/run/credentials/postern.service/pepper"
  in_root chown -R postern /run/credentials
  chmod 400 "$root/run/credentials/postern.service/pepper"
  chroot "$root" systemd-socket-activate -l 127.0.0.1:25 -l 127.0.0.1:465 -l 127.0.0.1:587 \
    -E CREDENTIALS_DIRECTORY=/run/credentials/postern.service -E NODE_ENV=production \
    setpriv --reuid=postern --regid=postern --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- $command \
    >>"$root/var/log/postern.log" 2>&1 &
  service=$!
  # the first client starts it, and is answered
  eventually 'exec 9<>/dev/tcp/127.0.0.1/587 && read -t 20 -r line <&9 && [[ $line == "220 mail.walk.test"* ]]' || fail "$1"
  exec 9>&-
  eventually 'curl -fsS http://127.0.0.1:8081/readyz' || fail "$1"
  ok "$1"
}
stop() { kill -TERM "$service"; wait "$service" || fail "stops when told to, with $?"; }
start "starts by its first client, on ports below 1024, with its credential and without a capability"

# 4. all well
postern doctor >"$root/var/log/postern.doctor" 2>&1 || fail "doctor has no complaint"
ok "doctor has no complaint"

# 5. a mail by each door, relayed, in the mailbox, and reported as delivered
api() { curl -sS -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "$@"; }
id_of() { "$node" -pe 'JSON.parse(require("fs").readFileSync(0)).id'; }
id=$(api http://127.0.0.1:8080/v1/emails -d '{"from":"a@acme.test","to":"admin@walk.test","subject":"Receipt 42","text":"Thank you"}' | id_of)
install -m 600 /dev/null "$root/tmp/key" && echo "$key" >"$root/tmp/key" && in_root chown postern /tmp/key
printf 'From: a@acme.test\nTo: admin@walk.test\nSubject: Receipt 43\n\nThank you\n' |
  postern sendmail -t -i --key-file /tmp/key --server 127.0.0.1:587 || fail "sendmail"
eventually 'grep -q "Subject: Receipt 42" "$root/var/mail/admin" && grep -q "Subject: Receipt 43" "$root/var/mail/admin"' ||
  fail "mail by both doors is relayed"
ok "mail by both doors is relayed"
eventually 'api http://127.0.0.1:8080/v1/emails/$id | grep -q "\"status\":\"delivered\""' ||
  fail "the report of the mail server came back by port 25: delivered"
ok "the report of the mail server came back by port 25: delivered"

# 6. a backup while it runs, outside of the data folder; the pepper is kept apart
in_root install -d -o postern -m 700 /backup
postern backup /backup/copy.db >/dev/null 2>&1 || fail "a backup while it runs"
cp -p "$root/etc/postern/pepper" "$root/backup/"
ok "a backup while it runs"

# 7. an upgrade keeps what was configured, and the pepper
before=$(md5sum <"$root/etc/postern/pepper")
dpkg-deb -R "$deb" "$work/next"
sed -i 's/^Version: .*/Version: 99.0/' "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Znone --build "$work/next" "$root/packages/next.deb" >/dev/null
in_root dpkg -i /packages/next.deb >>"$root/var/log/postern.dpkg" 2>&1 </dev/null || fail "an upgrade"
grep -q '^hostname: mail.walk.test$' "$root/etc/postern/postern.yaml" || fail "an upgrade keeps the configuration"
[ "$(md5sum <"$root/etc/postern/pepper")" = "$before" ] || fail "an upgrade keeps the pepper"
stop
ok "an upgrade keeps configuration and pepper"

# 8. the disk is lost: new machine, package, pepper, backup
rm -rf "$root/var/lib/postern"
in_root systemd-tmpfiles --create postern.conf 2>/dev/null || true
postern restore /backup/copy.db --yes >/dev/null 2>&1 || fail "the backup is restored"
start "starts on the restored backup"
api "http://127.0.0.1:8080/v1/emails/$id" | grep -q '"status":"delivered"' || fail "the mail of before is known, by the key of before"
ok "the mail of before is known, by the key of before"
stop

# 9. gone without a trace
in_root dpkg --remove postern >>"$root/var/log/postern.dpkg" 2>&1 || fail "removed"
[ -f "$root/var/lib/postern/postern.db" ] && [ -f "$root/etc/postern/pepper" ] || fail "removing keeps the data"
in_root dpkg --purge postern >>"$root/var/log/postern.dpkg" 2>&1 || fail "purged"
left=$(cd "$root" && find etc var/lib usr run -xdev -name '*postern*' ! -path 'run/credentials*' ! -path 'var/lib/dpkg/*' | tr '\n' ' ')
[ "$left" = "" ] || fail "purging leaves nothing: $left"
! grep -q postern "$root/etc/passwd" "$root/etc/group" || fail "purging leaves nothing: the user"
ok "purging leaves nothing"

# 10. the paper's other way, by the executable: as a user of its own, in a folder of its own
install -m 755 "$root/packages/$(basename "$executable")" "$root/usr/local/bin/postern"
in_root useradd --create-home walker
as_walker=(chroot "$root" setpriv --reuid=walker --regid=walker --clear-groups
  env --chdir=/home/walker HOME=/home/walker PATH="/usr/local/bin:$PATH" bash -ec)
script=$(lines_of 'export POSTERN_CONFIG')
key=$("${as_walker[@]}" "$(sed '$d' <<<"$script")" 2>"$root/var/log/postern.doctor" </dev/null | grep -o '^svc_live_.*') ||
  fail "init, a key and doctor, by the executable"
ok "init, a key and doctor, by the executable"
"${as_walker[@]}" "$(head -1 <<<"$script"); exec $(tail -1 <<<"$script")" >"$root/var/log/postern.log" 2>&1 &
service=$!
eventually 'curl -fsS http://127.0.0.1:8081/readyz' || fail "serves"
api http://127.0.0.1:8080/v1/emails -d '{"from":"a@acme.test","to":"admin@walk.test","subject":"Receipt 44","text":"Thank you"}' >/dev/null
eventually 'grep -q "Subject: Receipt 44" "$root/var/mail/admin"' || fail "its mail is relayed"
stop
ok "its mail is relayed"
in_root postfix stop >/dev/null 2>&1 || true
echo "1..$step"
