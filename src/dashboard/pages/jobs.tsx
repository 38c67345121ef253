/** NAME      jobs - what is done to many mails at once, and how far it is */
import { type Job, matchedWords } from '../../record/email.js'
import { Verb } from '../parts/form.js'
import { Empty, Facts, Head, LiveState, PageBody, Refreshed } from '../parts/page-parts.js'
import { type ListPage, Pager, Table } from '../parts/table.js'
import { figure, spanWords, Time } from '../parts/text.js'
import { does, type SitePage, titled } from '../visit.js'

const met = ({ done, skipped, failed }: Job): number => done + skipped + failed

const sentence = (job: Job): string => {
  const of = `${figure(met(job))} of ${matchedWords(job.matched, figure)}`
  const left = job.seconds_left === null ? '' : `, about ${spanWords(job.seconds_left * 1000)} left`
  const pace = job.per_second === null ? '' : ` ${figure(Math.round(job.per_second))} a second${left}.`
  if (job.state === 'running') return `Under way: ${of} mails.${pace}`
  const failed = job.failed === 0 ? '' : ` ${job.failed} could not be changed.`
  return `${job.state === 'done' ? 'Done' : 'Ended before its end'}: ${figure(job.done)} mails changed.${failed}`
}

const jobPage: SitePage = {
  path: '/jobs/{id}',
  async view(visit) {
    const job = await visit.ask<Job>('GET', `/v1/jobs/${encodeURIComponent(visit.params.id ?? '')}`)
    return titled(
      sentence(job),
      <>
        <Refreshed id="job">
          <Head
            crumb={['/jobs', 'Jobs']}
            title={sentence(job)}
            {...(job.state === 'running' && {
              says: <a href={visit.here({})}>Look again</a>,
              ...(visit.may('cancelJob') && {
                actions: (
                  <Verb action="cancel" label="End it" harm reason="none">
                    <p>
                      What it has done stays done, and the mails of the step that is under way may be met.
                    </p>
                  </Verb>
                ),
              }),
            })}
          />
          {typeof job.matched === 'number' ? (
            <progress value={met(job)} max={Math.max(1, job.matched)} aria-label="Mails met" />
          ) : (
            <progress aria-label="Mails met" />
          )}
          <Facts
            facts={[
              ['What', job.action],
              ['Reason', <bdi>{job.reason}</bdi>],
              job.q === null ? null : ['Search', <code>{job.q}</code>],
              ['By', <bdi>{job.created_by_name ?? job.created_by}</bdi>],
              ['Began', <Time at={job.created_at} exact />],
              job.finished_at === null ? null : ['Ended', <Time at={job.finished_at} exact />],
              ['Changed', job.done],
              ['Needed no change', job.skipped],
              ['Could not be changed', job.failed],
              job.last_error === null ? null : ['The last of these', <code>{job.last_error}</code>],
            ]}
          />
        </Refreshed>
        {job.state === 'running' ? <LiveState /> : null}
      </>,
    )
  },
  actions: {
    cancel: does('cancelJob', async (visit) => {
      const id = visit.params.id ?? ''
      await visit.ask('POST', `/v1/jobs/${encodeURIComponent(id)}/cancel`)
      return { to: visit.link(`/jobs/${id}`) }
    }),
  },
}

const jobsPage: SitePage = {
  path: '/jobs',
  async view(visit) {
    const list = await visit.ask<ListPage<Job>>('GET', '/v1/jobs', {
      query: { cursor: visit.query('cursor') },
    })
    return titled(
      'Jobs',
      <PageBody title="Jobs" says="What was done to many mails at once; kept for 30 days after their end.">
        <Table
          caption="Jobs, newest first"
          rows={list.data}
          href={({ id }) => visit.link(`/jobs/${id}`)}
          columns={[
            { head: 'What', cell: ({ action }) => action },
            { head: 'State', cell: (job) => sentence(job) },
            { head: 'Reason', kind: 'grow', cell: ({ reason }) => <bdi>{reason}</bdi> },
            { head: 'Began', cell: ({ created_at: at }) => Time({ at }) },
          ]}
          none={
            <Empty title="None">
              <p>
                A job begins below <a href={visit.link('/emails')}>a list of mails</a>: “all that this list
                finds”.
              </p>
            </Empty>
          }
        />
        <Pager list={list} />
      </PageBody>,
    )
  },
}

export const jobPages: readonly SitePage[] = [jobPage, jobsPage]
