/** The short way and the schema mean the same: on nearly right bodies, and on the SDKs' own. */
import fc from 'fast-check'
import t from 'tap'
import { check } from '../../src/http/check.js'
import type { Ground } from '../../src/http/ground.js'
import { endpoints } from '../../src/http/http.js'
import { openApi } from '../../src/http/openapi/document.js'
import type { JsonSchema } from '../../src/http/openapi/json-schema.js'
import { sendBody } from '../../src/http/shapes/email.js'
import { isPlainSend } from '../../src/http/shapes/plain-send.js'
import { toDraft } from '../../src/submission/draft.js'
import { nearly } from './arbitrary.js'

const RUNS = process.env.POSTERN_FULL === undefined ? 3_000 : 50_000

const { components } = openApi(
  endpoints({} as Ground, () => 'https://mail.test'),
  'https://mail.test',
  'v1',
) as { components: { schemas: Record<string, JsonSchema> } }
const resolve = (ref: string): JsonSchema => components.schemas[ref.split('/').at(-1) ?? ''] as JsonSchema

t.test('what is plain, the schema takes and means the same by it', async (t) => {
  let plain = 0
  const property = fc.property(nearly(resolve('SendEmail'), resolve), (value) => {
    if (!isPlainSend(value)) return
    plain++
    const checked = check('body', sendBody, value)
    if (checked.value === null) throw new Error(JSON.stringify(checked.errors))
    if (JSON.stringify(toDraft(checked.value)) !== JSON.stringify(toDraft(value)))
      throw new Error('another draft')
  })
  fc.assert(property, { numRuns: RUNS })
  t.ok(plain > 0 && plain < RUNS, `${plain} of ${RUNS} are plain`)
})

t.test('what clients send is plain', async (t) => {
  const bare = { from: 'Acme <a@b.test>', to: 'c@d.test', subject: 'Hi', text: 'x' }
  t.ok(isPlainSend(bare))
  t.ok(isPlainSend({ ...bare, to: ['c@d.test'], tags: [{ name: 'a', value: '' }], headers: { 'X-A': '1' } }))
  const nulls = { html: null, cc: [], bcc: null, reply_to: [], tags: [], attachments: [], headers: null }
  t.ok(isPlainSend({ ...bare, ...nulls, scheduled_at: null }))
})

t.test('what is not, is left to the schema', async (t) => {
  const bare = { from: 'a@b.test', to: 'c@d.test' }
  for (const body of [
    null,
    [],
    'x',
    {},
    { from: 'a@b.test' },
    { ...bare, to: null },
    { ...bare, to: '' },
    { ...bare, to: [''] },
    { ...bare, to: Array(101).fill('c@d.test') },
    { ...bare, from: '' },
    { ...bare, subject: 'x'.repeat(999) },
    { ...bare, html: 5 },
    { ...bare, headers: [] },
    { ...bare, headers: { '': 'x' } },
    { ...bare, tags: [{ name: 'a', value: 'b', more: 1 }] },
    { ...bare, tags: [{ name: 'a', other: 'b' }] },
    { ...bare, attachments: [{ content: '' }] },
    { ...bare, nope: null },
    { ...bare, constructor: 'x' },
  ]) {
    t.notOk(isPlainSend(body), JSON.stringify(body))
  }
})
