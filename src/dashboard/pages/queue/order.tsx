/**
 * NAME      order - what an order to the queue would meet, and the button that gives it
 *   Looks first (a dry run), says the number and what follows, asks for a reason, and does it. The same address with
 *   the same query shows the same part of the queue, so an order can be handed to somebody else as a link. Before one
 *   hold is lifted, the page says who wrote what, and how many recipients of its part are held.
 */
import { type Hold, recipients } from '../../../record/queue.js'
import type { Form } from '../../form.js'
import { ActionForm, Choice, Field, Hidden, Leave, Send } from '../../parts/form.js'
import { Choices, Empty, Facts, PageBody } from '../../parts/page-parts.js'
import type { ListPage } from '../../parts/table.js'
import { figure, Time } from '../../parts/text.js'
import { does, type FormDone, type SitePage, titled, type View, type Visit } from '../../visit.js'
import {
  actLink,
  type PlaceNames,
  placesOf,
  type QueueVerb,
  SCOPE_NAMES,
  type ScopeWords,
  scopeWords,
  VERBS,
} from './holds.js'

interface Matched {
  readonly waiting: number
  readonly held: number
  readonly under_way: number
}

interface Ordered {
  readonly matched: Matched
  readonly changed: number
}

interface Words {
  readonly tab: string
  readonly does: string
  readonly follows: string
  readonly harm?: boolean
  readonly about: (matched: Matched) => number
  readonly done: (n: number) => string
}

const all = ({ waiting, held, under_way }: Matched): number => waiting + held + under_way
const be = (n: number): string => (n === 1 ? 'is' : 'are')

const WORDS: Readonly<Record<QueueVerb, Words>> = {
  retry: {
    tab: 'Retry',
    does: 'Retry now',
    follows:
      'They become due at once. Limits of upstreams and slower paces still hold; what is held stays held.',
    about: ({ waiting }) => waiting,
    done: (n) =>
      n === 0
        ? 'Nothing changed: all of them are due already, and leave as soon as an upstream takes them.'
        : `${recipients(n)} ${be(n)} due now.`,
  },
  hold: {
    tab: 'Hold',
    does: 'Hold',
    harm: true,
    follows:
      'Nothing of this leaves any more, now or later, until somebody releases the hold. Mail is still taken. What is on the wire ends.',
    about: ({ waiting }) => waiting,
    done: (n) => `Held: ${recipients(n)}, and what comes later. It stands until somebody releases it.`,
  },
  release: {
    tab: 'Release',
    does: 'Release',
    follows:
      'Lifts the holds of exactly this part, and lets its mail go on at once, also what may have been sent already when a connection broke. What another hold covers stays.',
    about: ({ held }) => held,
    done: (n) => `${recipients(n)} released.`,
  },
  reroute: {
    tab: 'Move',
    does: 'Move',
    follows: 'The next attempt goes through the other pool. What is on the wire finishes where it is.',
    about: all,
    done: (n) => `${recipients(n)} moved.`,
  },
  purge: {
    tab: 'Give up',
    does: 'Give up for good',
    harm: true,
    follows:
      'They become bounced, or canceled while scheduled, and senders are told so. It cannot be undone. What is on the wire is left alone.',
    about: all,
    done: (n) => `${recipients(n)} given up.`,
  },
}

const isVerb = (text: string | null): text is QueueVerb => VERBS.some((one) => one === text)

const scopeFrom = (read: (name: string) => string | null): ScopeWords =>
  Object.fromEntries(
    SCOPE_NAMES.flatMap((name) => {
      const value = read(name)
      return value === null ? [] : [[name, value]]
    }),
  )

/** As /v1 wants it: what names no part says that it means everything. */
const bodyScope = (scope: ScopeWords) => (Object.keys(scope).length === 0 ? { all: true } : scope)

/** Every order meets the same recipients, and concerns those of them that it is about; this look changes nothing. */
const look = (visit: Visit, scope: ScopeWords): Promise<Ordered> =>
  visit.ask<Ordered>('POST', '/v1/queue/retry', { body: { scope: bodyScope(scope), dry_run: true } })

const Target = ({ places, scope }: { places: PlaceNames; scope: ScopeWords }) => (
  <Choice
    name="to"
    label="To the pool"
    options={places.pools
      .filter(({ id, text }) => id !== scope.egress_pool_id && text !== 'sandbox')
      .map(({ id, text }) => [id, text] as const)}
  />
)

const titleOf = (verb: QueueVerb, n: number): string =>
  n > 0
    ? `This matches ${recipients(n)}.`
    : verb === 'hold'
      ? 'Nothing of this waits now.'
      : 'This matches nothing.'

