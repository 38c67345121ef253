/** A start makes no shape of the contract: joi takes a third of a second for all of them. */
import Joi from 'joi'
import t from 'tap'
import type { HttpDeps } from '../../src/http/deps.js'

const made: string[] = []
for (const type of ['any', 'array', 'boolean', 'number', 'object', 'string'] as const) {
  const make = Joi[type] as (...args: unknown[]) => unknown
  const noted = (...args: unknown[]) => {
    made.push(new Error(type).stack ?? '')
    return make.apply(Joi, args)
  }
  Object.assign(Joi, { [type]: noted })
}

t.test('rows of the contract hold what makes their shapes, and make none', async (t) => {
  const { endpoints } = await import('../../src/http/http.js')
  const rows = endpoints({} as HttpDeps, () => 'https://mail.test')
  t.same(
    made.filter((stack) => stack.includes('src/http/')),
    [],
  )
  const { body } = rows.find(({ id }) => id === 'sendEmail') ?? {}
  t.equal(body?.(), body?.(), 'what was made is kept')
  t.ok(made.length > 0, 'and they are made of joi')
})
