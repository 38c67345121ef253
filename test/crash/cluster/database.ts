/** The database breaks, or what lies between: nobody is taken over for it, and nothing is lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WAYS, type Way } from '../../parts/database-proxy.js'
import { eventually } from '../../parts/eventually.js'
import { type Fault, survived } from './fault.js'
import type { Fleet } from './fleet.js'

const outage = (how: 'fast' | 'immediate', seconds: (fleet: Fleet) => number): Fault['run'] =>
  survived(async (fleet) => {
    await fleet.server.stop(how)
    await sleep(seconds(fleet) * 1_000)
    await fleet.server.start()
  })

const cut = survived(async (fleet) => {
  for (let i = 0; i < 6; i++) {
    const { proxy } = fleet.any()
    const { cuts } = proxy
    proxy.arm(WAYS[fleet.below(WAYS.length)] as Way, fleet.below(6))
    await eventually('a connection is cut', () => proxy.cuts > cuts)
  }
})

const terminate = survived(async (fleet) => {
  for (let i = 0; i < 5; i++) {
    const which = fleet.below(3)
    const some = which === 0 ? '' : ` AND pid % 3 = ${which}`
    fleet.sql(
      `SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'postern/%'${some}`,
    )
    await sleep(fleet.random() * 400)
  }
})

/** A standby that confirms each commit takes over from a primary that crashed: they find it under the same address. */
const promote = survived(async (fleet) => {
  const { server: primary, standby } = fleet
  if (standby === null) throw new Error('there is no standby')
  primary.sql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '*'")
  primary.sql('postgres', 'SELECT pg_reload_conf()')
  await eventually(
    'the standby is synchronous',
    () => primary.sql('postgres', 'SELECT sync_state FROM pg_stat_replication') === 'sync',
  )
  await fleet.flows()
  await primary.stop('immediate')
  for (const { proxy } of fleet.daemons) proxy.to = standby.port
  await sleep(fleet.random() * 2_000) // they find one that takes no writes
  fleet.server = standby
  fleet.standby = null
  standby.promote()
})

export const DATABASE_FAULTS: readonly Fault[] = [
  { name: 'cut', says: 'sockets to the database are cut in the middle of a commit', run: cut },
  { name: 'immediate', says: 'the database crashes and starts', run: outage('immediate', () => 0) },
  { name: 'terminate', says: 'sessions of the database are terminated', run: terminate },
  {
    name: 'away',
    says: 'the database is away',
    run: outage('fast', ({ random }) => 5 + random() * 20),
  },
  {
    name: 'long',
    says: 'the database is away for 90 s',
    isOnce: true,
    run: outage('fast', () => 90),
  },
  { name: 'promote', says: 'the database crashes, and its standby is promoted', isOnce: true, run: promote },
]
