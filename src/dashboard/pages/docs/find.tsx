/**
 * NAME      find - the field that leaves only what has these words
 */
import { Filters } from '../../parts/filters.js'

interface FindProps {
  readonly path: string
  readonly value: string
  readonly hint: string
}

export const Find = ({ path, value, hint }: FindProps) => (
  <Filters path={path} does="Find">
    <label>
      Words <input type="search" name="q" value={value} placeholder={hint} autocomplete="off" />
    </label>
  </Filters>
)
