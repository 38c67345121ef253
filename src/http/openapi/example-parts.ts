/**
 * NAME      example-parts - what the examples of all subjects share
 * DESCRIPTION
 *   One shop and its mail run through all of them, so that an id means the same
 *   thing everywhere.
 */
export interface Example {
  readonly request?: unknown
  readonly answer: unknown
  /** By status, where an answer is another one. */
  readonly others?: Readonly<Record<string, unknown>>
}

export const MADE = '2026-11-20T10:00:00.000Z'
export const LATER = '2026-11-20T10:00:02.417Z'
export const TOMORROW = '2026-11-21T08:00:00.000Z'

export const EMAIL = 'em_01k9f3m2zq8v6t4r2p0nxcwbha'
export const OTHER = 'em_01k9f3m2zq8v6t4r2p0nxcwbhb'
export const WORKSPACE = 'ws_01k9f2a7yt5n3m1k8h6g4f2d0c'
export const POOL = 'pool_01k9f2a7yt5n3m1k8h6g4f2d0d'
export const UPSTREAM = 'up_01k9f2a7yt5n3m1k8h6g4f2d0e'
export const NEXT_KEY = 'key_01k9h7c4pw2s8r6q4n2m0k8j6j'
export const KEY = 'key_01k9f2c4pw2s8r6q4n2m0k8j6h'
export const CREDENTIAL = 'cred_01k9f2d6qx4t0s8r6p4n2m0k8j'
export const SUPPRESSION = 'sup_01k9f3p8rz6v2t0s8q6n4m2k0j'

/** The only page of a list. */
export const list = (row: unknown) => ({
  object: 'list',
  data: [row],
  has_more: false,
  pagination: {
    limit: 20,
    total: 1,
    total_capped: false,
    has_next: false,
    has_prev: false,
    next_cursor: null,
    prev_cursor: 'v1_eyJ0aGlzIjoiaXMgb3BhcXVlIn0',
  },
})

export const removed = ({ id, object }: { readonly id: string; readonly object: string }) => ({
  id,
  object,
  deleted: true,
})

/** What a bounce says in its event. */
export const BOUNCED = {
  type: 'email.bounced',
  source: 'smtp',
  smtp: { code: 550, enhanced: '5.1.1', text: 'No such user - gsmtp' },
  reason: 'unknown_user',
  detail: { stage: 'rcpt', class: 'hard', fault: 'recipient' },
  bounce: {
    provider: 'google',
    provider_types: { ses: { type: 'Permanent', sub_type: 'NoEmail' }, postmark: 'HardBounce' },
  },
}
