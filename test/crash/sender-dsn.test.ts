/**
 * kill -9 between the change that a sender must hear of and its report: after a restart the
 * sender has one report. Only where the process died with the report on the wire
 * may a second copy come, and then its timeline admits it.
 */
import { createTransport } from 'nodemailer'
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { startRelaying } from './relaying.js'

interface Step {
  readonly point: string
  readonly ambiguous?: true
}

/** The first accept is the mail's, the second the report's; nothing but the report comes to a dot. */
const STEPS: readonly Step[] = [
  { point: 'settle.after-commit' },
  { point: 'accept.before-commit:2' },
  { point: 'accept.after-commit:2' },
  { point: 'relay.after-dot', ambiguous: true },
]

t.setTimeout(240_000)
t.test('kill -9 between a change and its report', { timeout: 240_000 }, async (t) => {
  const { mx, postern } = await startRelaying(t)
  await postern.json('workspace', 'update', 'default', '--sender-dsn')
  const key = await postern.key()
  await postern.stop()

  /** It may die before it can say the id. */
  const submit = async (subject: string): Promise<void> => {
    // a recipient that was refused before is on the suppression list
    const to = `nobody@${subject.replace(/\W/g, '-')}.test`
    const client = createTransport({
      host: '127.0.0.1',
      port: postern.ports.submission[0] ?? 0,
      auth: { user: 'any', pass: key },
      tls: { rejectUnauthorized: false },
    })
    await client.sendMail({ from: 'app@gw.test', to, subject, text: 'hello' }).catch(() => {})
  }
  const list = async (query: string) => (await postern.api('GET', `/v1/emails?${query}`, key)).body.data

  /** The reports on the mail with this subject, once they left. */
  const reports = async (subject: string): Promise<readonly { readonly id: string }[]> => {
    const all = (await list('limit=100')) as { id: string; subject: string }[]
    const mail = all.find((one) => one.subject === subject)
    return eventually(`a report on ${mail?.id}`, async () => {
      const made = await list(`tag=dsn_for:${mail?.id}`)
      return made.length > 0 && made
    })
  }

  const demandOne = async (t: Test, { point, ambiguous }: Step): Promise<void> => {
    const [report, ...more] = await reports(point)
    t.same(more, [], 'one report')
    if (report === undefined) return
    await postern.until(key, report.id, ['sent', 'delivered'])
    const copies = mx.messages.filter((raw) => raw.includes(`<${report.id}@`)).length
    const { text: events } = await postern.api('GET', `/v1/emails/${report.id}/events`, key)
    t.ok(copies === 1 || (ambiguous && copies === 2 && events.includes('ambiguous')), `${copies} copies`)
  }

  for (const step of STEPS) {
    await t.test(step.point, async (t) => {
      await postern.start({ POSTERN_CRASH_AT: step.point })
      await submit(step.point)
      t.equal(await postern.ended, null, 'killed')
      await postern.start()
      await demandOne(t, step)
      await postern.stop()
    })
  }

  await t.test('nothing is told again later', async (t) => {
    await postern.start()
    const all = (await list('limit=100')) as { id: string; subject: string; source: string }[]
    t.equal(all.filter(({ source }) => source === 'system').length, STEPS.length)
  })
})
