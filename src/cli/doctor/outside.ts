/**
 * NAME      outside - what others see of this installation: its names, domains, certificate and identity providers
 *   Reports come back to the MX of the bounce domain, and receivers judge mail by SPF of that domain. A name server that does
 *   not answer is a warning: what could not be looked up is not known to be wrong.
 *   Mail signed with a key that DNS does not know is worse than unsigned, so a missing or different DKIM record of a key that
 *   signs is a failure; SPF and DMARC are advice. Nothing is written down: that is for `postern domain check`. Every identity
 *   provider is asked what it says of itself and for its keys. Nobody is signed in: a wrong client or secret shows only then.
 */

import { X509Certificate } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.js'
import type { Config } from '../../config/config.js'
import { labelOf, type SignInProvider as Settings } from '../../config/identity.js'
import { ConfigError } from '../../config/problem.js'
import { createProviders, type Providers } from '../../dashboard/sign-in/deps.js'
import { type Certificate, readCertificate } from '../../keys/certificate.js'
import { collect } from '../../lifecycle/page.js'
import { type CheckedRecord, zoneLine } from '../../resource/domain.js'
import { lookUp } from '../../tenant/domain/check.js'
import type { CliContext } from '../context.js'
import { spanText } from '../table.js'
import { type Check, type DoctorFacts, type Finding, fail, ok, warn } from './finding.js'

const ABSENT = new Set(['ENOTFOUND', 'ENODATA', 'NXDOMAIN', 'NODATA'])
const PRIVATE = /(^|\.)(localhost|localdomain|local|internal|test|invalid|example)$/

type Answer<T> = { readonly found: T } | { readonly absent: true } | { readonly error: string }

const ask = async <T>(query: Promise<T>): Promise<Answer<T>> => {
  try {
    return { found: await query }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error)
    return ABSENT.has(code) ? { absent: true } : { error: code }
  }
}

const resolverOf = ({ resolver: server }: DoctorFacts): Resolver => {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (server !== undefined) resolver.setServers([server])
  return resolver
}

const hasAddress = async (resolver: Resolver, name: string): Promise<boolean> => {
  const answers = await Promise.all([ask(resolver.resolve4(name)), ask(resolver.resolve6(name))])
  return answers.some((answer) => 'found' in answer && answer.found.length > 0)
}

const record = (domain: string, hostname: string): string =>
  `add to the DNS: ${domain}. IN MX 10 ${hostname}.`

const checkMx = async (resolver: Resolver, domain: string, hostname: string): Promise<readonly Finding[]> => {
  const mx = await ask(resolver.resolveMx(domain))
  if ('error' in mx)
    return [
      warn(
        'bounce domain',
        `${domain} could not be looked up (${mx.error})`,
        'postern doctor --resolver HOST',
      ),
    ]
  const exchanges = 'found' in mx ? mx.found.filter(({ exchange }) => exchange !== '') : []
  if (exchanges.length === 0) {
    if (await hasAddress(resolver, domain)) {
      return [warn('bounce domain', `${domain} has an address, but no MX`, record(domain, hostname))]
    }
    const detail = `${domain} has no MX: no report will find its way back`
    return [fail('bounce domain', detail, record(domain, hostname), 78)]
  }
  const dead: Finding[] = []
  for (const { exchange } of exchanges) {
    if (await hasAddress(resolver, exchange)) continue
    const detail = `the MX of ${domain}, ${exchange}, has no address`
    dead.push(
      fail('bounce domain', detail, `add to the DNS: ${exchange}. IN A 192.0.2.1 ; its own address`, 78),
    )
  }
  return dead.length > 0
    ? dead
    : [ok('bounce domain', `${domain} has MX ${exchanges.map(({ exchange }) => exchange).join(', ')}`)]
}

