/**
 * NAME      link - a link that lets somebody in, told once
 * DESCRIPTION
 *   On a terminal only: elsewhere output may end up in a journal, so it is refused
 *   before the link is made, unless a file is named (mode 0600).
 */
import { writeFileSync } from 'node:fs'
import { link as linkRecord } from '../record/tenants.js'
import type { LinkRow } from '../store/port/identity.js'
import { Refusal } from './exit.js'
import type { Terminal } from './terminal.js'
import { spanText } from './time.js'

export const TO_FILE = {
  out: { type: 'string', describe: 'Write the link to this new file, mode 0600' },
} as const

/** As the record of a link names its maker. */
export const CREATED_BY = `cli:${process.getuid?.() ?? 0}`

interface MadeLink {
  readonly row: LinkRow
  readonly url: string
}

export const tellLink = async (
  terminal: Terminal,
  out: string | undefined,
  make: () => Promise<MadeLink>,
): Promise<void> => {
  if (out === undefined && !terminal.isTty) {
    throw new Refusal(77, 'a link is shown on a terminal only; elsewhere name a file for it: --out FILE')
  }
  if (out !== undefined) writeFileSync(out, '', { flag: 'wx', mode: 0o600 })
  const { row, url } = await make()
  const { object, id, ...rest } = linkRecord(row, Date.now())
  if (out !== undefined) writeFileSync(out, `${url}\n`)
  terminal.data({ id, object, ...rest, ...(out === undefined ? { url } : { file: out }) }, () => out ?? url)
  terminal.say(`${id}: lets in once, within ${spanText(row.expiresAt - row.createdAt)}`)
}
