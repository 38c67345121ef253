/**
 * NAME      find - the field that leaves only what has these words
 */
interface FindProps {
  readonly path: string
  readonly value: string
  readonly hint: string
}

export const Find = ({ path, value, hint }: FindProps) => (
  <form class="filters" action={path}>
    <label>
      Words <input type="search" name="q" value={value} placeholder={hint} autocomplete="off" />
    </label>
    <button type="submit" class="b">
      Find
    </button>
  </form>
)
