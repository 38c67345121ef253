/**
 * A disk that fills under load: only 503 and 452, reads go on, the
 * process stays, what was acknowledged is sent, and with room all resumes.
 */
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { smallDisk } from '../parts/mount.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What the bounce door says to a mail for us: it must not take what it can not keep. */
const bannerOf = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', (chunk) => {
      resolve(String(chunk))
      socket.destroy()
    })
    socket.once('error', reject)
  })

t.test('fill, hold, free', { timeout: 240_000 }, async (t) => {
  const disk = smallDisk(64)
  if (typeof disk === 'string') {
    t.comment(`no disk of our own: ${disk}`)
    return
  }
  const mx = await new PlainMx().start()
  const postern = new Postern({
    data_dir: join(disk.path, 'data'),
    rate_limit: { per_minute: 1_000_000 },
    limits: { min_free_disk: 0 }, // the mark would keep the disk from ever being full
    relay: { retry: ['1s'] },
  })
  t.teardown(async () => {
    await postern.remove()
    await mx.stop()
    disk.remove()
  })
  await postern.start()
  await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
  const key = await postern.key('--rate-limit', '1000000')
  let ended: unknown = 'runs'
  void postern.ended.then((code) => {
    ended = code
  })

  const acknowledged = new Set<string>()
  const answers = new Map<number | string, number>()
  let running = true
  const send = async (worker: number, size: number): Promise<number> => {
    const answer = await postern.api('POST', '/v1/emails', key, {
      from: 'load@gw.test',
      to: `w${worker}@sink.test`,
      subject: 'full',
      text: 'x'.repeat(size),
    })
    answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1)
    if (answer.status === 202) acknowledged.add(answer.body.id)
    return answer.status
  }
  const load = [2_000, 2_000, 20_000, 100_000].map(async (size, worker) => {
    while (running) {
      const status = await send(worker, size)
      if (status !== 202) await sleep(20)
    }
  })
  await eventually('mail flows', () => mx.messages.length > 20)
  await eventually('ballast is laid', () => statfsSync(disk.path).bfree > 0 && acknowledged.size > 50)

  const filler = join(disk.path, 'filler')
  const fill = (): void => {
    const { bavail, bsize } = statfsSync(disk.path)
    try {
      writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - 1024 * 1024)), { flag: 'a' })
    } catch {
      // somebody else took the room: as full as can be
    }
  }
  fill()
  await eventually('sends are refused', () => (answers.get(503) ?? 0) > 5)
  const held = Date.now()
  while (Date.now() - held < 5_000) {
    fill()
    await sleep(200)
  }
  t.equal(ended, 'runs', 'the process stays')
  const smtp = createTransport({
    host: '127.0.0.1',
    port: postern.ports.submission[0] ?? 0,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'x', pass: key },
  })
  const letter = { from: 'load@gw.test', to: 's@sink.test', subject: 'full', text: 'x'.repeat(2_000_000) }
  const refusal = await smtp.sendMail(letter).catch((error) => error)
  t.match(refusal, { response: /^452 4\.3\.1 / })
  const read = await postern.api('GET', '/v1/emails?limit=1', key)
  t.equal(read.status, 200, 'reads go on')
  t.match(await bannerOf(postern.ports.bounce), /^220 /)

  rmSync(filler)
  const freed = Date.now()
  const before = acknowledged.size
  await eventually('sends are taken again', () => acknowledged.size > before)
  t.comment(`taken again ${Date.now() - freed} ms after there was room`)
  running = false
  await Promise.all(load)
  t.comment(`answers ${JSON.stringify([...answers])}`)
  t.same(
    [...answers.keys()].filter((status) => status !== 202 && status !== 503),
    [],
    'only 202 and 503',
  )
  const copies = (): Set<string> =>
    new Set(mx.messages.map((raw) => /^message-id:\s*<(em_[0-9a-z]{26})@/im.exec(raw)?.[1] ?? ''))
  await eventually('all that was acknowledged is sent', () => {
    const sent = copies()
    return [...acknowledged].every((id) => sent.has(id))
  })
  t.equal(ended, 'runs')
  t.ok(acknowledged.size > 50)
})
