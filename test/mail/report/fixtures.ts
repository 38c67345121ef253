/**
 * NAME      fixtures - mails with their expected reading
 * DESCRIPTION
 *   Reads test/fixtures, whose README says what is in it. tsc copies no mails,
 *   so they are taken from the project folder that the tests run in.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '../../../src/mail/report/report.js'

const FIXTURES = join(process.cwd(), 'test', 'fixtures')

export interface Expected {
  readonly kind: string
  readonly feedbackType?: string
  readonly recipients: readonly {
    readonly address: string | null
    readonly action: string | null
    readonly status: string | null
    readonly class: string | null
  }[]
}

export interface Fixture {
  readonly name: string
  readonly raw: Uint8Array
  readonly expected: Expected
}

export const fixtureRaw = (folder: string, file: string): Buffer => readFileSync(join(FIXTURES, folder, file))

const inFolder = (folder: string): Fixture[] =>
  Object.entries(
    JSON.parse(readFileSync(join(FIXTURES, folder, 'expected.json'), 'utf8')) as Record<string, Expected>,
  ).map(([file, expected]) => ({ name: `${folder}/${file}`, raw: fixtureRaw(folder, file), expected }))

/** Mails beside an expected.json that does not know them. */
export const forgottenFixtures = (): string[] =>
  readdirSync(FIXTURES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: folder }) => {
      const known = new Set(inFolder(folder).map(({ name }) => name))
      return readdirSync(join(FIXTURES, folder))
        .filter((file) => file.endsWith('.eml'))
        .map((file) => `${folder}/${file}`)
        .filter((name) => !known.has(name))
    })

export const allFixtures = (): Fixture[] =>
  readdirSync(FIXTURES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => inFolder(entry.name))

/** The part of a report that expected.json asserts. */
export const said = (report: Report): Expected => ({
  kind: report.kind,
  ...(report.feedbackType === undefined ? {} : { feedbackType: report.feedbackType }),
  recipients: report.recipients.map((one) => ({
    address: one.address,
    action: one.action,
    status: one.status,
    class: one.class,
  })),
})
