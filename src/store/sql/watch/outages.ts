/**
 * NAME      outages - which upstreams were told to be down
 * DESCRIPTION
 *   What was told last of an upstream is stored in the transaction of the event, so a
 *   restart neither tells it again nor forgets to tell that it is over.
 */
import type { Notice } from '../../port/log.js'
import type { Outage, Watch } from '../../port/watch.js'
import { type Asked, type Asking, all, run } from '../query.js'

const ADD = 'INSERT INTO outages (upstream_id, since) VALUES (?, ?) ON CONFLICT DO NOTHING'
const END = 'DELETE FROM outages WHERE upstream_id = ?'

/** `addNotice` writes in the transaction that runs. */
export const outageWrites = (
  addNotice: (notice: Notice) => Asking<unknown>,
): Asked<Pick<Watch, 'noteOutage'>> => ({
  *noteOutage(upstreamId, since, notice) {
    const changes = since === null ? yield* run(END, upstreamId) : yield* run(ADD, upstreamId, since)
    if (changes === 1 && notice !== null) yield* addNotice(notice)
    return changes === 1
  },
})

export const outageReads = {
  *outages(): Asking<readonly Outage[]> {
    const rows = yield* all('SELECT upstream_id, since FROM outages')
    return rows.map(({ upstream_id: upstreamId, since }) => ({ upstreamId, since }) as Outage)
  },
}
