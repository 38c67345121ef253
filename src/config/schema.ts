/**
 * NAME      schema - every setting, what it means and what it may be
 *   `Joi.object<Config, true>` ties this table to the Config interface: a key that only one of them has does not
 *   compile. The descriptions are the manual (reference.ts prints it). Unknown keys are refused, since a setting that
 *   is misspelt is a setting that is silently not set.
 * NOTES
 *   Durations and sizes are text in the file and numbers in the Config. Defaults that depend on other settings are
 *   filled in by load.ts.
 */
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import Joi from 'joi'
import { defaultBudget } from '../base/memory.js'
import { parseRange } from '../base/network.js'
import { type Config, DIALECTS, type SubmissionListener } from './config.js'
import {
  choice,
  DAY,
  duration,
  file,
  flag,
  group,
  HOUR,
  MINUTE,
  orEmpty,
  orNull,
  readUrl,
  size,
} from './forms.js'
import { identity } from './identity.js'

const MIB = 1024 ** 2

const NAME =
  /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.?$/i

/** Four numbers that are no address are no name either. */
const readHost = (value: string, helpers: Joi.CustomHelpers) =>
  isIP(value) !== 0 || (NAME.test(value) && !/^[\d.]+$/.test(value)) ? value : helpers.error('host.form')

/** As it travels in SMTP: in ASCII. */
const readName = (value: string, helpers: Joi.CustomHelpers) =>
  /[^\u0000-\u007f]/.test(value) ? helpers.error('name.ascii') : value

const readRange = (value: string, helpers: Joi.CustomHelpers) =>
  parseRange(value) === null ? helpers.error('range.form') : value

