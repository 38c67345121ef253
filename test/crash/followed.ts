/**
 * Who follows the log has seen each mail once, whatever died meanwhile: what was counted is what is listed, and the search
 * finds each of a sample by its recipient.
 */
import { eventually } from '../parts/eventually.js'
import type { Rig } from './rig.js'

interface Listed {
  readonly id: string
  readonly status: string
  /** Of a mail by SMTP: those of its header; who is only in the envelope is in `bcc`. */
  readonly to: readonly string[]
  readonly bcc: readonly string[]
}

/** The pages of a list; one of a search may be empty, and others come. */
async function* pages({ postern, key }: Rig, more = ''): AsyncGenerator<readonly Listed[]> {
  for (let cursor = ''; ; ) {
    const { body, text } = await postern.api('GET', `/v1/emails?limit=100${more}${cursor}`, key)
    if (body?.data === undefined) throw new Error(text)
    yield body.data
    if (!body.pagination.has_next) return
    cursor = `&cursor=${body.pagination.next_cursor}`
  }
}

const listed = async (rig: Rig): Promise<Listed[]> => {
  const rows: Listed[] = []
  for await (const page of pages(rig)) rows.push(...page)
  return rows
}

const isFound = async (rig: Rig, { id, to, bcc }: Listed): Promise<boolean> => {
  for await (const page of pages(rig, `&q=${encodeURIComponent(`to:${[...bcc, ...to][0]}`)}`))
    if (page.some((row) => row.id === id)) return true
  return false
}

const SAMPLE = 100

/** What was counted twice or never, and what no search finds. */
export const uncounted = async (rig: Rig, random: () => number): Promise<string[]> => {
  const rows = await listed(rig)
  const sent = rows.filter(({ status }) => status === 'sent').length
  const counts = async () => {
    const { totals } = await rig.postern.json('stats')
    return { accepted: totals.accepted as number, sent: totals.sent as number }
  }
  const isSo = async () => {
    const found = await counts()
    return found.accepted === rows.length && found.sent === sent
  }
  await eventually('all is counted', isSo, { every: 500 }).catch(() => {})
  const found = await counts()
  const wrong: string[] = []
  if (found.accepted !== rows.length) wrong.push(`${found.accepted} counted of ${rows.length} accepted`)
  if (found.sent !== sent) wrong.push(`${found.sent} counted of ${sent} sent`)
  for (let i = 0; i < SAMPLE; i++) {
    const row = rows[Math.floor(random() * rows.length)] as Listed
    if (!(await isFound(rig, row))) wrong.push(`not found ${row.id}`)
  }
  return wrong
}
