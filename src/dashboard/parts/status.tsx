/**
 * NAME      status - a word, a shape and, where somebody should care, a hue
 *   Each status has a silhouette of its own, so that nobody needs to tell colours apart. The shapes stand once in each
 *   document.
 */
import type { ComponentChildren } from 'preact'
import { html } from '../render.js'

export type Tone = '' | 'ok' | 'wait' | 'bad'

const TONES: Readonly<Record<string, Tone>> = {
  delivered: 'ok',
  deferred: 'wait',
  held: 'wait',
  bounced: 'bad',
  complained: 'bad',
}

/** Of what is neither good nor bad: none. */
export const toneOf = (status: string): Tone => TONES[status] ?? ''

/** The shape of what is no status of a mail. */
export const SHAPES: Readonly<Record<Tone, string>> = {
  '': 'queued',
  ok: 'delivered',
  wait: 'deferred',
  bad: 'bounced',
}

export const word = (status: string): string => status.charAt(0).toUpperCase() + status.slice(1)

export const Icon = ({ name, tone = '' }: { readonly name: string; readonly tone?: string }) =>
  html`<svg class="${`ic ${tone}`.trim()}" aria-hidden="true"><use href="#${name}"></use></svg>`

interface StateProps {
  readonly tone: Tone
  readonly icon?: string
  /** Of the shape alone, where the words have another one. */
  readonly hue?: Tone
  readonly children: ComponentChildren
}

export const State = ({ tone, icon = SHAPES[tone], hue = '', children }: StateProps) =>
  html`<span class="${`st ${tone}`.trim()}">${Icon({ name: icon, tone: hue })}${children}</span>`

export const Status = ({ status }: { readonly status: string }) =>
  State({ tone: toneOf(status), icon: status, children: word(status) })

const line = {
  fill: 'none',
  stroke: 'currentColor',
  'stroke-width': '1.5',
  'stroke-linecap': 'round',
} as const

const stroked = (d: string, name?: string) => <path d={d} class={name} {...line} />
const filled = (d: string) => <path d={d} fill="currentColor" />
const ring = (r: string, dashes?: string) => (
  <circle cx="8" cy="8" r={r} stroke-dasharray={dashes} {...line} />
)

const SYMBOLS: Readonly<Record<string, ComponentChildren>> = {
  queued: ring('5.5', '2 2'),
  scheduled: [ring('5.75'), stroked('M8 5v3.2l2 1.3')],
  sent: stroked('M2.5 8h10M8.8 4l4 4-4 4'),
  delivered: [<circle cx="8" cy="8" r="6.5" fill="currentColor" />, stroked('m5 8.2 2 2L11 6', 'on')],
  deferred: stroked('M13.3 8A5.3 5.3 0 1 1 11.5 4M12 1.8v2.8H9.2'),
  bounced: [
    filled('M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z'),
    stroked('m5.7 5.7 4.6 4.6m0-4.6-4.6 4.6', 'on'),
  ],
  canceled: [ring('5.75'), stroked('m4 12 8-8')],
  complained: [stroked('M4 14.5v-13'), filled('M4 2.2h8.5l-2.2 3 2.2 3H4z')],
  held: stroked('M5.2 3.5v9M10.8 3.5v9'),
  alarm: [filled('M8 1.8 14.8 14H1.2z'), stroked('M8 6v4m0 1.8v.2', 'on')],
  menu: stroked('M2 4h12M2 8h12M2 12h12'),
  gate: [stroked('M3 18V8.5a7 7 0 0 1 14 0V18'), filled('M7.5 18V9.2a2.5 2.5 0 0 1 5 0V18z')],
}

export const Sprite = () => (
  <svg class="hid" aria-hidden="true">
    <defs>
      {Object.entries(SYMBOLS).map(([id, shape]) => (
        <symbol id={id} viewBox={id === 'gate' ? '0 0 20 20' : '0 0 16 16'}>
          {shape}
        </symbol>
      ))}
    </defs>
  </svg>
)
