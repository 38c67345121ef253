/**
 * NAME      state - what GET /v1/queue and GET /v1/queue/ages answer
 */
import type { Age, PoolDepth, SlowDomain } from '../../../record/queue.js'
import type { QueueStateRecord } from '../../../record/queue-state.js'

export interface Queue {
  readonly state: { readonly live: QueueStateRecord; readonly test?: QueueStateRecord }
  readonly data: readonly PoolDepth[]
  readonly throttled: readonly SlowDomain[]
}

export interface Ages {
  readonly by: 'pool' | 'workspace' | 'domain'
  readonly complete: boolean
  readonly scheduled: number
  readonly data: readonly Age[]
}