const checkSpf = async (resolver: Resolver, domain: string): Promise<readonly Finding[]> => {
  const txt = await ask(resolver.resolveTxt(domain))
  if ('error' in txt) return []
  const spf =
    'found' in txt
      ? txt.found.map((parts) => parts.join('')).filter((text) => /^v=spf1( |$)/i.test(text))
      : []
  if (spf.length === 1) return [ok('SPF', `${domain}: ${spf[0]}`)]
  if (spf.length > 1)
    return [warn('SPF', `${domain} has ${spf.length} SPF records, so none counts`, 'keep one of them')]
  const detail = `${domain} has no SPF record: receivers will trust its mail less`
  return [
    warn(
      'SPF',
      detail,
      `add to the DNS: ${domain}. IN TXT "v=spf1 mx ~all" ; with your upstreams in place of mx`,
    ),
  ]
}

export const checkNames: Check = async (facts) => {
  const { hostname, bounce } = facts.config
  const { domain } = bounce
  if (facts.resolver === undefined && (!domain.includes('.') || PRIVATE.test(domain))) {
    const detail = `${domain} is a name that no server elsewhere can look up: no report will come back`
    return [warn('bounce domain', detail, 'set bounce.domain to a name in your DNS')]
  }
  const resolver = resolverOf(facts)
  return [...(await checkMx(resolver, domain, hostname)), ...(await checkSpf(resolver, domain))]
}

const judgeDomains = ({ purpose, state, name, value, seen, found }: CheckedRecord): Finding => {
  const check = purpose.toUpperCase()
  if (seen === 'ok') return ok(check, `${name} is published`)
  if (seen === 'unknown')
    return warn(check, `${name} could not be looked up (${found})`, 'postern doctor --resolver HOST')
  const detail = seen === 'missing' ? `${name} has no such record` : `${name} says something else: ${found}`
  const remedy = `add to the DNS: ${zoneLine({ name, value })}`
  return state === 'active'
    ? fail(check, `${detail}: mail is signed in vain`, remedy, 78)
    : warn(check, detail, remedy)
}

export const checkDomains = async (
  { store, account }: CliContext,
  facts: DoctorFacts,
): Promise<readonly Finding[]> => {
  const resolver = resolverOf(facts)
  const found: Finding[] = []
  for (const row of await collect((page) => store.domains(account.id, page))) {
    const records = await lookUp(row, (name) => resolver.resolveTxt(name))
    found.push(
      ...records.filter(({ state }) => state !== 'retired').map(judgeDomains),
      ...(await checkSpf(resolver, row.name)),
    )
  }
  return found
}

const SOON = 21 * 86_400_000
/** The daemon makes its own anew when it starts or reloads; doctor changes nothing. */
const OWN = 'systemctl reload-or-restart postern'

const judgeCertificate = (
  certificate: Pick<Certificate, 'cert' | 'selfSigned'>,
  hostname: string,
  now: number,
): readonly Finding[] => {
  const x509 = new X509Certificate(certificate.cert)
  const expiresAt = Date.parse(x509.validTo)
  const left = expiresAt - now
  const until = new Date(expiresAt).toISOString().slice(0, 10)
  const renew = certificate.selfSigned ? OWN : 'renew it, then: systemctl reload postern'
  if (left <= 0) return [fail('certificate', `expired ${spanText(-left)} ago, on ${until}`, renew, 78)]
  if (Date.parse(x509.validFrom) > now) {
    const detail = `is not valid before ${x509.validFrom}: wrong certificate, or the clock is off`
    return [fail('certificate', detail, certificate.selfSigned ? OWN : 'timedatectl set-ntp true', 78)]
  }
  const found: Finding[] = []
  if (left < SOON) found.push(warn('certificate', `expires in ${spanText(left)}, on ${until}`, renew))
  if (x509.checkHost(hostname) === undefined) {
    found.push(
      warn(
        'certificate',
        `does not name ${hostname}`,
        certificate.selfSigned ? OWN : 'use a certificate for that name, or set hostname',
      ),
    )
  }
  if (certificate.selfSigned) {
    const detail = `self-signed until ${until}: clients that verify will refuse it`
    found.push(warn('certificate', detail, 'set tls.cert_file and tls.key_file'))
  }
  return found.length > 0 ? found : [ok('certificate', `for ${hostname}, until ${until}`)]
}

