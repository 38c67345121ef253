/**
 * Every conversation in this folder, played against the real doors, and two
 * rules over all that was said: no reply holds two enhanced codes, and no line
 * is longer than 512 octets.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { play } from './player.js'

const HERE = join(import.meta.dirname, '..', '..', '..', 'test', 'dialogue')
const files = readdirSync(HERE)
  .filter((name) => name.endsWith('.txt'))
  .sort()

const ENHANCED = /\b[245]\.\d{1,3}\.\d{1,3}\b(?![.\d])/g

t.ok(files.length > 25, 'the dialogues are where this test looks for them')

for (const name of files) {
  t.test(name, async (t) => {
    const { said, faults } = await play(readFileSync(join(HERE, name), 'utf8'))
    t.same(faults, [])
    for (const line of said) {
      const codes = line.match(ENHANCED) ?? []
      if (codes.length > 1) t.fail(`two enhanced codes: ${line}`)
      if (line.length > 510) t.fail(`too long: ${line}`)
      const needs = /^[245]\d\d /.test(line) && !/^220 mx\.|^250 (?:mx\.|AUTH |STARTTLS$|DSN$)/.test(line)
      if (needs && codes.length === 0) t.fail(`no enhanced code: ${line}`)
      if (needs && codes[0]?.[0] !== line[0]) t.fail(`the codes disagree: ${line}`)
    }
  })
}
