/**
 * SMTP clients that programs of any age use, each driven from outside: a
 * finished message in a file, an envelope, a user name and a password. Those
 * that write their own message are given its parts instead (`writes`).
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Order {
  readonly port: number
  readonly implicit: boolean
  readonly user: string
  readonly password: string
  readonly from: string
  readonly to: readonly string[]
  /** RFC 5322 with CRLF, ASCII or not. */
  readonly message: Buffer
}

export interface Result {
  readonly accepted: boolean
  readonly output: string
}

export interface SmtpClient {
  readonly name: string
  /** What must be there. */
  readonly needs: string
  /** Takes the message as it is, byte for byte, or writes one of its own. */
  readonly carries: boolean
  /** The command, its words, and what it reads from standard input. */
  command(order: Order, dir: string): readonly [string, readonly string[], (Buffer | string)?]
}

const PYTHON = `
import os, smtplib, ssl, sys
e = os.environ; c = ssl._create_unverified_context(); p = int(e['PORT'])
s = smtplib.SMTP_SSL('127.0.0.1', p, context=c, timeout=60) if e['IMPLICIT'] else smtplib.SMTP('127.0.0.1', p, timeout=60)
s.set_debuglevel(1)
if not e['IMPLICIT']: s.starttls(context=c)
s.login(e['SMTP_USER'], e['SMTP_PASS'])
refused = s.sendmail(e['FROM'], e['TO'].split(' '), open(e['FILE'], 'rb').read()); s.quit()
assert not refused, refused
`

/** As PHPMailer talks: STARTTLS on a stream, AUTH LOGIN, every line written by itself. */
const PHP = `
$e = getenv(); $c = stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false, 'allow_self_signed' => true]]);
$s = stream_socket_client(($e['IMPLICIT'] ? 'ssl' : 'tcp') . "://127.0.0.1:{$e['PORT']}", $n, $w, 30, STREAM_CLIENT_CONNECT, $c) or exit("no connection: $w");
function hear($s) { do { $l = fgets($s, 998); echo $l; } while (isset($l[3]) && $l[3] === '-'); return substr($l, 0, 3); }
function say($s, $l, $want) { fwrite($s, "$l\\r\\n"); if (hear($s) !== $want) { fwrite($s, "QUIT\\r\\n"); exit(1); } }
if (hear($s) !== '220') exit(1);
say($s, 'EHLO php.test', '250');
if (!$e['IMPLICIT']) { say($s, 'STARTTLS', '220'); stream_socket_enable_crypto($s, true, STREAM_CRYPTO_METHOD_TLS_CLIENT) or exit(1); say($s, 'EHLO php.test', '250'); }
say($s, 'AUTH LOGIN', '334'); say($s, base64_encode($e['SMTP_USER']), '334'); say($s, base64_encode($e['SMTP_PASS']), '235');
say($s, "MAIL FROM:<{$e['FROM']}>", '250');
foreach (explode(' ', $e['TO']) as $to) say($s, "RCPT TO:<$to>", '250');
say($s, 'DATA', '354');
foreach (explode("\\r\\n", preg_replace('/\\r\\n$/', '', file_get_contents($e['FILE']))) as $l) fwrite($s, ($l !== '' && $l[0] === '.' ? '.' : '') . "$l\\r\\n");
say($s, '.', '250'); say($s, 'QUIT', '221');
`

const PERL = `
use Net::SMTP; my %e = %ENV; my @ssl = (SSL_verify_mode => 0);
my $s = Net::SMTP->new('127.0.0.1', Port => $e{PORT}, Hello => 'perl.test', Timeout => 60, Debug => 1, $e{IMPLICIT} ? (SSL => 1, @ssl) : ()) or die "no connection: $@";
$e{IMPLICIT} or $s->starttls(@ssl) or die 'starttls';
$s->auth($e{SMTP_USER}, $e{SMTP_PASS}) or die 'auth';
$s->mail($e{FROM}) or die 'mail'; $s->to(split / /, $e{TO}) or die 'rcpt';
open my $f, '<:raw', $e{FILE}; my $m = do { local $/; <$f> };
$s->data() or die 'data'; $s->datasend($m) or die 'send'; $s->dataend() or die 'end'; $s->quit;
`

const RUBY = `
require 'net/smtp'; e = ENV; c = OpenSSL::SSL::SSLContext.new; c.verify_mode = OpenSSL::SSL::VERIFY_NONE
s = Net::SMTP.new('127.0.0.1', e['PORT'].to_i); s.set_debug_output($stderr); s.read_timeout = 60
e['IMPLICIT'] == '' ? (s.disable_tls if s.respond_to?(:disable_tls); s.enable_starttls(c)) : s.enable_tls(c)
s.start('ruby.test', e['SMTP_USER'], e['SMTP_PASS'], :plain) { |x| x.send_message(File.binread(e['FILE']), e['FROM'], *e['TO'].split(' ')) }
`

const NODEMAILER = `
import { createTransport } from 'nodemailer'; import { readFileSync } from 'node:fs'
const e = process.env, c = createTransport({ pool: true, maxConnections: 2, host: '127.0.0.1', port: +e.PORT, secure: e.IMPLICIT !== '', requireTLS: e.IMPLICIT === '',
  auth: { user: e.SMTP_USER, pass: e.SMTP_PASS }, tls: { rejectUnauthorized: false } })
const sent = await c.sendMail({ envelope: { from: e.FROM, to: e.TO.split(' ') }, raw: readFileSync(e.FILE) }); console.log(sent.response); c.close()
`

