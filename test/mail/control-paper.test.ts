/** CONTROL-HEADERS.md says of each field what the tables of the source do with it; `--write` makes it anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { GIVEN_EXTRAS } from '../../src/lifecycle/extras.js'
import {
  isControlHeader,
  OWN_FIELDS,
  SCHEDULES,
  STRIPPED,
  STRIPPED_PREFIXES,
  TAG_FIELDS,
  TAG_PREFIXES,
  TOLD,
  UNHEEDED,
} from '../../src/mail/control-headers.js'
import { ROOT } from '../parts/postern.js'

const FILE = join(ROOT, 'src', 'mail', 'CONTROL-HEADERS.md')

const OWN: Readonly<Record<string, string>> = {
  ...OWN_FIELDS,
  ...Object.fromEntries(GIVEN_EXTRAS.map(({ field, says }) => [field, `kept to: ${says}`])),
}

const rowsOf = (field: string): string[] => {
  const { path, form } = SCHEDULES[field] ?? {}
  const asks = UNHEEDED[field] ?? { members: {} }
  const members = 'members' in asks ? asks.members : {}
  const own = OWN[field]
  const lines = [
    ...(own === undefined ? [] : [['', own]]),
    ...(Object.hasOwn(TAG_FIELDS, field) ? [['', 'becomes tags']] : []),
    ...(form === undefined ? [] : [[path ?? '', `kept to: schedules the mail; ${form}`]]),
    ...('any' in asks ? [['', `refused: ${TOLD[asks.any]}`]] : []),
    ...('unlessNo' in asks ? [['', `refused unless it says no: ${TOLD[asks.unlessNo]}`]] : []),
    ...Object.entries(members).map(([name, effect]) => [name, `refused: ${TOLD[effect]}`]),
  ]
  return lines.map(([member, does]) => `| ${field} | ${member} | ${does} |`)
}

const paper = (): string => {
  const named = new Set([OWN, TAG_FIELDS, SCHEDULES, UNHEEDED].flatMap((table) => Object.keys(table)))
  return [
    '# Header fields that steer a gateway',
    '',
    'What becomes of those of other providers, and of our own, in a mail that comes by SMTP, or in `headers` of the API. All are taken out',
    'before the mail leaves; refused is 554 5.6.0 by SMTP and 422 with the kind `unsupported` by HTTP, and nothing is sent. An empty value asks',
    'for nothing. `headers` may have no X-Postern-… and no Idempotency-Key (422, `forbidden`): the API has members and a header for these.',
    'This page is made of the tables in control-headers.ts.',
    '',
    '| field | member of its JSON | what it does |',
    '|---|---|---|',
    ...[...named].sort().flatMap(rowsOf),
    ...TAG_PREFIXES.map((prefix) => `| ${prefix}* | | becomes a tag of the name that follows |`),
    ...[...STRIPPED].filter((field) => !named.has(field)).map((field) => `| ${field} | | taken out |`),
    ...STRIPPED_PREFIXES.map((prefix) => `| any other ${prefix}* | | taken out, and means nothing |`),
    '',
  ].join('\n')
}

if (process.argv.includes('--write')) writeFileSync(FILE, paper())

t.test('the page is that of the tables', async (t) => {
  t.equal(readFileSync(FILE, 'utf8'), paper())
})

t.test('a field of our own that the page does not name means nothing', async (t) => {
  const source = readFileSync(join(ROOT, 'src', 'mail', 'control-headers.ts'), 'utf8')
  const known = source.matchAll(/'(x-postern-[a-z-]*[a-z])'/g)
  const page = readFileSync(FILE, 'utf8')
  for (const [, name = ''] of known) {
    t.ok(isControlHeader(name), name)
    t.match(page, `\n| ${name} |`)
  }
})
