/**
 * Whoever polls by prev_cursor sees every mail, small ones and large ones sent
 * side by side. A poller that goes by ids is the control, and must lose some.
 */
import t from 'tap'
import { MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const list = async (query: string) => {
  const { status, json, text } = await kit.ask(`/v1/emails?${query}`)
  if (status !== 200) throw new Error(text)
  return { ids: json.data.map((one: { id: string }) => one.id) as string[], ...json.pagination }
}

const LARGE_MB = [1, 10, 2, 1, 3, 1, 2, 1, 5, 1, 1, 2]
const SMALL = 96

t.test(`${LARGE_MB.length} large and ${SMALL} small sends, polled`, async (t) => {
  const sent: string[] = []
  const send = async (octets: number): Promise<void> => {
    const text = `${'x'.repeat(70)}\r\n`.repeat(Math.ceil(octets / 72))
    const { status, json } = await kit.ask('/v1/emails', { body: { ...MAIL, text } })
    if (status !== 202) throw new Error(JSON.stringify(json))
    sent.push(json.id)
  }
  let isSending = true
  const poll = async (limit: number): Promise<string[]> => {
    const seen: string[] = []
    let at = await list(`limit=${limit}`)
    // an empty page says that it was the last one only when it was asked for after the last send
    for (let wasSending = true; wasSending || at.ids.length > 0; ) {
      wasSending = isSending
      at = await list(`cursor=${at.prev_cursor}`)
      seen.unshift(...at.ids)
    }
    return seen
  }
  const byId = async (): Promise<string[]> => {
    const seen: string[] = []
    let highest = ''
    const look = async (): Promise<void> => {
      const { ids } = await list('limit=100')
      const later = ids.filter((id: string) => id > highest)
      seen.push(...later)
      highest = [highest, ...later].sort().at(-1) as string
    }
    while (isSending) await look()
    await look()
    return seen
  }
  const polled = Promise.all([poll(1), poll(7), poll(100), byId()])
  const small = async (): Promise<void> => {
    for (let i = 0; i < SMALL / 4; i++) await send(1_000)
  }
  const large = async (): Promise<void> => {
    for (const mb of LARGE_MB) await send(mb * 1e6)
  }
  await Promise.all([large(), small(), small(), small(), small()])
  isSending = false
  const [one, seven, hundred, control] = await polled

  const order: string[] = []
  for (let at = await list('limit=100'); ; at = await list(`cursor=${at.next_cursor}`)) {
    order.push(...at.ids)
    if (at.next_cursor === null) break
  }
  t.same([...order].sort(), [...sent].sort(), 'every send is listed once')
  for (const seen of [one, seven, hundred]) t.same(seen, order, 'and was polled once, in the same order')
  t.ok(control.length < order.length, `by ids it were ${control.length} of ${order.length}`)
})
