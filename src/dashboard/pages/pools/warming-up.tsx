/**
 * NAME      warming-up - how much the new upstreams of a pool may be given, day by day
 */
import { Strips } from '../../parts/charts.js'
import { Facts, Section } from '../../parts/page-parts.js'
import { Address, figure, Time } from '../../parts/text.js'
import { addressOf, type Health, type Live, type Pool } from './upstream.js'

type Warmup = NonNullable<Live['warmup']>

const DAY_MS = 86_400_000
/** As many days fit into one chart. */
const MOST_DAYS = 60

/** Its days one after another, those without mail among them, to the last one with mail; a day without has the limit of the next. */
const calendarOf = ({ past }: Warmup) => {
  const last = Date.parse(past.at(-1)?.at ?? '')
  const first = Math.max(Date.parse(past[0]?.at ?? ''), last - (MOST_DAYS - 1) * DAY_MS)
  const times = Array.from({ length: (last - first) / DAY_MS + 1 }, (_, i) => first + i * DAY_MS)
  return times.map((at) => {
    const next = past.find((one) => Date.parse(one.at) >= at)
    const isIt = next !== undefined && Date.parse(next.at) === at
    return { at: new Date(at).toISOString(), used: isIt ? next.used : 0, limit: next?.limit ?? 0 }
  })
}

const DaysOf = ({
  warmup,
  name,
  id,
}: {
  readonly warmup: Warmup
  readonly name: string
  readonly id: string
}) => {
  const days = calendarOf(warmup)
  const times = days.map(({ at }) => at)
  const until = new Date(Date.parse(times.at(-1) ?? '') + DAY_MS).toISOString()
  const given = days.map(({ used }) => used)
  const allowed = days.map(({ limit }) => limit)
  return (
    <Strips
      {...{ id, times, until }}
      caption={`Recipients of ${name} by days of UTC`}
      strips={[
        { name: 'Given', total: given.at(-1) ?? 0, rate: 'on the last day', values: given },
        { name: 'Allowed', tone: 'ok', total: allowed.at(-1) ?? 0, rate: 'on that day', values: allowed },
      ]}
    />
  )
}

interface WarmingUpProps {
  readonly pool: Pool
  readonly health: Health | null
}

export const WarmingUp = ({ pool, health }: WarmingUpProps) => {
  const warming = pool.members.flatMap((row) => {
    const warmup = health?.members.find(({ id }) => id === row.id)?.warmup ?? null
    return warmup === null ? [] : [{ name: addressOf(row), warmup }]
  })
  if (warming.length === 0) return null
  return (
    <Section
      title="Warm-up"
      says="each day with mail allows twice as many recipients; what is over goes to other upstreams of the pool, or waits for the next day (UTC)"
      id="warm-up"
    >
      {warming.map(({ name, warmup }, at) => {
        const { day, days, used, limit, started_at, past } = warmup
        return (
          <>
            <Facts
              facts={[
                ['Upstream', <Address text={name} />],
                ['Day', limit === null ? `over after ${days} days` : `${day} of ${days}`],
                ['Today', limit === null ? 'no limit' : `${figure(used)} of ${figure(limit)} recipients`],
                ['Began', <Time at={started_at} none="begins with the first mail that it takes" />],
              ]}
            />
            {past.length === 0 ? null : <DaysOf {...{ name, warmup }} id={`warm-up-${at}`} />}
          </>
        )
      })}
    </Section>
  )
}
