/**
 * NAME      egress - what only the pages of pools and domains have
 */
export const EGRESS = `
.record + .record { margin-top: var(--s5); }
.record > .codes, section > p + .codes { margin-top: var(--s2); }
`
