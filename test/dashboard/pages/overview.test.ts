/** The first sentence of the overview: true from the first mail on, whatever the statistics know so far. */
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import t from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { Kept } from '../../../src/base/kept.js'
import type { ListedEmail } from '../../../src/dashboard/mail/verdict.js'
import { type OverviewFacts, sentence } from '../../../src/dashboard/pages/overview.js'
import { AlarmNote, type ShownWorkspace } from '../../../src/dashboard/pages/workspaces/workspaces.js'
import { Verb } from '../../../src/dashboard/parts/form.js'
import { isText, whileShown } from '../../../src/dashboard/render.js'
import { Visit } from '../../../src/dashboard/visit.js'

const visit = new Visit({
  ask: () => Promise.reject(new Error('nothing is asked')),
  ...{ look: {}, kept: new Kept(systemClock) },
  who: { id: 'ses_1', person: null, role: 'owner' },
  url: new URL('http://gw.test/'),
  ...{ session: 'ses_1', address: '127.0.0.1', params: {}, scope: { workspace: null, mode: 'live' } },
  ...{ formToken: 'token', headers: {}, isDev: false, devKey: () => null, baseUrl: 'http://gw.test' },
  ...{ defaultMode: 'live', notice: null, theme: 'system', browserZone: null },
})

const nothing = {
  statistics: { totals: { accepted: 0, rates: { delivered: null, bounced: null } } },
  ...{ domains: null, pools: [], webhooks: [], workspaces: [], incidents: [], holds: [], state: null },
} as unknown as OverviewFacts

const mail = (agoMs: number) =>
  ({
    created_at: new Date(visit.now - agoMs).toISOString(),
    counts: { queued: 1, sent: 1 },
  }) as unknown as ListedEmail

t.test('a mail counts before the statistics have it', async (t) => {
  t.equal(sentence(visit, nothing), 'Nothing was sent in 24 h.')
  t.equal(sentence(visit, nothing, [mail(100), mail(200)]), '4 recipients in 24 h.')
  t.equal(sentence(visit, nothing, [mail(100), mail(3 * 86_400_000)]), '2 recipients in 24 h.')
  t.equal(sentence(visit, nothing, [mail(3 * 86_400_000)]), 'Nothing was sent in 24 h.', 'it was before')
})

t.test('a verb that asks for a choice is written as text, as lists have hundreds of them', async (t) => {
  const choice = { name: 'overlap', label: 'For', value: '1h', options: [['1h', 'an hour']] as const }
  const verb = () => Verb({ action: 'rotate', label: 'Rotate', children: 'It is made.', choice })
  const shown = { visit, refused: null, onTold: () => {} }
  t.equal(
    whileShown(shown, () => String(isText(verb()))),
    'true',
  )
})

t.test('an alarm offers to hold what is not held', async (t) => {
  const row = {
    ...{ id: 'ws_1', slug: 'shop', name: 'Shop', on_alarm: 'tell' },
    alarms: { complaints: { rate: 0.01, at_least: 2 } },
    alarmed: [{ alarm: 'complaints', since: new Date().toISOString(), count: 3, tried: 9, cause: null }],
  } as unknown as ShownWorkspace
  const note = (isHeld: boolean): string =>
    whileShown({ visit, refused: null, onTold: () => {} }, () =>
      renderToString(h(AlarmNote, { visit, row, isHeld })),
    )
  t.match(note(false), /href="\/queue\/order\?verb=hold[^"]*">Hold its mail…/)
  t.notMatch(note(true), /Hold its mail/)
  t.match(note(true), /Its mail is held\./)
  t.match(note(true), /33\.3 %.*3 of 9/, 'and says what is wrong all the same')
})
