/**
 * NAME      domain-check - what we know of the domain that a mail is from
 * DESCRIPTION
 *   From the records of the sending domains that are kept here; nobody is asked anything. SPF and DMARC are only known
 *   where the domain was added.
 */
import type { ComponentChildren } from 'preact'
import { Icon } from '../../parts/status.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'

interface Domain {
  readonly name: string
  readonly verified: boolean
  readonly checked_at: string | null
}

const domainOf = (from: string): string | null => /@([^\s<>@]+?)>?\s*$/.exec(from)?.[1]?.toLowerCase() ?? null

export const domainCheck = async (visit: Visit, from: string): Promise<ComponentChildren> => {
  const name = domainOf(from)
  if (name === null) return null
  const domain = await visit.part<Domain>(`/v1/domains/${encodeURIComponent(name)}`, { scoped: false })
  const known = 'verified' in domain
  const isGood = known && domain.verified
  return (
    <li>
      <Icon name={isGood ? 'delivered' : 'alarm'} tone={isGood ? 'ok' : 'wait'} />
      <div>
        <h3>
          <span class="hid">{isGood ? 'Good: ' : 'Look: '}</span>DKIM, SPF, DMARC of <bdi>{name}</bdi>
        </h3>
        <p class="soft">
          {!known ? (
            <>
              Not known: the domain is not among the <a href={visit.link('/domains')}>sending domains</a>, so
              nothing is signed for it here.
            </>
          ) : (
            <>
              {domain.verified
                ? 'Its DKIM keys are published, and mail is signed.'
                : 'Its DKIM keys are not published.'}{' '}
              Looked at <Time at={domain.checked_at} />:{' '}
              <a href={visit.link(`/domains/${name}`)}>the records</a>.
            </>
          )}
        </p>
      </div>
    </li>
  )
}
