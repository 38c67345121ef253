/**
 * NAME      known - rows that are asked for with each mail, kept until the rules move
 *   A round trip looks at the rules alone, for all who ask meanwhile, and spares those for the rows. A send needs not even
 *   that: the one statement that stores it compares (accept.ts).
 */
import { createKnown, type KnownReads } from '../known.js'
import type { Known } from '../port/upkeep.js'
import { type Asking, first } from '../sql/query.js'
import { tenantReads } from '../sql/tenants.js'
import type { Points } from './points.js'

function* rules(): Asking<number> {
  return Number((yield* first('SELECT n FROM rules'))?.n)
}

export const knownBy = ({ read }: Points): Known => {
  const reads: KnownReads = {
    keyByLookup: (lookup) => read(() => tenantReads.keyByLookup(lookup)),
    key: (...args) => read(() => tenantReads.key(...args)),
    credential: (id) => read(() => tenantReads.credential(id)),
    workspace: (...args) => read(() => tenantReads.workspace(...args)),
  }
  const known = createKnown(reads, () => read(rules))
  // a look that is under way may have begun before its next caller came
  return { ...known, lookOnce: known.look }
}
