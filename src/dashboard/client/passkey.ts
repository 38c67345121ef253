/**
 * NAME      passkey - a browser makes a passkey, or signs with one
 *   A form with `data-passkey` is shown and sent by this script only: what the browser says goes along in its field
 *   `response`, as JSON with octets in base64url, the form in which WebAuthn is spoken over JSON.
 */
const octets = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (one) => one.charCodeAt(0))

const textOf = (buffer: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')

interface Named {
  readonly id: string
}

const named = (list: readonly Named[] | undefined): PublicKeyCredentialDescriptor[] =>
  (list ?? []).map(({ id }) => ({ type: 'public-key', id: octets(id) }))

// biome-ignore lint/suspicious/noExplicitAny: options as the server wrote them
const create = async (options: any): Promise<Credential | null> =>
  navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: octets(options.challenge),
      user: { ...options.user, id: octets(options.user.id) },
      excludeCredentials: named(options.excludeCredentials),
    },
  })

// biome-ignore lint/suspicious/noExplicitAny: options as the server wrote them
const sign = async (options: any): Promise<Credential | null> =>
  navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: octets(options.challenge),
      allowCredentials: named(options.allowCredentials),
    },
  })

const PARTS = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'] as const

const asJson = ({ id, rawId, type, response }: PublicKeyCredential): string => {
  const parts = response as unknown as Readonly<Record<string, ArrayBuffer | null | undefined>>
  const said = PARTS.flatMap((name) => {
    const part = parts[name]
    return part == null ? [] : [[name, textOf(part)]]
  })
  return JSON.stringify({
    ...{ id, rawId: textOf(rawId), type, clientExtensionResults: {} },
    response: Object.fromEntries(said),
  })
}

const send = async (form: HTMLFormElement): Promise<void> => {
  const field = form.querySelector<HTMLInputElement>('[name=response]')
  const wrong = form.querySelector<HTMLElement>('[data-wrong]')
  if (field === null) return
  try {
    const options: unknown = JSON.parse(form.dataset.options ?? '{}')
    const made = await (form.dataset.passkey === 'create' ? create(options) : sign(options))
    if (made === null) return
    field.value = asJson(made as PublicKeyCredential)
    form.submit()
  } catch (error) {
    // of what somebody broke off, browsers say no more than that
    const isThere = (error as DOMException).name === 'InvalidStateError'
    if (wrong === null) return
    wrong.textContent = isThere
      ? 'This device has a passkey for you already.'
      : 'The browser gave no passkey. Try again, or take another way.'
    wrong.hidden = false
  }
}

export const startPasskeys = (): void => {
  if (!('PublicKeyCredential' in window)) return
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) {
    form.hidden = false
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void send(form)
    })
  }
}
