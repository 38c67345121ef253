/** What a mail brings into its row is said in one place: whoever adds a column finds no second list of them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BROUGHT } from '../../src/store/sql/mails.js'

const SRC = join(import.meta.dirname, '..', '..', '..', 'src')
const LISTS = ['store/postgres/schema/schema.ts', 'store/sql/mails.ts', 'store/sqlite/migrate/schema.ts']

t.test('no other file lists the columns of emails', async (t) => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  const listing = files.filter((name) => {
    const words = new Set(readFileSync(join(SRC, name), 'utf8').match(/\w+/g))
    // a statement about some of them is no list: who erases names the half
    return BROUGHT.names.filter((column) => words.has(column)).length > 0.7 * BROUGHT.names.length
  })
  t.same(listing.sort(), LISTS)
})