const readResolver = (value: string, helpers: Joi.CustomHelpers) => {
  const [, six, four, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(value) ?? []
  const isRight = isIP(six ?? '') === 6 || isIP(four ?? '') === 4
  return isRight && Number(port) > 0 && Number(port) < 65_536 ? value : helpers.error('resolver.form')
}

/** Only its form: what an address may be is the business of mail/. */
const readSender = (value: string, helpers: Joi.CustomHelpers) =>
  /^[^\u0000-\u001f\u007f]*[^\s<>@]@[^\s<>@]+>?$/.test(value) ? value : helpers.error('sender.form')

const host = (value: string) =>
  Joi.string()
    .custom(readHost)
    .default(value)
    .description('Address to listen on: an IP address or a host name')
const count = (min: number, max: number, value: number, says: string) =>
  Joi.number().integer().min(min).max(max).default(value).description(says)
const port = (value: number) => count(0, 65535, value, 'Port to listen on; 0 takes any free one')
const ranges = (says: string) =>
  Joi.array().items(Joi.string().custom(readRange)).default([]).description(says) as never

const proxied = {
  proxy_protocol: flag(
    'Connections come through a TCP proxy and begin with a PROXY header, version 1 or 2 (send-proxy of HAProxy)',
  ),
  trusted_proxies: ranges(
    'Address ranges of TCP proxies, needed with proxy_protocol: nobody else may connect then; limits.connections_per_address does not bind them',
  ),
}

const listener = Joi.object<SubmissionListener, true>({
  host: host('127.0.0.1'),
  port: port(2587),
  tls: choice(
    ['starttls', 'implicit', 'none'],
    'starttls: plain until STARTTLS; implicit: TLS from the first byte; none: loopback and printers only',
  ),
  legacy: flag(
    'TLS 1.0 to 1.2, for clients that know nothing newer; not 1.3, at which some of them hang (libesmtp)',
  ),
  ip_credentials: flag(
    'Accept clients by address range (postern credential create --cidr); private addresses only',
  ),
  client_certificates: flag(
    'Ask for a client certificate; one that is a credential (postern credential create --certificate-fingerprint) stands for a login, with AUTH EXTERNAL or without AUTH',
  ),
  ...proxied,
}).description('One SMTP submission listener')

const PLAIN = {
  legacy: false,
  ip_credentials: false,
  client_certificates: false,
  proxy_protocol: false,
  trusted_proxies: [],
}
export const SUBMISSION_DEFAULT: readonly SubmissionListener[] = [
  { host: '127.0.0.1', port: 2587, tls: 'starttls', ...PLAIN },
  { host: '127.0.0.1', port: 2465, tls: 'implicit', ...PLAIN },
]

export const schema: Joi.ObjectSchema<Config> = Joi.object<Config, true>({
  hostname: Joi.string()
    .hostname()
    .custom(readName)
    .default(() => hostname())
    .meta({ shown: 'the name of this machine' })
    .description('Our name towards other mail servers: EHLO, Received, Message-ID'),
  base_url: Joi.string()
    .custom(readUrl)
    .meta({ shown: 'made from http' })
    .description('Where clients reach us; problem types and links start with it, never with the Host header'),
  docs: choice(
    ['open', 'members'],
    'Who reads /docs and /docs/openapi.json: open is everybody who reaches base_url, and they name no key, workspace or version; members is who has signed in',
  ) as never,
  data_dir: Joi.string()
    .default('data')
    .description('Database, pepper and self-signed certificate; mode 0700'),
  pepper_file: file(
    'File of the pepper, the secret under which keys are hashed; null: in data_dir. A credential "pepper" of systemd wins',
  ),
  http: group(
    Joi.object<Config['http'], true>({
      host: host('127.0.0.1'),
      port: port(8080),
      trusted_proxies: ranges('Address ranges of reverse proxies whose X-Forwarded-For is believed'),
      max_body: size(1024)
        .default(50 * MIB)
        .description('Largest request body'),
      request_timeout: duration(1000, HOUR).default(MINUTE).description('Time to receive a whole request'),
      tls: flag('Serve HTTPS with the certificate of tls'),
      behind_proxy: flag(
        'TLS ends in a proxy on another machine, as an ingress: allows plain HTTP on private addresses; only trusted_proxies and this machine may connect',
      ),
      dialects: Joi.array()
        .items(Joi.string().valid(...DIALECTS))
        .unique()
        .default([...DIALECTS])
        .description('APIs of other providers that are spoken below /v1/as; an empty list is none') as never,
    }),
    'The HTTP API and dashboard',
  ),
  management: group(
    Joi.object<Config['management'], true>({
      host: host('127.0.0.1'),
      port: port(8081),
      token_file: file(
        'File with a token of at least 16 characters: "Authorization: Bearer" with it opens everything from elsewhere; read at each such request',
      ),
      allow_networks: ranges(
        'Address ranges that may ask /livez, /healthz and /readyz without a token, and /metrics too where there is no token_file',
      ),
    }),
    '/livez, /healthz, /readyz and /metrics; beyond loopback it needs a private address, and token_file or allow_networks',
  ),
  submission: Joi.array()
    .items(listener)
    .default(SUBMISSION_DEFAULT)
    .meta({ shown: 'STARTTLS on 2587, TLS on 2465' })
    .description('SMTP submission listeners; an empty list switches the door off') as never,
  bounce: group(
    Joi.object<Config['bounce'], true>({
      host: host('127.0.0.1'),
      port: port(2525),
      domain: Joi.string()
        .hostname()
        .custom(readName)
        .meta({ shown: 'hostname' })
        .description('Domain of the return paths; its MX must lead to this listener'),
      rules_file: file(
        'YAML list of rules asked before the built-in table that tells hard bounces from soft ones: category, and enhanced, code, text or unless (postern bounce classify tries them)',
      ),
      postmaster: orNull(
        Joi.string().custom(readSender),
        'Address that gets mail to postmaster@ and abuse@ of bounce.domain, through the pool of the default workspace; null: the beginning of such mail is kept in the log as `postmaster.received`, up to 200 a day',
      ),
      ...proxied,
    }),
    'Where bounces come back',
  ),
  tls: group(
    Joi.object<Config['tls'], true>({
      cert_file: file('Certificate chain, PEM'),
      key_file: file('Its private key, PEM, readable by nobody else'),
      certificates: orEmpty(
        Joi.array().items(
          Joi.object<Config['tls']['certificates'][number], true>({
            cert_file: Joi.string().required().description('Certificate chain, PEM'),
            key_file: Joi.string().required().description('Its private key, PEM'),
          }),
        ),
        'Further certificates, shown by every listener to clients that ask (SNI) for a name in their subjectAltName',
      ),
    }),
    'Certificate of every listener; without one, a self-signed one is made on the first run',
  ),
  store: group(
    Joi.object<Config['store'], true>({
      driver: choice(
        ['sqlite', 'postgres'],
        'Where facts are kept: in data_dir, or in a PostgreSQL database that several daemons share',
      ),
      url_file: file(
        'With driver postgres: file of its URL, postgres://user:password@host:port/database, readable by nobody else; of several, one a line, the first that takes writes is used',
      ),
      pooler: choice(
        ['none', 'transaction'],
        'With driver postgres: whether a pooler before the database gives a session for each transaction (pool_mode = transaction)',
      ),
    }),
    'The database',
  ),
  domains: group(
    Joi.object<Config['domains'], true>({
      recheck: duration(1000, 30 * DAY)
        .default(DAY)
        .description('How often the DNS records of a sending domain are looked up again'),
      resolver: Joi.string()
        .custom(readResolver)
        .allow(null)
        .default(null)
        .meta({ shown: 'that of the system' })
        .description('Name server that is asked for them, such as 127.0.0.1:53') as never,
    }),
    'Sending domains',
  ),
  rate_limit: group(
    Joi.object<Config['rate_limit'], true>({
      per_minute: count(1, 1_000_000_000, 600, 'Sends a minute of a key without a limit of its own'),
      auth_failures: count(1, 1_000_000, 60, 'Failed authentications a minute from one address'),
    }),
    'Fixed minutes',
  ),
  relay: group(
    Joi.object<Config['relay'], true>({
      retry: Joi.array()
        .items(duration(1000, 7 * DAY))
        .min(1)
        .default([MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR])
        .meta({ unit: 'duration' })
        .description('Longest waits before each next attempt; the last one repeats') as never,
      lifetime: duration(MINUTE, 30 * DAY)
        .default(5 * DAY)
        .description('How long to try before a mail counts as bounced'),
      poll: duration(50, HOUR)
        .default(1000)
        .description('How often to look for due mail when nothing woke us'),
      pools: Joi.array()
        .items(Joi.string())
        .min(1)
        .allow(null)
        .default(null)
        .meta({ shown: 'all' })
        .description(
          'Pools whose mail this daemon carries, by name or id; others on the same PostgreSQL carry the rest',
        ) as never,
      http_endpoints: orEmpty(
        Joi.array()
          .items(
            Joi.object<Config['relay']['http_endpoints'][number], true>({
              upstream: Joi.string()
                .pattern(
                  /^(?:ses|mailgun)\+https:\/\/[a-z0-9.-]+$/,
                  'an upstream such as ses+https://eu-west-1',
                )
                .required()
                .description('Which one, as its URL begins: ses+https://REGION or mailgun+https://DOMAIN'),
              url: Joi.string()
                .custom(readUrl)
                .pattern(/^https:/, 'an https URL such as https://vpce-1.example.com')
                .required()
                .description('Where it is asked instead'),
            }),
          )
          .unique('upstream'),
        'Services that are asked at another address than their own, as a VPC endpoint of AWS; the certificate must fit that address',
      ),
    }),
    'Handing mail to upstream servers',
  ),
  setup: orEmpty(
    Joi.array().items(Joi.string()).single(),
    'Files and folders that say what there is: applied at each start, before the doors open; see SETUP.md',
  ),
  events: group(
    Joi.object<Config['events'], true>({
      streams_per_key: count(
        1,
        100_000,
        50,
        'Most event streams that one API key or session has open at once',
      ),
      streams_per_address: count(1, 100_000, 200, 'Most event streams of one address (IPv6: of one /64)'),
    }),
    'The log of events, and who follows it',
  ),
  limits: group(
    Joi.object<Config['limits'], true>({
      message_size: size(1024)
        .default(25 * MIB)
        .description('Largest message, as MIME, at either door'),
      recipients: count(1, 10_000, 100, 'Most recipients of one mail'),
      connections: count(1, 1_000_000, 2000, 'Most simultaneous clients of one SMTP listener'),
      connections_per_address: count(
        1,
        1_000_000,
        50,
        'Most connections of one address (IPv6: of one /64) that have not logged in, at the bounce door of any kind; loopback, trusted_proxies and ranges of credentials are exempt',
      ),
      connections_per_credential: count(
        1,
        1_000_000,
        1000,
        'Most simultaneous SMTP connections of one key or credential',
      ),
      idle: duration(1000, DAY)
        .default(5 * MINUTE)
        .description(
          'When a silent SMTP client is dropped; one without a login or MAIL after 60s at the latest',
        ),
      memory: size(MIB)
        .default(defaultBudget)
        .meta({ shown: 'a quarter of the memory limit, at most 256MiB' })
        .description(
          'Memory for mail on its way in, at both doors: JSON counts four times, MIME twice; beyond it 503 and 452',
        ),
      min_free_disk: size(0)
        .default(100 * MIB)
        .description('Free space under data_dir below which nothing more is accepted: 503 and 452'),
    }),
    'What clients may ask of us',
  ),
  retention: group(
    Joi.object<Config['retention'], true>({
      bodies: duration(0)
        .default(7 * DAY)
        .description('How long a settled mail keeps its body'),
      emails: duration(0)
        .default(90 * DAY)
        .description(
          'How long it keeps its record and events; the index of the search forgets its words up to a week later',
        ),
      log: duration(4 * DAY)
        .default(30 * DAY)
        .description('How far back the log of events can be followed; never further than retention.emails'),
      reports: duration(0)
        .default(30 * DAY)
        .description('How long a bounce or other report is kept as it came, its first 64 KiB'),
      domain_reports: duration(DAY)
        .default(90 * DAY)
        .description('How long a report about a domain (DMARC, TLS) is kept, as it was read'),
    }),
    'What is forgotten, and when',
  ),
  webhook: group(
    Joi.object<Config['webhook'], true>({
      allow_networks: ranges(
        'Private address ranges in which endpoints of webhooks may lie, by http as well; elsewhere only public addresses are called, by https',
      ),
      proxy: orNull(
        Joi.string().custom(readUrl),
        'URL of the HTTP proxy through which endpoints, those of tokens too, are called; it resolves their names, and has to refuse private addresses itself',
      ),
      notify: orEmpty(
        Joi.array().items(Joi.string().custom(readSender)).max(20),
        'Addresses that get a mail when an endpoint fails, gives up events or is disabled',
      ),
    }),
    'Posts to the endpoints of customers',
  ),
  oauth: group(
    Joi.object<Config['oauth'], true>({
      allow_networks: ranges(
        'Private address ranges in which token endpoints of upstreams may lie, by http as well; elsewhere only public addresses are called, by https',
      ),
    }),
    'Tokens for upstreams that sign in by OAuth',
  ),
  identity,
  default_from: orNull(
    Joi.string().custom(readSender),
    'Sender of mail that names none, unless its workspace has one',
  ),
  log: group(
    Joi.object<Config['log'], true>({
      level: Joi.string()
        .valid('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')
        .default('info')
        .description('Least important line that is written'),
      format: choice(['auto', 'json', 'pretty'], 'auto is pretty on a terminal and JSON elsewhere'),
    }),
    'Logging, to standard output',
  ),
})
