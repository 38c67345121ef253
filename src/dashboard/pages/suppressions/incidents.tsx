/**
 * NAME      incidents - addresses that bounced for good at the same time wait for a decision
 */
import type { ComponentChildren } from 'preact'
import type { Incident } from '../../../record/queue.js'
import type { Form } from '../../form.js'
import { Verb } from '../../parts/form.js'
import { Note } from '../../parts/page-parts.js'
import type { List } from '../../parts/table.js'
import { Time } from '../../parts/text.js'
import type { Done, Visit } from '../../visit.js'

/** Those that nobody has decided; none where they may not be seen. */
export const openIncidents = async (
  visit: Visit,
  of: Parameters<Visit['part']>[1] = {},
): Promise<readonly Incident[]> => {
  const answer = await visit.part<List<Incident>>('/v1/incidents', {
    ...of,
    query: { open: 'true', limit: 100 },
  })
  return 'data' in answer ? answer.data : []
}

const domainOf = ({ domain }: Incident): string => (domain === '' ? 'several domains' : domain)

const before = ({ delivered_before: n }: Incident): string =>
  n === 0 ? '' : `, and ${n} of them took mail before`

export const IncidentNote = ({
  incident,
  children,
}: {
  readonly incident: Incident
  readonly children?: ComponentChildren
}) => (
  <Note tone="wait" icon="alarm">
    <p>
      <strong>
        {incident.pending} addresses of <bdi>{domainOf(incident)}</bdi> were refused together
      </strong>{' '}
      since <Time at={incident.created_at} />
      {before(incident)}: {incident.said === '' ? 'in other words each' : <q dir="auto">{incident.said}</q>}.
      Perhaps a server is broken, and they live. They are written to until somebody decides; without a
      decision in 7 days, they are written to as before.
    </p>
    {children}
  </Note>
)

export const Incidents = ({ visit, incidents }: { visit: Visit; incidents: readonly Incident[] }) => (
  <>
    {incidents.map((incident) => (
      <IncidentNote {...{ incident }}>
        {visit.may('acceptIncident') ? (
          <div class="actions">
            <Verb
              action="accept"
              label="They are dead"
              does="Suppress them"
              reason="none"
              about={{ incident: incident.id }}
            >
              {incident.pending} addresses of {domainOf(incident)} are written to no more.
            </Verb>
            <Verb
              action="dismiss"
              label="They live"
              does="Go on writing to them"
              reason="none"
              about={{ incident: incident.id }}
            >
              What was pending is forgotten. The mails that came back stay bounced.
            </Verb>
          </div>
        ) : null}
      </IncidentNote>
    ))}
  </>
)

const decide =
  (verb: 'accept' | 'dismiss', notice: string) =>
  async (visit: Visit, form: Form): Promise<Done> => {
    const id = encodeURIComponent(form.raw('incident'))
    await visit.ask('POST', `/v1/incidents/${id}/${verb}`, { scoped: false })
    return { to: visit.link('/suppressions'), notice }
  }

export const incidentActions = {
  accept: decide('accept', 'They are written to no more.'),
  dismiss: decide('dismiss', 'They are written to as before.'),
}
