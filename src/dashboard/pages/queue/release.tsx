/**
 * NAME      release - lifting one hold
 * DESCRIPTION
 *   Says what stands behind the hold before it is lifted: who wrote what, and how many recipients of its part are held.
 */
import type { Hold } from '../../../record/queue.js'
import { recipients } from '../../../record/queue-state.js'
import type { Page, View } from '../../page.js'
import { ActionForm, Field, Leave, Send } from '../../parts/form.js'
import { Empty, Facts, Head } from '../../parts/page-parts.js'
import type { List } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { scopeWords } from './holds.js'
import type { Ordered } from './order.js'
import { placesOf } from './places.js'

const partOf = ({ workspace_id, egress_pool_id, domain, email_id }: Hold) => {
  const named = Object.entries({ workspace_id, egress_pool_id, domain, email_id }).filter(
    ([, value]) => value !== null,
  )
  return named.length === 0 ? { all: true } : Object.fromEntries(named)
}

const gone = (visit: Visit): View => ({
  title: 'Hold',
  status: 404,
  body: (
    <Empty whole title="This hold stands no more">
      <p>Somebody released it. What it kept goes on, unless another hold covers it.</p>
      <p>
        <a href={visit.link('/queue')}>To the queue</a>
      </p>
    </Empty>
  ),
})

export const releasePage: Page = {
  path: '/queue/release',
  opens: 'liftHold',
  async view(visit) {
    const id = visit.query('hold')
    const [holds, places] = await Promise.all([
      visit.ask<List<Hold>>('GET', '/v1/holds', { query: { limit: 100 } }),
      placesOf(visit),
    ])
    const hold = holds.data.find((one) => one.id === id)
    if (hold === undefined) return gone(visit)
    const { matched } = await visit.ask<Ordered>('POST', '/v1/queue/release', {
      body: { scope: partOf(hold), dry_run: true },
    })
    return {
      title: 'Release a hold',
      body: (
        <>
          <Head
            crumb={['/queue', 'Queue', 'release']}
            title={`${recipients(matched.held)} of ${scopeWords(hold, places)} ${matched.held === 1 ? 'is' : 'are'} held.`}
            says="What another hold covers too stays held; the rest is due at once."
          />
          <section>
            <Facts
              facts={[
                ['Why', <span dir="auto">{hold.reason}</span>],
                ['By', hold.owner === 'operator' ? 'an operator' : 'a key of the workspace'],
                ['Since', <Time at={hold.created_at} />],
                ['Id', <code>{hold.id}</code>],
              ]}
            />
          </section>
          <section>
            <ActionForm action="release">
              <input type="hidden" name="hold" value={hold.id} />
              <Field
                name="reason"
                label="Reason"
                hint="Stands in the timeline of each mail, and in the audit."
                required
                maxLength={500}
              />
              <Send beside={<Leave to={visit.link('/queue')} />}>Release</Send>
            </ActionForm>
          </section>
        </>
      ),
    }
  },
  does: { release: 'liftHold' },
  actions: {
    async release(visit, form) {
      const path = `/v1/holds/${encodeURIComponent(form.raw('hold'))}`
      const { changed } = await visit.ask<{ changed: number }>('DELETE', path, {
        body: { reason: form.raw('reason') },
      })
      return { to: visit.link('/queue'), notice: `The hold is lifted: ${recipients(changed)} set free.` }
    },
  },
}
