/**
 * NAME      safety - what serve refuses to do
 *   A configuration can be well-formed and still open a door that should be shut: passwords in clear on a public
 *   address, operations beyond this machine, development names towards the world. `serve` refuses all of these; the
 *   message names the way out.
 */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isLoopback, isPrivateRange, parseRange } from '../base/network.js'
import type { Config, SubmissionListener } from './config.js'
import { formatDuration } from './forms.js'
import type { ConfigProblem } from './problem.js'

const isPrivate = (host: string): boolean => {
  const range = isIP(host) === 0 ? null : parseRange(host)
  return isLoopback(host) || (range !== null && isPrivateRange(range))
}

const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((some) => some?.map(({ address }) => address) ?? [])

/** All addresses of a machine are private where each of them is, as those of a container are. */
const isPrivateHere = (host: string, own: readonly string[]): boolean =>
  /^(0\.0\.0\.0|::)$/.test(host) ? own.every(isPrivate) : isPrivate(host)

const problem = (key: string, value: string, expected: string, remedy: string): ConfigProblem => ({
  where: null,
  key,
  value,
  expected,
  remedy,
})

const checkListener = (listener: SubmissionListener, at: string): readonly ConfigProblem[] => {
  const { host, tls, ip_credentials, client_certificates } = listener
  const found: ConfigProblem[] = []
  if (tls === 'none' && !isLoopback(host) && !(ip_credentials && isPrivate(host))) {
    const expected = 'a listener without TLS must stand on loopback'
    const remedy = `set ${at}.tls: starttls, or ${at}.ip_credentials: true with a private address`
    found.push(problem(`${at}.host`, host, expected, remedy))
  }
  if (client_certificates && tls === 'none') {
    const expected = 'a client can show a certificate under TLS only'
    found.push(problem(`${at}.client_certificates`, 'true', expected, `set ${at}.tls: starttls`))
  }
  if (ip_credentials && !isPrivate(host)) {
    const expected = 'clients by address range are accepted on loopback and private addresses only'
    found.push(problem(`${at}.host`, host, expected, 'name one such address as host'))
  }
  return found
}

const checkNames = (config: Config): readonly ConfigProblem[] => {
  const found: ConfigProblem[] = []
  if (!config.hostname.includes('.') || /(^|\.)(localhost|localdomain)$/.test(config.hostname)) {
    const expected = 'beyond loopback, other servers must be able to look this name up'
    found.push(problem('hostname', config.hostname, expected, 'set hostname: mail.example.com'))
  }
  const beyond = !isLoopback(config.http.host)
  if (
    beyond &&
    (isLoopback(urlHost(config.base_url)) || /^(0\.0\.0\.0|::)$/.test(urlHost(config.base_url)))
  ) {
    const expected = 'clients elsewhere cannot follow links to this machine'
    found.push(problem('base_url', config.base_url, expected, 'set base_url: https://mail.example.com'))
  }
  return found
}

const urlHost = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '')

/** What works and is hardly meant; `serve` starts all the same. */
export const safetyDoubts = ({ base_url, identity }: Config): readonly ConfigProblem[] => {
  const { local, oidc, session } = identity
  const found: ConfigProblem[] = []
  if (!local && oidc.length === 0) {
    const expected = 'without a provider nobody can sign in, but by links of postern setup-link'
    found.push(problem('identity.local', 'false', expected, 'add a provider to identity.oidc'))
  }
  if (session.idle > session.lifetime) {
    const expected = `is more than identity.session.lifetime, ${formatDuration(session.lifetime)}, which ends every session first`
    found.push(
      problem('identity.session.idle', formatDuration(session.idle), expected, 'make it the shorter one'),
    )
  }
  if (base_url.startsWith('http:') && !isLoopback(urlHost(base_url))) {
    const expected = 'keys, passwords and cookies travel in clear; nobody signs in to the pages by it'
    found.push(problem('base_url', base_url, expected, 'set it to https, as a proxy or http.tls serves it'))
  }
  return found
}

/** Keys travel in every request: TLS ends here, or in a proxy that is named. */
const checkHttp = ({ http, base_url }: Config, own: readonly string[]): readonly ConfigProblem[] => {
  const { host, tls, behind_proxy, trusted_proxies } = http
  if (isLoopback(host) || tls) return []
  if (!behind_proxy) {
    const expected = 'HTTP beyond loopback needs TLS: API keys travel in every request'
    const remedy =
      'set http.tls: true, keep 127.0.0.1 behind a proxy with TLS, or set http.behind_proxy: true where that proxy is another machine'
    return [problem('http.host', host, expected, remedy)]
  }
  const found: ConfigProblem[] = []
  if (!isPrivateHere(host, own)) {
    const expected = 'plain HTTP behind a proxy is for private addresses only'
    found.push(problem('http.host', host, expected, 'name the private address that the proxy connects to'))
  }
  if (trusted_proxies.length === 0) {
    const expected = 'http.behind_proxy needs the addresses of the proxies, since nobody else may connect'
    found.push(problem('http.trusted_proxies', '[]', expected, 'set http.trusted_proxies: [10.0.0.0/24]'))
  }
  if (!base_url.startsWith('https:')) {
    const expected = 'behind a proxy where TLS ends, clients come by https'
    found.push(problem('base_url', base_url, expected, 'set base_url: https://mail.example.com'))
  }
  return found
}

const checkManagement = ({ management }: Config, own: readonly string[]): readonly ConfigProblem[] => {
  const { host, token_file, allow_networks } = management
  if (isLoopback(host)) return []
  const found: ConfigProblem[] = []
  if (!isPrivateHere(host, own)) {
    const expected = 'the management listener has no TLS: beyond loopback it is for private addresses only'
    found.push(
      problem('management.host', host, expected, 'set management.host: 127.0.0.1, or a private address'),
    )
  }
  if (token_file === null && allow_networks.length === 0) {
    const expected = 'beyond loopback the management listener must know who may ask'
    const remedy = 'set management.token_file or management.allow_networks, or management.host: 127.0.0.1'
    found.push(problem('management.host', host, expected, remedy))
  }
  return found
}

/** Why `serve` would refuse to start with this configuration; empty is good. */
export const safetyProblems = (config: Config, own = ownAddresses()): readonly ConfigProblem[] => {
  const { http, submission, bounce, tls } = config
  const found: ConfigProblem[] = [...checkHttp(config, own), ...checkManagement(config, own)]
  submission.forEach((listener, i) => {
    found.push(...checkListener(listener, `submission.${i}`))
  })
  if ((tls.cert_file === null) !== (tls.key_file === null)) {
    const missing = tls.cert_file === null ? 'tls.cert_file' : 'tls.key_file'
    found.push(problem(missing, 'null', 'a certificate and its key go together', `set ${missing}`))
  }
  const hosts = [http.host, bounce.host, ...submission.map(({ host }) => host)]
  if (!hosts.every(isLoopback)) found.push(...checkNames(config))
  return found
}
