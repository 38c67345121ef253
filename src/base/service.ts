/**
 * NAME      service - a thing that runs
 * DESCRIPTION
 *   Everything with a lifetime starts and stops the same way, so the daemon can
 *   start upward and stop downward. Stopping what never started, or stopping
 *   twice, is fine and does nothing.
 */
export interface Service {
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
}
