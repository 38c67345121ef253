/** The submission door over the real stages. */
import t from 'tap'
import { playAll } from './play-all.js'
import { closeStore } from './product.js'

t.teardown(closeStore)
playAll('product', 10)