interface OrderProps {
  readonly visit: Visit
  readonly verb: QueueVerb
  readonly scope: ScopeWords
  readonly places: PlaceNames
  readonly matched: Matched
}

const Reason = () => (
  <Field
    name="reason"
    label="Reason"
    hint="Stands in the timeline of each mail, and in the audit."
    required
    maxLength={500}
  />
)

const OrderForm = ({ visit, verb, scope, places }: Omit<OrderProps, 'matched'>) => {
  const words = WORDS[verb]
  return (
    <ActionForm action="order">
      <p>{words.follows}</p>
      <Hidden of={{ verb, ...scope }} />
      {verb === 'reroute' ? <Target {...{ places, scope }} /> : null}
      <Reason />
      <Send harm={words.harm} beside={<Leave to={visit.link('/queue')} />}>
        {words.does}
      </Send>
    </ActionForm>
  )
}

const Order = (props: OrderProps) => {
  const { visit, verb, scope, places, matched } = props
  const n = WORDS[verb].about(matched)
  return (
    <PageBody
      crumb={['/queue', 'Queue', WORDS[verb].tab.toLowerCase()]}
      title={titleOf(verb, n)}
      says={`Of ${scopeWords(scope, places)}${visit.scope.workspace === null ? '' : `, in workspace ${places.workspace(visit.scope.workspace)}`}.`}
      actions={
        <Choices
          label="What to do"
          options={VERBS.map((one) => ({
            href: actLink(visit, one, scope),
            text: WORDS[one].tab,
            on: one === verb,
          }))}
        />
      }
    >
      <section>
        <Facts
          facts={[
            ['Waiting', figure(matched.waiting)],
            ['Held', figure(matched.held)],
            ['Under way', figure(matched.under_way)],
          ]}
        />
      </section>
      <section>
        <OrderForm {...props} />
      </section>
    </PageBody>
  )
}

const give = async (visit: Visit, form: Form): Promise<FormDone> => {
  const verb = form.text('verb')
  if (!isVerb(verb)) return { to: visit.link('/queue') }
  const scope = bodyScope(scopeFrom((name) => form.text(name)))
  const reason = form.raw('reason')
  const path = verb === 'hold' ? '/v1/holds' : `/v1/queue/${verb}`
  const to = verb === 'reroute' ? { to: form.text('to') } : {}
  const { changed } = await visit.ask<Ordered>('POST', path, { body: { scope, reason, ...to } })
  return { to: visit.link('/queue'), notice: WORDS[verb].done(changed) }
}

const orderPage: SitePage = {
  path: '/queue/order',
  opens: 'retryQueue',
  async view(visit, refused) {
    const asked = refused?.form.text('verb') ?? visit.query('verb')
    const verb = isVerb(asked) ? asked : 'retry'
    const scope = scopeFrom((name) => refused?.form.text(name) ?? visit.query(name))
    const [{ matched }, places] = await Promise.all([look(visit, scope), placesOf(visit)])
    return titled(`${WORDS[verb].tab}: queue`, <Order {...{ visit, verb, scope, places, matched }} />)
  },
  actions: { order: does('retryQueue', give) },
}

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

const releasePage: SitePage = {
  path: '/queue/release',
  opens: 'liftHold',
  async view(visit) {
    const id = visit.query('hold')
    const [holds, places] = await Promise.all([
      visit.ask<ListPage<Hold>>('GET', '/v1/holds', { query: { limit: 100 } }),
      placesOf(visit),
    ])
    const hold = holds.data.find((one) => one.id === id)
    if (hold === undefined) return gone(visit)
    const { matched } = await visit.ask<Ordered>('POST', '/v1/queue/release', {
      body: { scope: partOf(hold), dry_run: true },
    })
    return titled(
      'Release a hold',
      <PageBody
        crumb={['/queue', 'Queue', 'release']}
        title={`${recipients(matched.held)} of ${scopeWords(hold, places)} ${matched.held === 1 ? 'is' : 'are'} held.`}
        says="What another hold covers too stays held; the rest is due at once."
      >
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
            <Reason />
            <Send beside={<Leave to={visit.link('/queue')} />}>Release</Send>
          </ActionForm>
        </section>
      </PageBody>,
    )
  },
  actions: {
    release: does('liftHold', async (visit, form) => {
      const path = `/v1/holds/${encodeURIComponent(form.raw('hold'))}`
      const { changed } = await visit.ask<{ changed: number }>('DELETE', path, {
        body: { reason: form.raw('reason') },
      })
      return { to: visit.link('/queue'), notice: `The hold is lifted: ${recipients(changed)} set free.` }
    }),
  },
}

export const orderPages: readonly SitePage[] = [orderPage, releasePage]