const msmtprc = ({ port, implicit, user, password }: Order): string =>
  `account default\nhost 127.0.0.1\nport ${port}\ntls on\ntls_starttls ${implicit ? 'off' : 'on'}\ntls_certcheck off\n` +
  `auth on\nuser ${user}\npassword "${password}"\nlogfile -\n`

const inFile = (dir: string, name: string, content: string | Buffer): string => {
  const file = join(dir, name)
  writeFileSync(file, content, { mode: 0o600 })
  return file
}

export const CLIENTS: readonly SmtpClient[] = [
  {
    name: 'Python smtplib',
    needs: '/usr/bin/python3',
    carries: true,
    command: () => ['/usr/bin/python3', ['-c', PYTHON]],
  },
  {
    name: 'PHP, as PHPMailer talks',
    needs: '/usr/bin/php',
    carries: true,
    command: () => ['/usr/bin/php', ['-r', PHP]],
  },
  {
    name: 'Perl Net::SMTP',
    needs: '/usr/share/perl5/Authen/SASL.pm',
    carries: true,
    command: () => ['/usr/bin/perl', ['-e', PERL]],
  },
  {
    name: 'Ruby net/smtp',
    needs: '/usr/bin/ruby',
    carries: true,
    command: () => ['/usr/bin/ruby', ['-e', RUBY]],
  },
  {
    name: 'nodemailer, pooled',
    needs: process.execPath,
    carries: true,
    command: () => [process.execPath, ['--input-type=module', '-e', NODEMAILER]],
  },
  {
    name: 'curl',
    needs: '/usr/bin/curl',
    carries: true,
    command: ({ port, implicit, user, password, from, to }, dir) => [
      '/usr/bin/curl',
      ['-sSvk', '--ssl-reqd', '--url', `smtp${implicit ? 's' : ''}://127.0.0.1:${port}/curl.test`]
        .concat([
          '--user',
          `${user}:${password}`,
          '--mail-from',
          from,
          '--upload-file',
          join(dir, 'mail.eml'),
        ])
        .concat(to.flatMap((one) => ['--mail-rcpt', one])),
    ],
  },
  {
    name: 'swaks',
    needs: '/usr/bin/swaks',
    carries: true,
    // it ends the message with a line end of its own
    command: ({ port, implicit, user, password, from, to, message }, dir) => [
      '/usr/bin/swaks',
      ['--server', `127.0.0.1:${port}`, implicit ? '--tlsc' : '--tls', '--auth-user', user]
        .concat(['--auth-password', password, '--from', from, '--to', to.join(',')])
        .concat(['--data', `@${inFile(dir, 'data', message.subarray(0, -2))}`]),
    ],
  },
  {
    name: 'msmtp',
    needs: '/usr/bin/msmtp',
    carries: true,
    command: (order, dir) => [
      '/usr/bin/msmtp',
      ['-d', '-C', inFile(dir, 'msmtprc', msmtprc(order)), '-f', order.from, '--', ...order.to],
      order.message.toString('latin1').replaceAll('\r\n', '\n'),
    ],
  },
  {
    name: 's-nail',
    needs: '/usr/bin/s-nail',
    carries: false,
    command: ({ port, implicit, user, password, from, to }) => {
      const scheme = implicit ? 'smtps' : 'smtp'
      const secret = encodeURIComponent(password)
      const settings = [
        `mta=${scheme}://${encodeURIComponent(user)}:${secret}@127.0.0.1:${port}`,
        'smtp-use-starttls',
        'tls-verify=ignore',
        'smtp-auth=login',
        'v15-compat',
        `from=${from}`,
        'ttycharset=utf-8',
        'sendwait',
      ]
      const words = ['-:/', '-vv', '-s', 'Zamówienie 42', '-b', to.at(-1) ?? '']
      return [
        '/usr/bin/s-nail',
        [...words, ...settings.flatMap((one) => ['-S', one]), ...to.slice(0, -1)],
        'Grüße\n.leading\n..two\n',
      ]
    },
  },
]

/** Why a client can not run here, or null. */
export const missing = ({ needs }: SmtpClient): string | null =>
  existsSync(needs) ? null : `${needs} is not installed`

/** Runs a client to its end. */
export const drive = async (client: SmtpClient, order: Order): Promise<Result> => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-client-'))
  try {
    writeFileSync(join(dir, 'mail.eml'), order.message)
    const [command, args, input] = client.command(order, dir)
    const env = {
      PATH: process.env.PATH,
      HOME: dir,
      LC_ALL: 'C.UTF-8',
      PORT: String(order.port),
      IMPLICIT: order.implicit ? '1' : '',
      SMTP_USER: order.user,
      SMTP_PASS: order.password,
      FROM: order.from,
      TO: order.to.join(' '),
      FILE: join(dir, 'mail.eml'),
    }
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    let output = ''
    const note = (chunk: Buffer): void => {
      output += chunk.toString('latin1')
    }
    child.stdout.on('data', note)
    child.stderr.on('data', note)
    child.stdin.on('error', () => {})
    child.stdin.end(
      typeof input === 'string' ? Buffer.from(input, client.carries ? 'latin1' : 'utf8') : input,
    )
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { accepted: code === 0, output }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
