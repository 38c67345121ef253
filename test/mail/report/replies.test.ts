/** What many servers and providers say: each line has the class, and one of the categories, that it should have; or a verdict alone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { codesIn, parseReply } from '../../../src/mail/reply.js'
import { CATEGORIES, classify } from '../../../src/mail/report/classify.js'

const LINE = /^(hard|soft) \| ([a-z_,]+) \| (.+)$/

const linesOf = (file: string): string[] =>
  readFileSync(join(process.cwd(), 'test', 'fixtures', file), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))

for (const file of ['replies-1.txt', 'replies-2.txt'])
  t.test(file, async (t) => {
    for (const line of linesOf(file)) {
      const [, severity, names = '', text = ''] = LINE.exec(line) ?? []
      const accepted = names.split(',')
      t.ok(
        accepted.every((name) => Object.hasOwn(CATEGORIES, name)),
        line,
      )
      const verdict = classify({ ...codesIn(text), text })
      t.equal(verdict.class, severity, line)
      t.ok(accepted.includes(verdict.category), `${verdict.category} for ${line}`)
    }
  })

t.test('verdicts.txt, as a reply in the dialogue and as words of a report', async (t) => {
  for (const line of linesOf('verdicts.txt')) {
    const [, verdict, text = ''] = /^(dead|living) \| (.+?) \|/.exec(line) ?? []
    const severity = verdict === 'dead' ? 'hard' : 'soft'
    t.ok(verdict, line)
    t.equal(classify({ ...codesIn(text), text }).class, severity, line)
    const reply = parseReply(text)
    if (reply !== null) t.equal(classify(reply).class, severity, `in the dialogue: ${line}`)
  }
})
