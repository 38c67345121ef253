/** The one header that says where a trace comes from (W3C Trace Context), and nothing without an SDK. */
import t from 'tap'
import { findSpans, readTraceparent } from '../../../src/base/trace.js'

const GOOD = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

t.equal(readTraceparent(GOOD), GOOD)
t.equal(readTraceparent(` ${GOOD} `), GOOD)
t.equal(readTraceparent(`cc${GOOD.slice(2)}-more`), GOOD, 'a later version is read as far as it is known')
for (const bad of [
  undefined,
  null,
  '',
  'x',
  GOOD.toUpperCase(),
  GOOD.slice(0, -1),
  `${GOOD}-more`,
  `ff${GOOD.slice(2)}`,
  `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
  `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`,
  `${GOOD}, ${GOOD}`,
  `${GOOD}\n`.repeat(1000),
]) {
  t.equal(readTraceparent(bad), null, String(bad).slice(0, 60))
}
t.equal(await findSpans('1'), null)
