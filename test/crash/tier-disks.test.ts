/** Disks without room or slow ones, upstreams that are cut, clocks that are set: a few times each, in each run of the tests. */
import { tier } from './tier.js'

tier({ full: 4, 'slow-end': 1, tls: 1, clock: 2 })
