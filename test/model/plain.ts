/**
 * NAME      plain - verbs that answer at once
 * DESCRIPTION
 *   The port's verbs without their promises: open.ts makes each of them whole and asynchronous.
 */
export type Plain<Verbs> = {
  [Verb in keyof Verbs]: Verbs[Verb] extends (...args: infer Args) => Promise<infer Answer>
    ? (...args: Args) => Answer
    : Verbs[Verb]
}
