/**
 * NAME      ground - what the endpoints stand on
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import type { Relay } from '../relay/relay.js'
import type { Ledger, Queue, Schedule, Upkeep } from '../store/port.js'
import type { Operations } from '../store/port-operations.js'
import type { Tenants } from '../store/port-tenants.js'
import type { Submission } from '../submission/submission.js'
import type { Tenancy } from '../tenant/tenants.js'
import type { CursorCodec } from './cursor.js'
import type { Call } from './endpoint.js'
import { type Envelope, type ListRequest, listPage } from './list.js'
import type { BodyReader } from './thread/reader.js'

export type HttpStore = Ledger &
  Schedule &
  Tenants &
  Pick<Queue, 'body'> &
  Pick<Upkeep, 'depth'> &
  Pick<Operations, 'holds' | 'entriesOf'>

export interface Ground {
  readonly store: HttpStore
  readonly tenants: Tenancy
  readonly submission: Submission
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly cursors: CursorCodec
  /** Reads what would keep this thread busy for too long. */
  readonly reader: BodyReader
  /** When it runs in this process: what it last saw of the upstreams, and a nudge when pools change. */
  readonly relay?: Pick<Relay, 'upstreams' | 'reload' | 'view'> | undefined
}

/** A page of an endpoint, for this caller: its cursors fit no other endpoint, account, workspace or mode. */
export const pageFor = <Row>(
  ground: Ground,
  endpoint: string,
  call: Call,
  list: Omit<ListRequest<Row>, 'bound'>,
): Promise<Envelope> => {
  const { accountId, workspaceId, via, mode } = call.principal
  const bound = [endpoint, accountId, workspaceId ?? '', via === 'session' ? '' : mode]
  return listPage(ground.cursors, { ...list, bound })
}
