/** One daemon on a PostgreSQL, near and far away: a few times in each run of the tests. */
import { tier } from './tier.js'

tier({ postgres: 2, 'postgres-far-end': 1 })
