/**
 * NAME      deps - what the endpoints work with
 *   Made once, at start. `by` binds it to whoever calls: what is changed from there on stands under that name in the audit.
 */

import type { Clock } from '../base/clock.js'
import type { Dialler } from '../base/dial.js'
import type { Kept } from '../base/kept.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import type { MarkCodec } from '../record/event.js'
import type { Relay } from '../relay/relay.js'
import type { SetupDeps } from '../setup/world.js'
import type { Cluster } from '../store/port/cluster.js'
import type { Audit, Identity } from '../store/port/identity.js'
import type { EventLog } from '../store/port/log.js'
import type { EmailSearch, Jobs, Ledger, Queue, Schedule } from '../store/port/mail.js'
import type { Operations } from '../store/port/operations.js'
import type { Acted } from '../store/port/store.js'
import type { DomainReports, Domains, Setups, Tenants } from '../store/port/tenants.js'
import type { Lifecycle, Upkeep } from '../store/port/upkeep.js'
import type { Incidents, Reading, Statistics, Warmups, Watch } from '../store/port/watch.js'
import type { Submission } from '../submission/submission.js'
import type { TxtLookup } from '../tenant/domain/check.js'
import type { Tenancy } from '../tenant/tenants.js'
import type { HookDeps } from '../webhook/endpoints.js'
import type { Feed, Slots } from './feed.js'
import type { CursorCodec } from './list.js'
import type { BodyReader } from './thread/reader.js'

type HttpStore = Acted<
  Ledger &
    Schedule &
    Tenants &
    Incidents &
    Identity &
    Audit &
    EventLog &
    Pick<Queue, 'accept' | 'body'> &
    Pick<Upkeep, 'depth'> &
    Operations &
    Setups &
    Domains &
    DomainReports &
    Pick<Reading, 'readPlaces' | 'readLog'> &
    Statistics &
    EmailSearch &
    Jobs &
    HookDeps['store'] &
    Cluster &
    Pick<Watch, 'outages'> &
    Pick<Warmups, 'warmupDays'> &
    Pick<Lifecycle, 'system'>
>

export interface HttpDeps {
  readonly store: HttpStore
  readonly tenants: Tenancy
  readonly submission: Submission
  readonly config: Config
  readonly clock: Clock
  /** Where clients reach this daemon. */
  readonly baseUrl: () => string
  readonly log: Log
  readonly cursors: CursorCodec
  /** Calls endpoints of webhooks, for a test, and knows which it must not call. */
  readonly dialler: Dialler
  /** Calls token endpoints of upstreams. */
  readonly tokenDialler: Dialler
  readonly marks: MarkCodec
  /** Serves the event streams, of which `slots` bounds the number. */
  readonly feed: Feed
  readonly slots: Slots
  /** Reads what would keep this thread busy for too long. */
  readonly reader: BodyReader
  /** The state of the queue, by whose it is, and what stands around pages. */
  readonly kept: Kept
  /** When it runs in this process: what it last saw of the upstreams, and a nudge when pools change or are to be tried again. */
  readonly relay?: Pick<Relay, 'upstreams' | 'reload' | 'view' | 'wake'> | undefined
  /** Where the SMTP door really listens, in the order of the configuration; by default as that says. */
  readonly door?: { readonly addresses: readonly { readonly port: number }[] } | undefined
  /** What a setup is planned and applied with. */
  readonly setup: Omit<SetupDeps, 'dialler'>
  /** What failed of the setup that this daemon was to apply at its start, a line for each mistake. */
  readonly setupFailed?: (() => readonly string[] | null) | undefined
  /** Who is asked about DNS; by default the name servers of this host. */
  readonly lookup?: TxtLookup | undefined
}
