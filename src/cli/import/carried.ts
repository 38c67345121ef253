/**
 * NAME      carried - what the files of another mail program come to be here: text for `postern apply`, and secrets beside it
 *   Pools with upstreams, workspaces, routes, credentials and domains are gathered, and then written as one file of a setup.
 *   Nothing is made in the store: a person reads the text, and `postern apply` shows its plan. A secret stands in a file
 *   of its own (0600), never in the text, on the screen or in a note. Where one is not known the text says FILL-IN, which
 *   `apply` refuses.
 *   What was not taken is a note; what a person has to decide or to fill in is an open one.
 */
import { maskText } from '../../base/text.js'
import { setupText } from '../../setup/export.js'
import { FILL_IN } from '../../setup/files.js'
import type { UpstreamTls } from '../../store/port/tenants.js'
import { checkMember, queryText, upstreamUrl } from '../../tenant/upstream.js'

interface HopLogin {
  readonly user: string
  /** Null: it is not known. */
  readonly password: string | null
  /** It stands there, and is not read now. */
  readonly passwordFile?: string
}

/** One server that mail is handed on to. */
export interface Hop {
  readonly host: string
  readonly port: number
  readonly tls: UpstreamTls
  readonly login: HopLogin | null
  /** More for the query of its URL. */
  readonly words: Readonly<Record<string, string | number>>
}

interface CarriedNote {
  readonly text: string
  /** Somebody has to do something before mail flows as it did. */
  readonly isOpen: boolean
}

const MOST_NOTES = 200

/** Files of authorities that are the system's: nothing is to be said of them. */
export const isOfSystem = (file: string): boolean =>
  file === 'system' || /^\/etc\/(ssl|pki|ca-certificates)\/|^\/usr\/(share|lib|local)\//.test(file)

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '') || 'other'

type Fields = Readonly<Record<string, unknown>>

export class Carried {
  /** Of the setup. */
  readonly name: string
  /** For everything that is not some sender's: the slug of its workspace. */
  readonly workspace: string
  readonly notes: CarriedNote[] = []
  /** Ranges that may send without a password there, of which a person decides. */
  readonly networks: string[] = []
  /** By their names beside the text. */
  readonly files = new Map<string, string>()
  readonly #pools = new Map<string, readonly string[]>()
  readonly #workspaces = new Map<string, Fields>()
  readonly #routes = new Map<string, string>()
  readonly #credentials = new Map<string, Fields>()
  /** Domains that sign with a key of before. */
  readonly #domains = new Map<string, Fields>()

  constructor(name: string, workspace: string) {
    this.name = name
    this.workspace = workspace
  }

  note(text: string, isOpen = false): void {
    const line = maskText(text.slice(0, 400))
    if (this.notes.length < MOST_NOTES && !this.notes.some((one) => one.text === line))
      this.notes.push({ text: line, isOpen })
  }

  get isOpen(): boolean {
    return this.notes.some(({ isOpen }) => isOpen)
  }

