/** As much of a browser as sign-in needs: cookies by host and port, and redirects as long as one wants to follow them. */
export interface Shown {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Going {
  readonly method?: string
  readonly form?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** False shows the redirect itself; a pattern stops before an address that it fits. */
  readonly follow?: boolean | RegExp
}

export class CookieClient {
  readonly #jars = new Map<string, Map<string, string>>()
  /** Every Set-Cookie line, as it came. */
  readonly lines: string[] = []

  jar(url: string): Map<string, string> {
    const { host } = new URL(url)
    const jar = this.#jars.get(host) ?? new Map<string, string>()
    this.#jars.set(host, jar)
    return jar
  }

  async go(url: string, going: Going = {}): Promise<Shown> {
    const { follow = true } = going
    let at = url
    let { method = going.form === undefined ? 'GET' : 'POST', form } = going
    for (let hops = 0; hops < 20; hops++) {
      const shown = await this.#once(at, method, form, going.headers)
      const to = shown.headers.get('location')
      if (to === null || follow === false) return shown
      const next = new URL(to, at).href
      if (follow instanceof RegExp && follow.test(next)) return { ...shown, url: next }
      at = next
      if (shown.status !== 307 && shown.status !== 308) {
        method = 'GET'
        form = undefined
      }
    }
    throw new Error(`no end of redirects at ${at}`)
  }

  async #once(
    url: string,
    method: string,
    form: Readonly<Record<string, string>> | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Shown> {
    const jar = this.jar(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...(cookie !== '' && { cookie }),
        ...(form !== undefined && { origin: new URL(url).origin }),
        ...headers,
      },
      ...(form !== undefined && { body: new URLSearchParams(form) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      this.lines.push(line)
      const [pair = ''] = line.split(';')
      const name = pair.slice(0, pair.indexOf('='))
      const value = pair.slice(pair.indexOf('=') + 1)
      if (value === '' || /max-age=0/i.test(line) || /expires=thu, 01 jan 1970/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return { url, status: answer.status, headers: answer.headers, text: await answer.text() }
  }
}
