/**
 * kill -9 at every step of an idempotent send, a restart, and the same request
 * again: at most one email, and every replay is byte for byte what was stored.
 * Where the process died between claiming the key and storing the email, the key
 * stays locked for a minute; all those are asked again together at the end.
 */
import t, { type Test } from 'tap'
import type { ApiAnswer } from '../parts/postern.js'
import { startRelaying } from './relaying.js'

const LOCK_MS = 60_000
/** Clocks of threads and the client differ by little. */
const SLACK_MS = 5_000

interface Step {
  readonly point: string
  /** What the first retry may meet: nothing stored, a lock, or the answer. */
  readonly left: 'nothing' | 'lock' | 'answer'
  /** A second copy at the upstream cannot be ruled out: it died with a mail on the wire. */
  readonly ambiguous?: true
}

const STEPS: readonly Step[] = [
  { point: 'claimKey.after-commit', left: 'lock' },
  { point: 'accept.before-commit', left: 'lock' },
  { point: 'claimKey.before-commit', left: 'nothing' },
  { point: 'accept.after-commit', left: 'answer' },
  { point: 'attempting.after-commit', left: 'answer', ambiguous: true },
  { point: 'relay.before-data', left: 'answer' },
  { point: 'relay.after-dot', left: 'answer', ambiguous: true },
  { point: 'relay.before-settle', left: 'answer', ambiguous: true },
  { point: 'settle.before-commit', left: 'answer', ambiguous: true },
  { point: 'settle.after-commit', left: 'answer' },
]

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

t.setTimeout(280_000)
t.test('kill -9 at every step of an idempotent send', { timeout: 280_000 }, async (t) => {
  const { mx, postern } = await startRelaying(t)
  const key = await postern.key()
  await postern.stop()

  const addressOf = ({ point }: Step): string => `${point.replace(/\W/g, '-').toLowerCase()}@sink.test`
  const send = (step: Step): Promise<ApiAnswer> =>
    postern.api(
      'POST',
      '/v1/emails',
      key,
      { from: 'app@gw.test', to: addressOf(step), subject: 'once', text: step.point },
      { 'idempotency-key': step.point },
    )
  const emailsOf = async (step: Step): Promise<readonly { readonly id: string }[]> => {
    const query = `to=${encodeURIComponent(addressOf(step))}`
    return (await postern.api('GET', `/v1/emails?${query}`, key)).body.data
  }

  /** From here on there is one email, and asking again, even after another restart's worth of replays, shows it. */
  const demandOne = async (t: Test, step: Step, first: ApiAnswer | null): Promise<void> => {
    const answers = [...(first === null ? [] : [first]), await send(step), await send(step)]
    for (const { status } of answers) t.equal(status, 202)
    t.equal(new Set(answers.map(({ text }) => text)).size, 1, 'one answer, byte for byte')
    t.equal(answers.at(-1)?.headers.get('idempotent-replayed'), 'true')
    const [{ id } = { id: '' }, ...others] = await emailsOf(step)
    t.strictSame([id, others], [answers[0]?.body.id, []], 'one email')
    await postern.until(key, id, ['sent', 'delivered'])
    t.equal((await send(step)).text, answers[0]?.text, 'the same after it was sent')
    const copies = mx.messages.filter((raw) => raw.includes(`<${id}@`)).length
    const { text: events } = await postern.api('GET', `/v1/emails/${id}/events`, key)
    t.ok(copies === 1 || (step.ambiguous && copies === 2 && events.includes('ambiguous')), `${copies} copies`)
  }

  const locked: { readonly step: Step; readonly since: number }[] = []
  for (const step of STEPS) {
    await t.test(step.point, async (t) => {
      await postern.start({ POSTERN_CRASH_AT: step.point })
      const since = Date.now()
      const first = await send(step).catch(() => null)
      // where the answer came first, death follows
      t.equal(await postern.ended, null, 'died by the signal')
      await postern.start()
      if (step.left === 'lock') {
        t.equal(first, null, 'nobody was told that it was accepted')
        const again = await send(step)
        t.strictSame([again.status, again.body.code], [409, 'idempotency.in_progress'])
        t.equal(again.headers.get('retry-after'), '1')
        t.same(await emailsOf(step), [], 'no email')
        locked.push({ step, since })
      } else {
        t.equal((await emailsOf(step)).length, step.left === 'answer' ? 1 : 0)
        await demandOne(t, step, first)
      }
      await postern.stop()
    })
  }

  await t.test('a key whose request died unlocks after a minute', { timeout: 120_000 }, async (t) => {
    await postern.start()
    for (const { step, since } of locked) {
      await sleep(Math.max(0, since + LOCK_MS + SLACK_MS - Date.now()))
      const again = await send(step)
      t.equal(again.headers.get('idempotent-replayed'), null, 'sent now')
      await demandOne(t, step, again)
    }
    t.equal(locked.length, STEPS.filter(({ left }) => left === 'lock').length)
  })
})
