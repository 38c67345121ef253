import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'

/**
 * A verifier written from RFC 6376 alone, apart from the code it judges: it
 * reads the signature field, works out what was signed, and asks node:crypto.
 */
export const verifies = (message: string, publicKey: KeyObject, selector?: string): boolean => {
  const split = message.indexOf('\r\n\r\n')
  const fields = message.slice(0, split).split(/\r\n(?![ \t])/)
  const body = message.slice(split + 4)
  const relax = (field: string) => {
    const colon = field.indexOf(':')
    const value = field
      .slice(colon + 1)
      .split('\r\n')
      .join('')
      .split(/[ \t]+/)
      .join(' ')
    return `${field.slice(0, colon).toLowerCase().trim()}:${value.replace(/^ | $/g, '')}`
  }
  const signature =
    fields.find(
      (field) =>
        /^dkim-signature:/i.test(field) && (selector === undefined || field.includes(`s=${selector};`)),
    ) ?? ''
  const tags = new Map(
    signature
      .slice(signature.indexOf(':') + 1)
      .split(';')
      .map((tag) => [
        tag.slice(0, tag.indexOf('=')).trim(),
        tag.slice(tag.indexOf('=') + 1).replace(/\s+/g, ''),
      ]),
  )
  const lines = body.split('\r\n').map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
  while (lines.length > 0 && lines.at(-1) === '') lines.pop()
  const canonical = lines.map((line) => `${line}\r\n`).join('')
  if (createHash('sha256').update(canonical, 'latin1').digest('base64') !== tags.get('bh')) return false
  const left = fields.map((field) => ({ name: field.split(':')[0]?.trim().toLowerCase(), field }))
  const signed: string[] = []
  for (const name of (tags.get('h') ?? '').split(':')) {
    const at = left.findLastIndex((one) => one.name === name.toLowerCase())
    if (at >= 0) signed.push(...left.splice(at, 1).map((one) => `${relax(one.field)}\r\n`))
  }
  const data = Buffer.from(signed.join('') + relax(signature.replace(/b=[^;]*$/, 'b=')), 'latin1')
  const value = Buffer.from(tags.get('b') ?? '', 'base64')
  return tags.get('a') === 'rsa-sha256'
    ? verify('sha256', data, publicKey, value)
    : verify(null, createHash('sha256').update(data).digest(), publicKey, value)
}

/** The public key in a TXT record (RFC 6376, 3.6.1; RFC 8463, 4.1). */
export const publishedKey = (record: string): KeyObject => {
  const p = Buffer.from(/\bp=([A-Za-z0-9+/=]+)/.exec(record)?.[1] ?? '', 'base64')
  const der = record.includes('k=ed25519')
    ? Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), p])
    : p
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}
