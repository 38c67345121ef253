/**
 * NAME      inbox - captured mail as a list beside a reader
 */
export const INBOX = `
.devline { display: flex; flex-wrap: wrap; gap: 0 var(--s4); margin-bottom: var(--s4); padding: var(--s2) var(--s4); border-radius: var(--r2); background: var(--wait-wash); color: var(--ink-2); font: .75rem/1.25rem var(--sans); }
.devline b { display: inline-flex; align-items: center; gap: var(--s2); color: var(--wait); font-weight: 600; }
.panes { display: grid; grid-template-columns: minmax(17rem, 23rem) minmax(0, 1fr); border: solid var(--line); border-width: 1px 0 0; min-height: 60dvh; }
.list { min-width: 0; border-inline-end: 1px solid var(--line); }
.list .tools { display: flex; align-items: center; gap: var(--s2); min-height: 3rem; padding: var(--s2) var(--s4) var(--s2) 0; border-bottom: 1px solid var(--line); color: var(--ink-3); font-size: .75rem; }
.list .tools .b { margin-inline-start: auto; }
.list li { position: relative; display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 var(--s3); padding: var(--s2) var(--s3); border-bottom: 1px solid var(--line); }
.list li:hover { background: var(--wash); }
.list li[aria-current] { background: var(--accent-wash); box-shadow: inset 2px 0 var(--accent); }
.list li :is(a, p) { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.list li a { color: inherit; text-decoration: none; }
.list li a::after { content: ""; position: absolute; inset: 0; }
.list li p { color: var(--ink-2); font: .75rem/1.25rem var(--sans); }
.list li :is(time, .st) { justify-self: end; color: var(--ink-3); font: .75rem/1.25rem var(--sans); }
.list li .st.bad { color: var(--bad); }
.list li .st.wait { color: var(--wait); }
.list li[aria-current] :is(time, p, .st:not(.bad, .wait)) { color: var(--ink-2); }
.list .unread a { font-weight: 650; }
.reader { min-width: 0; padding: var(--s4) 0 var(--s6) var(--s5); }
.reader > :is(.actions, .view, .pre) { margin-top: var(--s3); }
.reader > section { margin-top: var(--s6); }
.grab { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; align-items: center; gap: var(--s2) var(--s3); margin: var(--s4) 0; padding: var(--s3) var(--s4); border-radius: var(--r2); background: var(--sunk); }
.grab > span { color: var(--ink-2); font-size: .75rem; }
.grab code { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.grab .pin { font-size: 1.25rem; letter-spacing: .08em; line-height: 1.25rem; }
.addr { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 var(--s3); margin-top: var(--s2); }
.addr dt { color: var(--ink-3); }
.addr dd { overflow-wrap: anywhere; }
@media (width < 60rem) {
  .panes { grid-template-columns: minmax(0, 1fr); }
  .list { border: 0; border-bottom: 1px solid var(--line); }
  .list ol { max-height: 21.5rem; overflow-y: auto; }
  .reader { padding-inline-start: 0; }
}
@media (width < 40rem) {
  .grab { grid-template-columns: minmax(0, 1fr) auto; }
  .grab > span { grid-column: 1 / -1; margin-bottom: calc(-1 * var(--s1)); }
}
`
