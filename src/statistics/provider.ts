/**
 * NAME      provider - who runs the mailboxes of a well-known domain
 * DESCRIPTION
 *   By the name of the recipient domain alone: nothing is asked of the DNS, so a
 *   company that has its own domain at Google or Microsoft counts as `other`.
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

const BY_DOMAIN: ReadonlyMap<string, string> = new Map(
  Object.entries(DOMAINS).flatMap(([provider, domains]) => domains.map((domain) => [domain, provider])),
)

/** `other` for all that are not known. */
export const providerOf = (domain: string): string =>
  BY_DOMAIN.get(domain) ?? FAMILIES[FAMILY.exec(domain)?.[1] ?? ''] ?? 'other'
