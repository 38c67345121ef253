/**
 * The schema of 1.0.0 is never edited, nor a step that is released: a digest of each text, without its comments and spaces.
 * Who adds a step adds its digest at the end.
 */
import { createHash } from 'node:crypto'
import t from 'tap'
import * as postgres from '../../src/store/postgres/schema/schema.js'
import { STEPS as POSTGRES, type SchemaStep } from '../../src/store/postgres/schema/steps.js'
import * as sqlite from '../../src/store/sqlite/migrate/schema.js'
import { STEPS as SQLITE } from '../../src/store/sqlite/migrate/steps.js'

const digest = (text: string): string =>
  createHash('sha256')
    .update(text.replace(/--[^\n]*/g, '').replace(/\s+/g, ''))
    .digest('hex')
    .slice(0, 12)

const textOf = (step: SchemaStep): string =>
  `${'text' in step ? step.text : `${step.index} ${step.on} ${step.isUnique === true}`} ${step.compatibleFrom}`

const FROZEN = {
  sqlite: {
    number: 49,
    schema: '7d28dad4a942',
    steps: ['ac5fa987ac4f', '57d5112b0750', '49522b30252a', '685eaa060486', '3eef2b193d56', 'b02a1fa64ab9'],
  },
  postgres: {
    number: 13,
    schema: 'aa3e79444d69',
    steps: [
      ...['30670e7dbd2a', '689242e0dbbe', '21fc7d43d041', 'da75b685f370', '7457b5810248', 'c8b3797d8476'],
      'b735dde8aaec',
    ],
  },
}

t.test('what is released is as it was', async (t) => {
  const found = {
    sqlite: {
      number: sqlite.SCHEMA_NUMBER,
      schema: digest(sqlite.SCHEMA_TEXT),
      steps: SQLITE.map(digest),
    },
    postgres: {
      number: postgres.SCHEMA_NUMBER,
      schema: digest(postgres.SCHEMA_TEXT),
      steps: POSTGRES.map((step) => digest(textOf(step))),
    },
  }
  t.same(found, FROZEN, 'a new step brings its digest here; what was there before stays')
})
