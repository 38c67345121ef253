import t from 'tap'
import { readCrashPoint } from '../../src/base/crash.js'

t.strictSame(readCrashPoint('accept.before-commit'), { name: 'accept.before-commit', hit: 1 })
t.strictSame(readCrashPoint('settle.after-commit:3'), { name: 'settle.after-commit', hit: 3 })
for (const text of [undefined, '', ':2', 'a b', 'accept:x']) t.equal(readCrashPoint(text), null)
