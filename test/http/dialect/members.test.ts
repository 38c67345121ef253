/** The tables of config/DIALECTS.md, member by member: what is named as taken is taken, what is named as refused is refused by its name. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../parts/postern.js'
import { ask, openKit } from '../kit.js'
import { headersFor, newAccessKey, SEND } from './signing.js'

const paper = readFileSync(join(ROOT, 'config', 'DIALECTS.md'), 'utf8')
const kit = await openKit()
t.teardown(() => kit.stop())

interface Row {
  readonly member: string
  readonly example: unknown
  readonly isRefused: boolean
}

const rowsOf = (provider: string): readonly Row[] => {
  const [, chapter = ''] =
    new RegExp(`^## ${provider}\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, 'm').exec(paper) ?? []
  return [...chapter.matchAll(/^\| `([\w.:-]+)` \| `(.*?)` \| (.*) \|$/gm)].map(
    ([, member = '', text = '', says = '']) => ({
      member,
      // a moment that is ahead, whenever this runs
      example: /send_at$|^o:deliverytime$/.test(member)
        ? Math.floor(Date.now() / 1_000) + 600
        : JSON.parse(text),
      isRefused: says.startsWith('refused'),
    }),
  )
}

const post = (path: string, body: object) =>
  ask(`${kit.url}/v1/as/${path}`, {
    method: 'POST',
    key: path.startsWith('sendgrid') ? kit.key : null,
    body,
    headers: path.startsWith('postmark') ? { 'x-postmark-server-token': kit.key } : {},
  })

/** The plain form with one part more, in place of one of the same name. */
const formWith = (member: string, example: unknown): FormData => {
  const form = new FormData()
  const mail = { from: 'no-reply@acme.test', to: 'ana@example.com', subject: 'Hi', text: 'Hello' }
  for (const [name, value] of Object.entries(mail)) if (name !== member) form.append(name, value)
  const { file } = example as { readonly file?: string }
  if (file === undefined) form.append(member, String(example))
  else form.append(member, new Blob(['hello']), file)
  return form
}

t.test('Mailgun', async (t) => {
  const rows = rowsOf('Mailgun')
  t.equal(rows.length, 36, 'the table is read')
  const authorization = `Basic ${Buffer.from(`api:${kit.key}`).toString('base64')}`
  for (const { member, example, isRefused } of rows) {
    const url = `${kit.url}/v1/as/mailgun/v3/acme.test/messages`
    const body = formWith(member, example)
    const answer = await fetch(url, { method: 'POST', body, headers: { authorization } })
    const { message } = (await answer.json()) as { readonly message: string }
    const isAsSaid = isRefused
      ? answer.status === 400 && message.startsWith(`${member} `)
      : answer.status === 200 && message.startsWith('Queued')
    t.ok(isAsSaid, `${member}: ${answer.status} ${message}`)
  }
})

t.test('Postmark', async (t) => {
  const rows = rowsOf('Postmark')
  t.equal(rows.length, 21, 'the table is read')
  for (const { member, example, isRefused } of rows) {
    const mail = { From: 'no-reply@acme.test', To: 'ana@example.com', Subject: 'Hi', TextBody: 'Hello' }
    const { status, json } = await post('postmark/email', { ...mail, [member]: example })
    if (isRefused)
      t.match({ status, json }, { status: 422, json: { Message: new RegExp(`^${member} `) } }, member)
    else t.match({ status, json }, { status: 200, json: { ErrorCode: 0 } }, member)
  }
})

/** The plain request with one member more, which may stand in a list of one. */
const withMember = (member: string, example: unknown): object => {
  const [first = '', second] = member.split('.')
  const mail = {
    personalizations: [{ to: [{ email: 'ana@example.com' }] }],
    from: { email: 'no-reply@acme.test' },
    subject: 'Hi',
    content: [{ type: 'text/plain', value: 'Hello' }],
  }
  if (second === undefined) return { ...mail, [first]: example }
  if (first === 'personalizations')
    return { ...mail, personalizations: [{ ...mail.personalizations[0], [second]: example }] }
  return { ...mail, [first]: { [second]: example } }
}

t.test('SendGrid', async (t) => {
  const rows = rowsOf('SendGrid')
  t.equal(rows.length, 31, 'the table is read')
  for (const { member, example, isRefused } of rows) {
    const { status, json } = await post('sendgrid/v3/mail/send', withMember(member, example))
    const [first, ...rest] = member.split('.')
    const field = first === 'personalizations' ? `personalizations.0.${rest}` : member
    if (isRefused) {
      const errors = (json?.errors ?? []) as readonly { readonly field: string }[]
      t.ok(
        status === 400 && errors.some((one) => one.field.startsWith(field)),
        `${member}: ${JSON.stringify(json)}`,
      )
    } else
      t.ok(
        status === 202 || (status === 200 && member.endsWith('sandbox_mode')),
        `${member}: ${JSON.stringify(json)}`,
      )
  }
})

/** A plain request with one member more, at its place; of a whole message where the member stands in Raw. */
const asSes = (member: string, example: unknown): object => {
  const Simple = { Subject: { Data: 'Hi' }, Body: { Text: { Data: 'Hello' } } }
  const isRaw = member === 'Content.Raw' || member === 'Content.Template'
  const mail: Record<string, unknown> = {
    FromEmailAddress: 'no-reply@acme.test',
    Destination: { ToAddresses: ['ana@example.com'] },
    Content: isRaw ? {} : { Simple },
  }
  const steps = member.split('.')
  let at = mail
  for (const step of steps.slice(0, -1)) {
    at[step] = { ...(at[step] as object) }
    at = at[step] as Record<string, unknown>
  }
  at[steps.at(-1) ?? ''] = example
  return mail
}

t.test('Amazon SES', async (t) => {
  const rows = rowsOf('Amazon SES')
  t.equal(rows.length, 22, 'the table is read')
  const key = await newAccessKey(kit.tenants, kit.accountId)
  for (const { member, example, isRefused } of rows) {
    const body = JSON.stringify(asSes(member, example))
    const headers = await headersFor(key, `127.0.0.1:${kit.port}`, body)
    const { status, json } = await ask(kit.url + SEND, { method: 'POST', body, headers })
    if (isRefused)
      t.match({ status, json }, { status: 400, json: { message: new RegExp(`^${member}\\b`) } }, member)
    else t.match({ status, json }, { status: 200, json: { MessageId: /^em_/ } }, member)
  }
})
