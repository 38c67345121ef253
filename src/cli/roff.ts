/**
 * NAME      roff - text for man(7)
 */

/** Nothing in it is taken for an order of roff: no backslash, no dot or quote at the start of a line. */
export const esc = (text: string): string =>
  text
    .replaceAll('…', '...')
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')
    .replace(
      /[^\x20-\x7e\n]/g,
      (char) => `\\[u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )
