/**
 * NAME      style - the one stylesheet
 */
const TOKENS = `:root { color-scheme: light dark; }
body { margin: 0; font: 14px/20px system-ui, sans-serif; }
.hid { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.ic { width: 1rem; height: 1rem; }`

export const STYLE = TOKENS
