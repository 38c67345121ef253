/**
 * NAME      and-then - goes on at once with what is known, and later with what is not
 *   A promise costs some objects and a turn of microtasks, also where its value was there all the time. So what is
 *   mostly at hand is given as it is, and what follows is written once for both cases.
 */
export const andThen = <A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> =>
  value instanceof Promise ? value.then(next) : next(value)
