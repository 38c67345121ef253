/**
 * NAME      camel - members of a body by the names that the stages have for them
 * DESCRIPTION
 *   `return_path` becomes `returnPath`. Of the body alone, not of what is in its members: their names may be data.
 */
type CamelName<S> = S extends `${infer Head}_${infer Rest}` ? `${Head}${Capitalize<CamelName<Rest>>}` : S

type Camel<T> = { readonly [K in keyof T as CamelName<K & string>]: T[K] }

export const camel = <T extends object>(body: T): Camel<T> =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name.replace(/_(.)/g, (_, c: string) => c.toUpperCase()),
      value,
    ]),
  ) as Camel<T>
