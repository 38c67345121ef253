/**
 * A real provider of OpenID Connect (oidc-provider) on loopback, where `person` is
 * signed in already and consents to everything. It can lie: what it answers at an
 * endpoint is handed to a test first, and its own key signs whatever a test wants.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import { Provider } from 'oidc-provider'

type Json = Record<string, unknown>

export interface Lies {
  /** Closes every connection, or never answers. */
  down?: 'refused' | 'silent'
  discovery?: (document: Json) => unknown
  keys?: (set: Json) => unknown
  /** What the token endpoint says. */
  tokens?: (answer: Json) => unknown
  /** Claims and header of every ID token; what it gives is signed, or is the token itself. */
  idToken?: (claims: Json, header: Json) => Json | Promise<string>
  userinfo?: (claims: Json) => unknown
}

export interface IdpWish {
  /** Claims stand in the ID token, not in userinfo alone. */
  readonly inIdToken?: boolean
  readonly publicClient?: boolean
  readonly refreshTokens?: boolean
}

export const CLIENT_SECRET = 'canary-client-secret-0123456789abcdef'

const CLAIMS = ['email', 'email_verified', 'name', 'groups', 'roles', 'realm_access', 'urn:test:roles']

const bodyOf = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts)
}

const textPart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export class Idp {
  person: { sub: string; claims: Json } = {
    sub: 'ana',
    claims: { email: 'ana@acme.test', email_verified: true },
  }
  lies: Lies = {}
  readonly key: KeyObject
  readonly #public: KeyObject
  readonly #wish: IdpWish
  #front: Server
  #inner: Server | null = null
  #provider: Provider | null = null
  readonly asked: string[] = []
  /** What went wrong when it told Postern of a logout. */
  readonly errors: string[] = []

  constructor(wish: IdpWish = {}) {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.key = pair.privateKey
    this.#public = pair.publicKey
    this.#wish = wish
    this.#front = createServer((req, res) => {
      this.#handle(req, res).catch((error: Error) => {
        if (!res.headersSent) res.writeHead(500)
        res.end(String(error))
      })
    })
  }

  async listen(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.#front.listen(port, '127.0.0.1', resolve))
    return this
  }

  get port(): number {
    return (this.#front.address() as AddressInfo).port
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get publicPem(): string {
    return this.#public.export({ type: 'spki', format: 'pem' }) as string
  }

  /** Knows Postern, which is at `baseUrl` and calls it `name`. */
  async know(baseUrl: string, name: string): Promise<this> {
    const client = {
      client_id: 'postern',
      redirect_uris: [`${baseUrl}/sign-in/${name}/callback`],
      post_logout_redirect_uris: [`${baseUrl}/signed-out`],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      backchannel_logout_uri: `${baseUrl}/sign-in/${name}/logout`,
      backchannel_logout_session_required: true,
      ...(this.#wish.publicClient
        ? { token_endpoint_auth_method: 'none' }
        : { client_secret: CLIENT_SECRET, token_endpoint_auth_method: 'client_secret_basic' }),
    }
    this.#provider = new Provider(this.issuer, {
      clients: [client],
      jwks: { keys: [{ ...this.key.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'RS256' }] },
      cookies: { keys: ['test'] },
      scopes: ['openid', 'offline_access'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: CLAIMS },
      conformIdTokenClaims: this.#wish.inIdToken !== true,
      // its guard against loopback would guard it against us
      fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) =>
        fetch(url, options),
      issueRefreshToken: async () => this.#wish.refreshTokens === true,
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { enabled: true },
      },
      findAccount: async (_ctx: unknown, id: string) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...this.person.claims }),
      }),
      loadExistingGrant: async (ctx: {
        oidc: { provider: { Grant: new (of: object) => Grant }; client: Json; session: Json }
      }) => {
        const { client, session } = ctx.oidc
        const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId })
        grant.addOIDCScope('openid email profile offline_access')
        grant.addOIDCClaims(CLAIMS)
        await grant.save()
        return grant
      },
      interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    })
    this.#provider.on('backchannel.error', (_ctx, error) => void this.errors.push(String(error)))
    this.#inner = createServer(this.#provider.callback())
    await new Promise<void>((resolve) => this.#inner?.listen(0, '127.0.0.1', resolve))
    return this
  }

  async close(): Promise<void> {
    for (const server of [this.#front, this.#inner]) {
      server?.closeAllConnections()
      await new Promise((resolve) => (server?.listening ? server.close(resolve) : resolve(null)))
    }
  }

  /** Any token, signed as its ID tokens are. */
  sign(claims: Json, header: Json = {}): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header }).sign(this.key)
  }

  /** A logout token as the standard wants it, but for what the test changes; undefined takes a claim away. */
  logoutToken(change: Json = {}, header: Json = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: this.issuer,
      aud: 'postern',
      iat: now,
      exp: now + 120,
      jti: `jti-${Math.random()}`,
      sub: this.person.sub,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      ...change,
    }
    return this.sign(JSON.parse(JSON.stringify(claims)) as Json, { typ: 'logout+jwt', ...header })
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url?.split('?')[0] ?? '/'
    this.asked.push(path)
    if (this.lies.down === 'refused') return void req.socket.destroy()
    if (this.lies.down === 'silent') return
    const lie = this.#lieAt(path)
    if (path.startsWith('/interaction/')) return this.#interact(req, res)
    if (lie !== undefined) return this.#lie(req, res, lie)
    await this.#provider?.callback()(req, res)
  }

  /** Whoever comes is `person`. */
  async #interact(req: IncomingMessage, res: ServerResponse): Promise<void> {
    await this.#provider?.interactionFinished(req, res, { login: { accountId: this.person.sub } })
  }

  #lieAt(path: string): ((answer: Json) => unknown) | undefined {
    const { discovery, keys, tokens, idToken, userinfo } = this.lies
    if (path === '/.well-known/openid-configuration') return discovery
    if (path === '/jwks') return keys
    if (path === '/me') return userinfo
    if (path !== '/token') return undefined
    if (tokens !== undefined) return tokens
    return (
      idToken &&
      (async (answer) => ({ ...answer, id_token: await this.#forge(String(answer.id_token), idToken) }))
    )
  }

  async #forge(token: string, change: NonNullable<Lies['idToken']>): Promise<string> {
    const [header, claims] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString())
    const made = await change(JSON.parse(claims ?? '{}') as Json, JSON.parse(header ?? '{}') as Json)
    return typeof made === 'string' ? made : this.sign(made)
  }

  async #lie(req: IncomingMessage, res: ServerResponse, lie: (answer: Json) => unknown): Promise<void> {
    const body = await bodyOf(req)
    const inside = this.#inner
    if (inside === null) throw new Error('it knows nobody yet')
    const inner = await new Promise<IncomingMessage>((resolve, reject) => {
      const { port } = inside.address() as AddressInfo
      const { method, url: path, headers } = req
      httpRequest({ host: '127.0.0.1', port, method, path, headers }, resolve).on('error', reject).end(body)
    })
    const answer = JSON.parse((await bodyOf(inner)).toString()) as Json
    const said = inner.statusCode === 200 ? await lie(answer) : answer
    if (typeof said === 'number') return void res.writeHead(said).end()
    res.writeHead(inner.statusCode ?? 500, { 'content-type': 'application/json' })
    res.end(typeof said === 'string' ? said : JSON.stringify(said))
  }
}

interface Grant {
  addOIDCScope(scope: string): void
  addOIDCClaims(claims: readonly string[]): void
  save(): Promise<string>
}

/** A token that nobody signed. */
export const unsigned = async (claims: Json): Promise<string> =>
  `${textPart({ alg: 'none' })}.${textPart(claims)}.`

/** HMAC with the provider's public key, which everybody has. */
export const signedWithPublicKey = (idp: Idp, claims: Json): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(Buffer.from(idp.publicPem))
