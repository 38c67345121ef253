/**
 * Large bodies under a memory limit: the kernel would kill the daemon, so it must refuse what it
 * can not hold, and be small again soon after.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

const MIB = 1024 * 1024
/** Beside what the daemon has when it is put into the group, which stays charged where it was. */
const MORE = 240 * MIB
const BUDGET = 48 * MIB
const ROUNDS = 1

/** A control group with a limit, or why there is none. */
const limitedGroup = (bytes: number): { readonly path: string } | string => {
  const kinds = [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ] as const
  const reasons: string[] = []
  for (const [root, limit] of kinds) {
    const path = join(root, `postern-test-${process.pid}`)
    try {
      mkdirSync(path)
      writeFileSync(join(path, limit), String(bytes))
      return { path }
    } catch (error) {
      reasons.push((error as Error).message)
    }
  }
  return reasons.join('; ')
}

const rssOf = (pid: number): number =>
  1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

t.test('sixteen bodies of 5 and 20 MB at once, and as many messages', { timeout: 300_000 }, async (t) => {
  const group = limitedGroup(MORE)
  if (typeof group === 'string') t.comment(`NO MEMORY LIMIT: no control group can be made here (${group})`)
  const postern = new Postern({ limits: { memory: BUDGET, min_free_disk: 0 } })
  t.teardown(async () => {
    await postern.remove()
    if (typeof group !== 'string') rmdirSync(group.path)
  })
  await postern.start()
  const key = await postern.key('--mode', 'test', '--rate-limit', '100000')
  let ended: unknown = 'runs'
  void postern.ended.then((code) => {
    ended = code
  })
  const small = { from: 'a@gw.test', to: 'held@sink.test', text: 'x' }
  t.equal((await postern.api('POST', '/v1/emails', key, small)).status, 202)
  const before = rssOf(postern.pid)
  if (typeof group !== 'string') writeFileSync(join(group.path, 'cgroup.procs'), String(postern.pid))

  const answers = new Map<number | string, number>()
  const note = (answer: number | string) => answers.set(answer, (answers.get(answer) ?? 0) + 1)
  const post = async (bytes: number): Promise<void> => {
    const content = Buffer.alloc((bytes * 3) / 4).toString('base64')
    const body = { ...small, attachments: [{ filename: 'a.bin', content }] }
    const reply = await postern
      .api('POST', '/v1/emails', key, body)
      .catch(() => ({ status: 0, headers: new Headers() }))
    note(reply.status)
    if (reply.status === 503) t.ok(Number(reply.headers.get('retry-after')) >= 1)
  }
  const submit = async (bytes: number): Promise<void> => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: postern.ports.submission[0],
      auth: { user: 'x', pass: key },
      tls: { rejectUnauthorized: false },
    })
    const attachments = [{ filename: 'a.bin', content: Buffer.alloc(bytes) }]
    await transport.sendMail({ ...small, attachments }).then(
      () => note('250'),
      (error: { responseCode?: number }) => note(`smtp ${error.responseCode}`),
    )
    transport.close()
  }
  for (let round = 0; round < ROUNDS; round++) {
    const sizes = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? 5 : 20) * MIB)
    await Promise.all([...sizes.map(post), ...sizes.map((size) => submit(size / 2))])
  }
  t.comment(`answers: ${JSON.stringify([...answers])}`)
  t.equal(ended, 'runs', 'the daemon lives')
  // which door comes first to the memory that they share, nobody knows
  const count = (...said: readonly (number | string)[]) =>
    said.reduce<number>((sum, one) => sum + (answers.get(one) ?? 0), 0)
  t.ok(count(202, '250') > 0, 'some bodies were taken')
  t.ok(count(503, 'smtp 452') > 0, 'others refused for now')
  t.strictSame(
    [...answers.keys()].filter((one) => ![202, 503, '250', 'smtp 452'].includes(one)),
    [],
    'and nothing else was said',
  )
  await eventually('its memory is back near the start', () => rssOf(postern.pid) < before + 60 * MIB, {
    ms: 30_000,
    seen: () => `${(rssOf(postern.pid) - before) / MIB} MiB more`,
  })
  t.equal((await postern.api('POST', '/v1/emails', key, small)).status, 202)
})
