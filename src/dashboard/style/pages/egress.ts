/**
 * NAME      egress - what only the pages of pools and domains have
 */
export const EGRESS = `
.t .act .verb > summary.b { white-space: nowrap; max-width: none; overflow-wrap: normal; }
.record + .record { margin-top: var(--s5); }
.record > .codes, section > p + .codes { margin-top: var(--s2); }
`
