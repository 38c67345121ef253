/**
 * NAME      save-name - what a file of a mail is saved as
 * DESCRIPTION
 *   A Content-Disposition (RFC 6266, 8187) that makes every browser save, under a name without folders, control and
 *   direction characters: a sender must not choose where a file lands, nor hide what it is.
 */
const LONGEST = 120

/** The last step of a path, in characters that every system takes. */
export const saveName = (name: string | null, otherwise: string): string => {
  const last = (name ?? '').normalize('NFC').split(/[\\/]/).at(-1) ?? ''
  const clean = last
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[<>:"|?*%]/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '')
  if (clean === '') return otherwise
  if (clean.length <= LONGEST) return clean
  const ending = /\.[\p{L}\p{N}]{1,10}$/u.exec(clean)?.[0] ?? ''
  return [...clean].slice(0, LONGEST - ending.length).join('') + ending
}

export const asAttachment = (name: string): string => {
  const plain = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\]/g, '_')
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
  return plain === name
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
