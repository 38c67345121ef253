/** Pools for domains of recipients, as they are written and read. */
import t from 'tap'
import { routesIn } from '../../src/cli/workspace.js'
import { openDesk } from './desk.js'

t.test('written', async (t) => {
  t.equal(routesIn(undefined, []), undefined)
  const before = [
    { domain: 'a.test', poolId: 'pool_1' },
    { domain: '.a.test', poolId: 'pool_2' },
  ]
  t.same(routesIn(['A.Test=eu', 'bücher.example.=main', '.a.test=none'], before), [
    { domain: 'a.test', pool: 'eu' },
    { domain: 'xn--bcher-kva.example', pool: 'main' },
  ])
  t.same(routesIn(['.x.test=eu'], before)?.length, 3)
  for (const wrong of ['', 'none', 'a.test', 'a.test=', '=eu', 'a b=eu', 'x@a.test=eu', '..a.test=eu'])
    t.throws(() => routesIn([wrong], []), /--route/, wrong)
  t.throws(() => routesIn(['a.test=eu', 'A.test=us'], []), /twice/)
})

t.test('of a workspace', async (t) => {
  const desk = openDesk(t)
  await desk.json(['pool', 'create', 'eu', '--upstream', 'smtp://127.0.0.1:9?tls=none'])
  const { id } = (await desk.json(['pool', 'show', 'eu'])) as { id: string }
  const update = ['workspace', 'update', 'default']
  t.match(await desk.json([...update, '--route', 'A.test=eu', '--route', '.b.test=eu']), {
    routes: [
      { domain: 'a.test', egress_pool_id: id },
      { domain: '.b.test', egress_pool_id: id },
    ],
  })
  t.match(await desk.run(['workspace', 'show', 'default']), { stdout: /a\.test=eu, \.b\.test=eu/ })
  t.match(await desk.run([...update, '--route', 'c.test=nowhere']), {
    code: 65,
    stderr: /names no egress pool/,
  })
  t.match(await desk.run([...update, '--route', 'nonsense']), { code: 64, stderr: /--route/ })
  t.match(await desk.run(['pool', 'delete', 'eu', '--yes']), { stderr: /uses this pool/ })
  t.match(await desk.json([...update, '--route', 'a.test=none', '--route', '.b.test=none']), { routes: [] })
  t.match(await desk.run(['pool', 'delete', 'eu', '--yes']), { code: 0 })
})
