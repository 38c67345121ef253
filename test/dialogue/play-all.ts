/**
 * Plays every conversation of a folder, and holds two rules over all that was
 * said: one enhanced code per reply, of the reply's class, and 512 octets.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { play } from './player.js'

const HERE = join(import.meta.dirname, '..', '..', '..', 'test', 'dialogue')
const ENHANCED = /\b[245]\.\d{1,3}\.\d{1,3}\b(?![.\d])/g
/** Greetings and EHLO lines have no enhanced code (RFC 2034). */
const BARE = /^220 mx\.|^250 (?:mx\.|AUTH |STARTTLS$|DSN$)/

const faultOf = (line: string): string | null => {
  const codes = line.match(ENHANCED) ?? []
  if (line.length > 510) return 'too long'
  if (codes.length > 1) return 'two enhanced codes'
  if (!/^[245]\d\d /.test(line) || BARE.test(line)) return null
  if (codes.length === 0) return 'no enhanced code'
  return codes[0]?.[0] === line[0] ? null : 'the codes disagree'
}

export const playAll = (folder: string, least: number): void => {
  const files = readdirSync(join(HERE, folder))
    .filter((name) => name.endsWith('.txt'))
    .sort()
  t.ok(files.length >= least, 'the dialogues are where this test looks for them')
  for (const name of files) {
    t.test(name, async (t) => {
      const { said, faults } = await play(readFileSync(join(HERE, folder, name), 'utf8'))
      t.same(faults, [])
      for (const line of said) {
        const fault = faultOf(line)
        if (fault !== null) t.fail(`${fault}: ${line}`)
      }
    })
  }
}
