/** Each form of a page says what it does, so that roles are asked for before what was typed. */
import t from 'tap'
import { PAGES } from '../../src/dashboard/pages/all.js'

for (const { path, actions = {}, does = {} } of PAGES) {
  t.same(
    Object.keys(does).sort(),
    Object.keys(actions).sort(),
    `${path}: one operation in does for each action`,
  )
}