  get counts() {
    return {
      ...{ pools: this.#pools.size, workspaces: this.#workspaces.size, routes: this.#routes.size },
      ...{ credentials: this.#credentials.size, domains: this.#domains.size, secrets: this.files.size },
    }
  }

  /** The name of the file that holds it. */
  secret(label: string, text: string, ending = '.password'): string {
    const content = `${text.replace(/\r?\n$/, '')}\n`
    for (let n = 1; ; n++) {
      const name = `${plain(label)}${n === 1 ? '' : `-${n}`}${ending}`
      const there = this.files.get(name)
      if (there === undefined) this.files.set(name, content)
      if (there === undefined || there === content) return `./${name}`
    }
  }

  /** The pool of these servers, made where there is none yet; null where none of them can be one of ours. */
  pool(label: string, hops: readonly Hop[]): string | null {
    const urls = hops.flatMap((hop) => this.#urlOf(hop) ?? [])
    if (urls.length === 0) return null
    const known = [...this.#pools].find(([, other]) => other.join(' ') === urls.join(' '))
    if (known !== undefined) return known[0]
    const name = this.#free(this.#pools, plain(label))
    this.#pools.set(name, urls)
    return name
  }

  #urlOf({ host, port, tls, login, words }: Hop): string | null {
    const text = { ca_file: words.ca_file, client_cert_file: words.client_cert_file }
    const [wrong] = checkMember(
      {
        ...{ host, port, tls, auth: login === null ? null : { user: login.user, pass: 'x' } },
        ...{ caFile: text.ca_file?.toString(), fingerprint: words.fingerprint?.toString() },
      },
      'upstream',
    )
    if (wrong !== undefined) {
      this.note(`${host}:${port} is not taken: ${wrong.field.replace(/^.*\./, '')} ${wrong.message}`, true)
      return null
    }
    const url = upstreamUrl({ host, port, user: login?.user ?? null })
    const password = login === null ? {} : { password_file: this.#passwordFile(host, login) }
    return `${url}?${queryText({ tls, ...words, ...password })}`
  }

  #passwordFile(host: string, { user, password, passwordFile }: HopLogin): string {
    if (password !== null) return this.secret(host, password)
    if (passwordFile !== undefined) return passwordFile
    this.note(
      `the password of ${user} at ${host} is not known: write it to a file, and its name for ${FILL_IN}`,
      true,
    )
    return FILL_IN
  }

  #free(taken: ReadonlyMap<string, unknown>, wanted: string): string {
    for (let n = 1; ; n++) {
      const name = n === 1 ? wanted : `${wanted}-${n}`
      if (!taken.has(name)) return name
    }
  }

  /** Everything that has no way of its own goes to this pool. */
  main(pool: string): void {
    this.#workspaces.set(this.workspace, { ...this.#workspaces.get(this.workspace), pool })
  }

  /** A workspace for some senders; the name that it has. */
  sender(label: string, fields: Fields): string {
    const name = this.#free(
      this.#workspaces,
      plain(label) === this.workspace ? `${plain(label)}-own` : plain(label),
    )
    this.#workspaces.set(name, fields)
    return name
  }

  /** Of a recipient's domain, in every workspace. */
  route(domain: string, pool: string): void {
    this.#routes.set(domain, pool)
  }

  get routes(): number {
    return this.#routes.size
  }

  /** A name and a password for SMTP; the name that it has. */
  credential(label: string, password: string): string {
    const name = this.#free(this.#credentials, `${this.workspace}/${plain(label)}`)
    const username = name.slice(this.workspace.length + 1)
    this.#credentials.set(name, { username, secret_file: this.secret(`login-${username}`, password) })
    this.#isOfWorkspace()
    return username
  }

  /** Whoever is in these ranges may send without a password, since a person said so. */
  open(networks: readonly string[]): void {
    for (const cidr of networks) this.#credentials.set(`${this.workspace}/from-${plain(cidr)}`, { cidr })
    if (networks.length > 0) this.#isOfWorkspace()
  }

  #isOfWorkspace(): void {
    if (!this.#workspaces.has(this.workspace)) this.#workspaces.set(this.workspace, {})
  }

  domain(name: string, selector: string, pem: string): void {
    this.#domains.set(name, { dkim: [{ selector, key_file: this.secret(`dkim-${name}`, pem, '.pem') }] })
  }

  hasDomain(name: string): boolean {
    return this.#domains.has(name)
  }

  /** Whether there is something for `postern apply`. */
  get hasText(): boolean {
    return this.#pools.size + this.#workspaces.size + this.#credentials.size + this.#domains.size > 0
  }

  /** Of `postern apply`. */
  text(from: string): string {
    const routes = Object.fromEntries(this.#routes)
    const workspaces = Object.fromEntries(
      [...this.#workspaces].map(([slug, fields]) => [
        slug,
        this.#routes.size > 0 ? { ...fields, routes } : fields,
      ]),
    )
    const sections = {
      setup: this.name,
      ...(this.#pools.size > 0 && {
        pools: Object.fromEntries([...this.#pools].map(([name, upstreams]) => [name, { upstreams }])),
      }),
      ...(this.#workspaces.size > 0 && { workspaces }),
      ...(this.#domains.size > 0 && { domains: Object.fromEntries(this.#domains) }),
      ...(this.#credentials.size > 0 && { credentials: Object.fromEntries(this.#credentials) }),
    }
    const head = [
      `From ${maskText(from)}. Read it, then: postern apply FOLDER --dry-run`,
      ...(this.notes.length > 0 ? ['Notes (! is to be done by hand):'] : []),
      ...this.notes.map(({ text, isOpen }) => `${isOpen ? '!' : '-'} ${text}`),
    ]
    return `${head.map((line) => `# ${line}\n`).join('')}\n${setupText(sections)}`
  }
}
