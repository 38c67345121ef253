/**
 * NAME      cookie - the session's secret, in the browser
 *   One cookie. Over https it is `__Host-postern_session`: Secure, for this host and path / only, so that no neighbour
 *   host and no plain-text page can set it. Over plain http, which is for loopback alone, it has neither. Everything
 *   comes from base_url, never from the request.
 */
interface CookieRules {
  readonly name: string
  readonly isSecure: boolean
}

export const cookieRules = (baseUrl: string, name: string): CookieRules => {
  const isSecure = baseUrl.startsWith('https:')
  return { name: isSecure ? `__Host-postern_${name}` : `postern_${name}`, isSecure }
}

/** One value of a Cookie header; null where there is none, or more than one. */
export const readCookie = (header: string | undefined, name: string): string | null => {
  const values = (header ?? '')
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one.startsWith(`${name}=`))
    .map((one) => one.slice(name.length + 1))
  const [value] = values
  return values.length === 1 && value !== undefined && value !== '' ? value : null
}

/** A Set-Cookie line. `maxAge` in seconds; 0 takes the cookie away; null lets it end with the browser. */
export const setCookie = ({ name, isSecure }: CookieRules, value: string, maxAge: number | null): string =>
  [
    `${name}=${value}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
    ...(maxAge === null ? [] : [`Max-Age=${maxAge}`]),
  ].join('; ')