/** systemd reads a credential when the unit starts: after a renewal a reload finds the old key. */
const checkCredential = ({ tls }: Config): readonly Finding[] => {
  const files = [tls, ...tls.certificates].flatMap(({ cert_file, key_file }) => [cert_file, key_file])
  const held = files.filter((file) => file?.startsWith('/run/credentials/'))
  if (held.length === 0) return []
  const detail = `${held.join(', ')}: a credential is not read again by a reload, so a renewed certificate waits for a restart`
  return [
    warn('certificate', detail, 'have a deploy hook install the files: systemd/examples/certbot-deploy-hook'),
  ]
}

export const checkCertificate: Check = async ({ config, now }) => {
  const configured = config.tls.cert_file !== null
  if (!configured && !existsSync(join(config.data_dir, 'self-signed.crt'))) {
    return [
      warn(
        'certificate',
        'none yet: a self-signed one is made on the first start',
        'set tls.cert_file and tls.key_file',
      ),
    ]
  }
  try {
    const certificate = await readCertificate(config)
    return [
      ...checkCredential(config),
      ...judgeCertificate(certificate, config.hostname, now),
      ...certificate.others.flatMap(({ names: [name = ''], cert }) =>
        judgeCertificate({ cert, selfSigned: false }, name, now).map((found) => ({
          ...found,
          detail: `${name}: ${found.detail}`,
        })),
      ),
    ]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const found = error.problems.map(({ key, value, expected, remedy }) =>
      // a pair of our own that was torn apart is made anew; one that others read waits for its mode
      fail(
        'certificate',
        `${key}: ${value} ${expected}`,
        configured || expected.includes('everybody') ? (remedy ?? 'postern config check') : OWN,
        78,
      ),
    )
    return [...checkCredential(config), ...found]
  }
}

const NOBODY = warn(
  'identity',
  'identity.local is false and there is no provider: only links of postern setup-link let anybody in',
  'set identity.local: true, or identity.oidc',
)

/** Who gets in there. */
const rulesText = ({ allowed_domains, allowed_groups }: Settings): string => {
  const rules = [
    ...(allowed_domains.length > 0 ? ['allowed_domains'] : []),
    ...(allowed_groups === null ? [] : ['allowed_groups']),
  ]
  return rules.length === 0
    ? 'who is invited gets in'
    : `who is invited, or of ${rules.join(' or ')}, gets in`
}

const judgeProviders = async (providers: Providers, one: Settings): Promise<Finding> => {
  const name = `${labelOf(one)} (${one.issuer})`
  const { ProviderTrouble, checkOf } = await import('../../dashboard/sign-in/provider.js')
  try {
    const found = await (await providers.find(one.name))?.examine()
    const out = found?.signsOut === false ? '; it has no place to sign out' : ''
    return ok('identity', `${name} answers; ${rulesText(one)}${out}`)
  } catch (error) {
    if (!(error instanceof ProviderTrouble)) throw error
    const isBroken = error.kind === 'metadata' || error.kind === 'keys' || error.kind === 'files'
    // others may still sign in, and mail does not ask
    if (!isBroken) return warn('identity', `${name}: ${error.detail}`, checkOf(error))
    return fail('identity', `${name}: ${error.detail}`, checkOf(error), error.kind === 'files' ? 78 : 69)
  }
}

export const checkProviders: Check = async ({ config }) => {
  const { local, oidc } = config.identity
  if (oidc.length === 0) return local ? [] : [NOBODY]
  const providers = createProviders(oidc, systemClock)
  try {
    return await Promise.all(oidc.map((one) => judgeProviders(providers, one)))
  } finally {
    await providers.close()
  }
}
