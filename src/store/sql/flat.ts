/**
 * NAME      flat - records as arrays, and back, in an order that is said once
 *   What crosses threads ten thousand times a second, or becomes the values of a statement, goes as an array, since each
 *   name costs. One table says what stands in it, so nobody counts places. Its functions are made of the names, once: a
 *   loop over them takes twenty times as long as what one would write by hand, and this does not. Names are those of our
 *   own modules.
 */

const make = <Made>(text: string, says?: object): Made => new Function('says', `return ${text}`)(says) as Made

/** Reads what has these names in an array, from a place on. */
const unpackingAt = <T>(names: readonly string[]) =>
  make<(array: readonly unknown[], from: number) => T>(
    `(array, from) => ({${names.map((name, i) => `${name}: array[from + ${i}]`).join(', ')}})`,
  )

export const unpacking = <T>(names: readonly string[]) =>
  make<(array: readonly unknown[]) => T>(
    `(array) => ({${names.map((name, i) => `${name}: array[${i}]`).join(', ')}})`,
  )

/** `says` is what an array has of a value, by name. */
export const flat =
  <From>() =>
  <T>(says: { readonly [K in keyof T]: (from: From) => T[K] }) => {
    const names = Object.keys(says) as (keyof T & string)[]
    const calls = names.map((name) => `says.${name}(one)`)
    return {
      names,
      /** The place of each. */
      at: Object.fromEntries(names.map((name, i) => [name, i])) as Readonly<Record<keyof T, number>>,
      pack: make<(from: From) => unknown[]>(`(one) => [${calls.join(', ')}]`, says),
      unpack: unpacking<T>(names),
      unpackAt: unpackingAt<T>(names),
      record: make<(from: From) => T>(
        `(one) => ({${calls.map((call, i) => `${names[i]}: ${call}`).join(', ')}})`,
        says,
      ),
    }
  }
