/** The text of a search field: what it means, and what is refused with which words. */
import t from 'tap'
import { parseQuery, type Query, type QueryMistake } from '../../../src/mail/query.js'

const TIMES = {
  day: (text: string) => (text === '2026-02-30' ? null : Date.parse(`${text}T00:00Z`)),
  time: (text: string) => (Number.isNaN(Date.parse(text)) ? null : Date.parse(text)),
}
const read = (text: string): Query => {
  const parsed = parseQuery(text, TIMES)
  if ('mistake' in parsed) throw new Error(parsed.mistake.message)
  return parsed.query
}
const mistake = (text: string): QueryMistake | null => {
  const parsed = parseQuery(text, TIMES)
  return 'mistake' in parsed ? parsed.mistake : null
}

t.test('terms', async (t) => {
  const term = { negated: false, open: false }
  t.same(read('  '), { terms: [], from: null, before: null })
  t.same(read('your -"big order" rec').terms, [
    { ...term, field: 'text', value: 'your' },
    { ...term, field: 'text', value: 'big order', negated: true },
    { ...term, field: 'text', value: 'rec', open: true },
  ])
  t.same(read('To:Ana@example.com SUBJECT:"a: b" tag:kind:receipt ').terms, [
    { ...term, field: 'to', value: 'Ana@example.com' },
    { ...term, field: 'subject', value: 'a: b' },
    { ...term, field: 'tag', value: 'kind:receipt' },
  ])
  t.match(read('status:BOUNCED is:Held has:attachments').terms, [
    { field: 'status', value: 'bounced' },
    { field: 'is', value: 'held' },
    { field: 'has', value: 'attachment' },
  ])
  t.match(read('message-id:a@b <a@b> em_01h455vb4pex5vsknk084sn02q').terms, [
    { field: 'message-id', value: '<a@b>' },
    { field: 'message-id', value: '<a@b>' },
    { field: 'id' },
  ])
  t.match(read('https://example.com 12:30').terms, [
    { field: 'text', value: 'https://example.com' },
    { field: 'text', value: '12:30' },
  ])
})

t.test('times', async (t) => {
  const day = (text: string): number => Date.parse(`${text}T00:00Z`)
  t.match(read('after:2026-11-01 before:2026-11-20'), { from: day('2026-11-01'), before: day('2026-11-20') })
  t.match(read('-after:2026-11-01 -before:2026-10-01'), {
    from: day('2026-10-01'),
    before: day('2026-11-01'),
  })
  t.match(read('since:2026-11-01 after:2026-11-03T10:00:00Z'), { from: Date.parse('2026-11-03T10:00:00Z') })
})

t.test('refused, with words that help', async (t) => {
  const cases: readonly (readonly [string, QueryMistake['kind'], RegExp])[] = [
    ['form:ana', 'unsupported', /did you mean from:/],
    ['subjct:x', 'unsupported', /did you mean subject:/],
    ['status:bounce', 'unsupported', /status:bounced/],
    ['is:hold', 'unsupported', /is:held/],
    ['has:html', 'unsupported', /has:attachment/],
    ['to:', 'format', /after to:/],
    ['"open', 'format', /quotes/],
    ['before:soon', 'format', /a day/],
    ['after:2026-02-30', 'format', /a day/],
    [`x${'y'.repeat(256)}`, 'length', /256/],
    ['a '.repeat(17), 'too_many', /16/],
  ]
  for (const [text, kind, words] of cases) {
    t.equal(mistake(text)?.kind, kind, text)
    t.match(mistake(text)?.message, words)
  }
  t.equal(mistake('é'.repeat(256)), null)
  t.equal(mistake('a '.repeat(16)), null)
})

t.test('OR, AND and NOT mean what they say', async (t) => {
  const values = (text: string) => {
    const { terms, either = [] } = read(text)
    const told = terms.map(({ negated, value }) => (negated ? `-${value}` : value))
    return [
      told,
      ...either.map((clause) => clause.map(({ negated, value }) => (negated ? `-${value}` : value))),
    ]
  }
  t.same(values('a b OR c'), [['a'], ['b', 'c']])
  t.same(values('a OR b OR -c d'), [['d'], ['a', 'b', '-c']])
  t.same(values('a AND b'), [['a', 'b']])
  t.same(values('NOT a NOT -b'), [['-a', 'b']])
  t.same(values('a OR NOT b'), [[], ['a', '-b']])
  t.same(
    values('a or b not "OR"'),
    [['a', 'or', 'b', 'not', 'OR']],
    'in small letters and in quotes they are words',
  )
  t.match(read('NOT after:2026-11-01'), { before: Date.parse('2026-11-01T00:00Z') })
  const refused: readonly (readonly [string, RegExp])[] = [
    ['OR a', /before OR/],
    ['a OR', /after OR/],
    ['a OR OR b', /before OR/],
    ['a NOT', /after NOT/],
    ['NOT OR a', /before OR/],
    ['a AND', /after AND/],
    ['a OR before:2026-11-01', /OR beside before:/],
    ['(a OR b) c', /brackets.*\(a/],
    ['-(a b)', /brackets.*\(a/],
    ['(status:bounced)', /brackets.*\(status/],
    ['subject:(inc fo)', /brackets.*\(inc/],
    ['!status:bounced', /has no !; write -status:bounced/],
    ['a && b', /has no &&; write a blank, or to look for the word itself, write "&&" in quotes/],
    ['a || b', /has no \|\|; write OR/],
  ]
  for (const [text, words] of refused) t.match(mistake(text)?.message, words, text)
})
