/**
 * NAME      mailbox-provider - who runs the mailboxes of a domain
 *     By the name of the recipient domain, where that is well known; else, of a bounce, by
 *     the server that refused and by the servers that its words name. Nothing is asked of
 *     the DNS: of mail that is well, a company that has its own domain at Google or
 *     Microsoft counts as `other`.
 *   NOTES
 *     Where a filter stands before the mailboxes (Mimecast, Proofpoint) nobody sees behind
 *     it, and the filter is the provider.
 */
const DOMAINS: Readonly<Record<string, readonly string[]>> = {
  google: ['gmail.com', 'googlemail.com', 'google.com'],
  microsoft: ['outlook.com', 'msn.com', 'passport.com', 'windowslive.com', 'microsoft.com'],
  yahoo: ['ymail.com', 'rocketmail.com', 'aol.com', 'aim.com', 'verizon.net', 'netscape.net', 'myyahoo.com'],
  apple: ['icloud.com', 'me.com', 'mac.com'],
  gmx: ['web.de', '1und1.de', 'mail.com'],
  telekom: ['t-online.de', 'magenta.de'],
  mailru: ['mail.ru', 'bk.ru', 'inbox.ru', 'list.ru', 'internet.ru', 'mail.ua'],
  yandex: ['ya.ru', 'narod.ru'],
  rambler: ['rambler.ru', 'lenta.ru', 'autorambler.ru', 'myrambler.ru', 'ro.ru'],
  proton: ['protonmail.com', 'proton.me', 'pm.me', 'protonmail.ch'],
  fastmail: ['fastmail.com', 'fastmail.fm', 'messagingengine.com'],
  zoho: ['zohomail.com', 'zohomail.eu', 'zoho.com'],
  tencent: ['qq.com', 'foxmail.com', 'vip.qq.com'],
  netease: ['163.com', '126.com', 'yeah.net', '188.com'],
  naver: ['naver.com', 'navercorp.com'],
  orange: ['orange.fr', 'wanadoo.fr'],
  free: ['free.fr', 'aliceadsl.fr'],
  laposte: ['laposte.net'],
  sfr: ['sfr.fr', 'neuf.fr', 'cegetel.net'],
  libero: ['libero.it', 'virgilio.it', 'iol.it', 'inwind.it', 'giallo.it', 'blu.it'],
  comcast: ['comcast.net', 'xfinity.com'],
  charter: ['charter.net', 'spectrum.net', 'rr.com'],
  att: ['att.net', 'sbcglobal.net', 'bellsouth.net', 'pacbell.net'],
  seznam: ['seznam.cz', 'email.cz', 'post.cz', 'spoluzaci.cz'],
  wp: ['wp.pl', 'o2.pl', 'tlen.pl'],
  uol: ['uol.com.br', 'bol.com.br'],
  terra: ['terra.com.br', 'terra.com'],
  rediff: ['rediffmail.com'],
}

/** Names under which only servers are found. */
const SERVERS: Readonly<Record<string, readonly string[]>> = {
  microsoft: ['office365.us', 'office.com', 'live.com', 'hotmail.com'],
  yahoo: ['yahoodns.net', 'yahooinc.com', 'yahoo.com'],
  apple: ['apple.com'],
  gmx: ['gmx.net', 'gmx.com'],
  yandex: ['yandex.ru', 'yandex.net', 'yandex.com'],
  zoho: ['zoho.eu', 'zoho.in'],
  netease: ['netease.com'],
  naver: ['worksmobile.com'],
  free: ['proxad.net'],
  att: ['prodigy.net'],
  amazon: ['amazonaws.com', 'awsapps.com'],
  aruba: ['aruba.it'],
  barracuda: ['ess.barracudanetworks.com'],
  cisco: ['iphmx.com'],
  docomo: ['docomo.ne.jp'],
  godaddy: ['secureserver.net'],
  hornetsecurity: ['hornetsecurity.com', 'antispameurope.com'],
  ionos: ['kundenserver.de', 'perfora.net'],
  kddi: ['ezweb.ne.jp', 'au.com'],
  mimecast: ['mimecast.com', 'mimecast.org'],
  ovh: ['ovh.net'],
  proofpoint: ['pphosted.com', 'ppe-hosted.com', 'proofpoint.com'],
  rackspace: ['emailsrvr.com'],
  softbank: ['softbank.ne.jp'],
  symantec: ['messagelabs.com', 'symanteccloud.com'],
  trendmicro: ['trendmicro.com', 'trendmicro.eu'],
}

/** First labels that belong to one provider under any top-level domain: hotmail.fr, yahoo.co.jp. */
const FAMILIES: Readonly<Record<string, string>> = {
  hotmail: 'microsoft',
  live: 'microsoft',
  outlook: 'microsoft',
  yahoo: 'yahoo',
  gmx: 'gmx',
  yandex: 'yandex',
}
/** `yahoo.co.jp`, and not `yahoo.example.com`. */
const FAMILY = /^([a-z]+)\.(?:[a-z]{2,3}|co\.[a-z]{2}|com\.[a-z]{2})$/

const byName = (names: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(names).flatMap(([provider, all]) => all.map((name) => [name, provider])))

const BY_DOMAIN = byName(DOMAINS)
const BY_SERVER = byName(SERVERS)

/** `other` for all that are not known. */
export const providerOf = (domain: string): string =>
  BY_DOMAIN.get(domain) ?? FAMILIES[FAMILY.exec(domain)?.[1] ?? ''] ?? 'other'

/** Of `a.b.far.test`, with `from` 0: it, `b.far.test`, `far.test`; the first that is known decides. */
const ofServer = (host: string, from: 0 | 1): string | null => {
  const labels = host.toLowerCase().replace(/\.$/, '').split('.').slice(-6)
  for (let at = from; at < labels.length - 1; at += 1) {
    const name = labels.slice(at).join('.')
    const found = BY_SERVER.get(name) ?? BY_DOMAIN.get(name)
    if (found !== undefined) return found
  }
  return null
}

const ADDRESS = /[^\s<>@]{1,128}@[^\s<>@,;:()]{1,255}/g
const SERVER_NAME = /(?<![\w.-])(?:[a-z\d-]{1,63}\.){1,6}[a-z]{2,10}(?![\w-])/gi
const MAX_TEXT = 2_000

/** Google and Naver sign every reply. */
const signed = (text: string): string | null => {
  const name = /(?:^|\s|-\s?)([gn])smtp\s*$/.exec(text)?.[1]
  return name === undefined ? null : name === 'g' ? 'google' : 'naver'
}

/** A bare `gmail.com` in a reply may be the sender's domain; what has a name under it is a server. */
const inWords = (text: string): string | null => {
  const words = text.slice(0, MAX_TEXT).replace(ADDRESS, ' ')
  for (const [name] of words.matchAll(SERVER_NAME)) {
    const found = ofServer(name, 1)
    if (found !== null) return found
  }
  return signed(words)
}

/** Who runs the mailbox that a bounce is about; null where nothing tells. */
export const providerBehind = (bounce: {
  readonly domain: string
  /** The server that refused, as the report of another names it. */
  readonly server: string | null
  readonly text: string
}): string | null => {
  const known = providerOf(bounce.domain)
  if (known !== 'other') return known
  return (bounce.server === null ? null : ofServer(bounce.server, 0)) ?? inWords(bounce.text)
}
