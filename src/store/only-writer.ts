/**
 * NAME      only-writer - who writes to a store that one daemon has to itself
 */
import { hostname } from 'node:os'
import type { WriterRow } from './port/cluster.js'

/** It is who asks. */
export const onlyWriter = (version: string): WriterRow => ({
  ...{ n: 0, daemonId: 'only', role: 'main', epoch: 0, lagMs: 0 },
  ...{ version, host: hostname(), settings: null, pools: null },
})
