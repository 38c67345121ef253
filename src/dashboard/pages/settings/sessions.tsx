/**
 * NAME      sessions - where somebody is signed in
 */
import type { OpenSession } from '../../../resource/people.js'
import { Verb } from '../../parts/form.js'
import { PageBody } from '../../parts/page-parts.js'
import { type Column, type List, Pager, Table } from '../../parts/table.js'
import { Time } from '../../parts/text.js'
import { html } from '../../render.js'
import type { Page } from '../../visit.js'

const HOW: Readonly<Record<string, string>> = {
  local: 'with a password',
  link: 'by a link',
  cli: 'made on the server',
}

const whose = (row: OpenSession): string => row.person?.name ?? row.person?.email ?? 'nobody in particular'

/** Browser and system, as far as a browser says so. */
const deviceOf = (agent: string | null): string | null => {
  if (agent === null) return null
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/[\d.]+/.exec(agent)?.[1]
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(agent)?.[1]
  if (browser === undefined) return agent.slice(0, 40)
  const name = { Edg: 'Edge', OPR: 'Opera' }[browser] ?? browser
  return system === undefined ? name : `${name} on ${system}`
}

const columns = (): readonly Column<OpenSession>[] => [
  {
    head: 'Who',
    cell: (row) =>
      html`<strong dir="auto">${whose(row)}</strong>${row.current && html`<span class="sub">this very session</span>`}`,
  },
  { head: 'Role', cell: (row) => row.role },
  { head: 'Signed in', cell: (row) => HOW[row.provider] ?? `through ${row.provider}` },
  {
    head: 'From',
    kind: 'grow',
    cell: ({ address, user_agent: agent }) =>
      html`${address}${
        agent !== null && html`<span class="sub" title="${agent}" dir="auto">${deviceOf(agent)}</span>`
      }`,
  },
  { head: 'Since', kind: 'opt', cell: (row) => Time({ at: row.created_at }) },
  { head: 'Last seen', cell: (row) => Time({ at: row.last_seen_at }) },
  { head: 'Ends', kind: 'opt', cell: (row) => Time({ at: row.expires_at }) },
  {
    head: '',
    kind: 'act',
    cell: (row) =>
      Verb({
        ...{ action: 'end', label: 'Sign out', reason: 'none', harm: true, tiny: true },
        about: { id: row.id, current: row.current ? '1' : '' },
        children: html`<p>${row.current ? 'You are signed out here.' : `${whose(row)} must sign in again there.`}</p>`,
      }),
  },
]

export const sessionsPage: Page = {
  path: '/settings/sessions',
  async view(visit) {
    const user = visit.query('user')
    const list = await visit.list<List<OpenSession>>('/v1/sessions', { user })
    const n = list.data.length
    const mayEndAll = user !== null || visit.who.person !== null
    return {
      title: 'Sessions',
      body: (
        <PageBody
          title={n === 1 ? 'One session is open.' : `${n} sessions are open.`}
          says={
            user === null ? (
              'Each is one browser that is signed in, or a token that somebody made.'
            ) : (
              <>
                Of one person. <a href="/settings/sessions">All sessions</a>
              </>
            )
          }
          actions={
            mayEndAll ? (
              <Verb
                action="end-all"
                label={user === null ? 'Sign out everywhere else' : 'Sign out everywhere'}
                reason="none"
                harm
              >
                <p>
                  {user === null
                    ? 'All of your sessions end but this one.'
                    : 'All sessions of this person end, but not the one that you look with.'}
                </p>
              </Verb>
            ) : undefined
          }
        >
          <Table look="many" caption="Sessions, newest first" rows={list.data} columns={columns()} />
          <Pager list={list} />
        </PageBody>
      ),
    }
  },
  does: { end: 'revokeSession', 'end-all': 'revokeSessions' },
  actions: {
    async end(visit, form) {
      await visit.ask('DELETE', `/v1/sessions/${encodeURIComponent(form.raw('id'))}`)
      if (form.text('current') !== null) return { to: '/sign-in' }
      return { to: visit.here({}), notice: 'That session has ended.' }
    },
    async 'end-all'(visit) {
      const { changed } = await visit.ask<{ changed: number }>('DELETE', '/v1/sessions', {
        query: { user: visit.query('user') },
      })
      return {
        to: visit.here({}),
        notice: changed === 1 ? 'One session ended.' : `${changed} sessions ended.`,
      }
    },
  },
}
