/**
 * NAME      door - pages without a person: signing in, one-use links
 */
export const DOOR = `
.door { display: grid; align-content: center; place-items: center; min-height: 100dvh; padding: var(--s5) var(--s4); background: var(--wash); }
.door main { width: min(23rem, 100%); padding: 0; }
.door.wide main { width: min(44rem, 100%); }
.door .card { display: grid; gap: var(--s4); padding: var(--s5); border: 1px solid var(--line); border-radius: var(--r3); background: var(--paper); }
.door .card > * { min-width: 0; }
.door .brand { justify-content: center; width: auto; margin-bottom: var(--s4); font-size: 1rem; }
.door .brand span { display: inline; }
.door footer code { white-space: nowrap; }
.door .card :is(.b:not(.tiny), input:not([type=checkbox])) { min-height: 2.5rem; }
.door form > .b, .door .idps .b { width: 100%; white-space: normal; text-align: center; }
.door .note { margin: 0; padding: var(--s3); }
.qr { display: block; width: 14rem; max-width: 100%; margin: 0 0 var(--s4); border-radius: var(--r2); }
.door .idps { display: grid; gap: var(--s2); }
.door footer { margin-top: var(--s4); color: var(--ink-3); font: var(--small) var(--sans); text-align: center; }
.or { display: flex; align-items: center; gap: var(--s3); color: var(--ink-3); font-size: .75rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
`
