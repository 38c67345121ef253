/** The tables of config/RECEIVERS.md about posts in the words of other services, row by row, against what is posted. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { CATEGORIES } from '../../src/mail/report/category.js'
import type { WebhookFormat } from '../../src/store/port/hooks.js'
import type { LogRow } from '../../src/store/port/log.js'
import { bodyOf, createWants } from '../../src/webhook/body.js'
import { ROOT } from '../parts/postern.js'
import { logRow } from '../webhook/rows.js'

const [, chapter = ''] = readFileSync(join(ROOT, 'config/RECEIVERS.md'), 'utf8').split(
  '## In the words of another service',
)
const FORMATS = ['sendgrid', 'postmark', 'mailgun', 'resend'] as const

/** The rows of a table, each cell as its words in backticks. */
const rowsOf = (head: string): readonly (readonly string[])[] => {
  const [, after = ''] = chapter.split(`| ${head}`)
  const [table = ''] = after.split('\n\n')
  return table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').slice(1, -1))
}
const words = (cell = ''): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)

// biome-ignore lint/suspicious/noExplicitAny: the JSON of other services
const told = (format: WebhookFormat, row: LogRow): any =>
  JSON.parse(bodyOf(row, { format, fields: 'full', events: ['*'] }))

const NAMES: Readonly<Record<(typeof FORMATS)[number], (row: LogRow) => readonly (string | undefined)[]>> = {
  sendgrid: (row) => [told('sendgrid', row)[0].event],
  postmark: (row) => [told('postmark', row).RecordType],
  mailgun(row) {
    const { event, severity } = told('mailgun', row)['event-data']
    return [event, severity]
  },
  resend: (row) => [told('resend', row).type],
}

t.test('what each event is called', async (t) => {
  const rows = rowsOf('event ')
  t.equal(rows.length, 8)
  for (const [event = '', ...cells] of rows) {
    const [type = ''] = words(event)
    const reason = event.includes('suppressed') ? 'suppressed' : 'unknown_user'
    const row = logRow({ type: type as LogRow['type'], reason })
    for (const [i, format] of FORMATS.entries()) {
      const endpoint = {
        id: 'wh_1',
        accountId: 'acct_1',
        workspaceId: null,
        mode: 'live',
        domains: [],
        tags: [],
      }
      const isPosted = createWants({ ...endpoint, format, events: ['*'] } as never)(row)
      const called = isPosted ? NAMES[format](row).filter((name) => name !== undefined) : []
      t.strictSame(called, words(cells[i]), `${event.trim()} as ${format}`)
    }
  }
  const [, removed = []] = rows.filter(([event]) => event?.includes('operator'))
  t.strictSame(removed, [])
  t.match(told('sendgrid', logRow({ source: 'operator', reason: 'by hand' })), [{ event: 'dropped' }])
})

t.test('what a bounce is called, by its reason', async (t) => {
  const rows = rowsOf('reason ')
  const seen = rows.flatMap(([reasons]) => words(reasons))
  t.strictSame(new Set(seen), new Set([...Object.keys(CATEGORIES), 'lifetime', 'suppressed']))
  for (const [reasons, sendgrid, postmark, mailgun] of rows)
    for (const reason of words(reasons)) {
      const row = logRow({ reason, source: 'smtp' })
      const [{ event, type = event, bounce_classification: name }] = told('sendgrid', row)
      t.strictSame([type, name].filter(Boolean), words(sendgrid), `${reason} as sendgrid`)
      t.strictSame([told('postmark', row).Type], words(postmark), `${reason} as postmark`)
      const status = told('mailgun', row)['event-data']['delivery-status']
      t.strictSame([status['bounce-type']], words(mailgun), `${reason} as mailgun`)
    }
})

t.test('each member that is posted is named', async (t) => {
  const named = (service: string) => {
    const [, after = ''] = chapter.split(`\n- **${service}**`)
    return after.split(/\n- \*\*|\n\n/)[0] ?? ''
  }
  const rows = ['email.queued', 'email.deferred', 'email.delivered', 'email.bounced', 'email.complained'].map(
    (type) =>
      logRow({
        type: type as LogRow['type'],
        mail: logRow().mail && ({ ...logRow().mail, tags: [{ name: 'tag', value: 'a' }] } as never),
      }),
  )
  const check = (service: string, members: object): void => {
    for (const member of Object.keys(members))
      t.ok(
        named(service).includes(`\`${member}`) || named(service).includes(`.${member}`),
        `${service}: ${member}`,
      )
  }
  for (const row of rows) {
    check('SendGrid', told('sendgrid', row)[0])
    check('Postmark', told('postmark', row))
    const { 'delivery-status': status = {}, message, method: _, ...data } = told('mailgun', row)['event-data']
    check('Mailgun', { ...data, ...status })
    check('Mailgun', message.headers === undefined ? {} : { 'message.headers': 1 })
  }
})

t.test('the compose file opens the network that it makes, and names nothing that is not there', async (t) => {
  const [, text = ''] = /^```yaml\n(.*?)^```$/ms.exec(chapter) ?? []
  const file = parse(text)
  const [{ subnet }] = file.networks.mail.ipam.config
  t.same(parse(file.services.postern.environment.POSTERN_WEBHOOK__ALLOW_NETWORKS), [subnet])
  for (const { volumes = [], networks } of Object.values<{ volumes?: string[]; networks: string[] }>(
    file.services,
  )) {
    t.same(networks, ['mail'])
    for (const one of volumes) t.ok((one.split(':')[0] ?? '') in file.volumes, one)
  }
})
