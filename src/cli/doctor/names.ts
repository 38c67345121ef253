/**
 * NAME      names - what the DNS says of us
 * DESCRIPTION
 *   Reports come back to the MX of the bounce domain, and receivers judge mail
 *   by SPF of that domain. A name server that does not answer is a warning: what
 *   could not be looked up is not known to be wrong.
 */
import { Resolver } from 'node:dns/promises'
import { type Check, type Facts, type Finding, fail, ok, warn } from './finding.js'

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

export const resolverOf = ({ resolver: server }: Facts): Resolver => {
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
    dead.push(fail('bounce domain', detail, `add to the DNS: ${exchange}. IN A ADDRESS`, 78))
  }
  return dead.length > 0
    ? dead
    : [ok('bounce domain', `${domain} has MX ${exchanges.map(({ exchange }) => exchange).join(', ')}`)]
}

export const checkSpf = async (resolver: Resolver, domain: string): Promise<readonly Finding[]> => {
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
  return [warn('SPF', detail, `add to the DNS: ${domain}. IN TXT "v=spf1 mx ~all", naming your upstreams`)]
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
