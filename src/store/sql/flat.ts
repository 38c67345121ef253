/**
 * NAME      flat - records as arrays, and back, in an order that is said once
 *   What crosses threads ten thousand times a second, or becomes the values of a statement, goes as an array, since each
 *   name costs. One table says what stands in it, so nobody counts places. Its functions are made of the names, once: a
 *   loop over them takes twenty times as long as what one would write by hand, and this does not. Names are those of our
 *   own modules.
 */

const make = <Made>(text: string, says?: object): Made => new Function('says', `return ${text}`)(says) as Made

const reading = (names: readonly string[], at: string): string =>
  `({${names.map((name, i) => `${name}: array[${at}${i}]`).join(', ')}})`

/** Reads an array whose values have these names. */
export const unpacking = <T>(names: readonly string[]) =>
  make<(array: readonly unknown[]) => T>(`(array) => ${reading(names, '')}`)

/** An array of what a value has under the names of `same`, which are in rows, and then of what `says` makes of it. */
export const flat =
  <From>() =>
  <const Same extends keyof From & string, T>(
    same: readonly (readonly Same[])[],
    says: { readonly [K in keyof T]: (from: From) => T[K] },
  ) => {
    type Unpacked = Pick<From, Same> & T
    const [own, made] = [same.flat(), Object.keys(says)]
    const names = [...own, ...made] as (keyof Unpacked & string)[]
    const calls = [...own.map((name) => `one.${name}`), ...made.map((name) => `says.${name}(one)`)]
    return {
      names,
      /** The place of each. */
      at: Object.fromEntries(names.map((name, i) => [name, i])) as Readonly<Record<keyof Unpacked, number>>,
      pack: make<(from: From) => unknown[]>(`(one) => [${calls.join(', ')}]`, says),
      unpack: unpacking<Unpacked>(names),
      /** One of several, from a place on. */
      unpackAt: make<(array: readonly unknown[], from: number) => Unpacked>(
        `(array, from) => ${reading(names, 'from + ')}`,
      ),
    }
  }
