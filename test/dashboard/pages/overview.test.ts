/** The first sentence of the overview: true from the first mail on, whatever the statistics know so far. */
import t from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { Kept } from '../../../src/base/kept.js'
import type { EmailRow } from '../../../src/dashboard/mail/verdict.js'
import { type Facts, sentence } from '../../../src/dashboard/pages/overview.js'
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
  ...{ domains: null, pools: [], webhooks: [], workspaces: [], incidents: [], state: null },
} as unknown as Facts

const mail = (agoMs: number) =>
  ({
    created_at: new Date(visit.now - agoMs).toISOString(),
    counts: { queued: 1, sent: 1 },
  }) as unknown as EmailRow

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
