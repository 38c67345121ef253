/**
 * NAME      rate - the three headers that every response carries
 * DESCRIPTION
 *   Who shows a good credential sees the send window of that credential; everyone
 *   else sees the window of failed authentications of his address. Only this
 *   triple and Retry-After are ever sent.
 */
import type { WindowState } from '../../tenant/window.js'

/** The three X-RateLimit fields; `reset` in Unix seconds. */
export const rateHeaders = (window: WindowState): Record<string, string> => ({
  'x-ratelimit-limit': String(window.limit),
  'x-ratelimit-remaining': String(window.remaining),
  'x-ratelimit-reset': String(window.reset),
})
