/**
 * NAME      extras - members that few mails have, each described once
 * DESCRIPTION
 *   An extra is a text that a mail carries from its acceptance on, by its name on the wire. It costs nothing where there is none:
 *   it stands in the packed column of its row, and goes with it through accept, resend, erasure and a move to another store. Of
 *   this table come the types, the record of API and command line, its shape in the document, a column of exports, a line of
 *   `postern email show`, and a fact on the page of a mail. Where a client may give one, the body of a send names it, too.
 */

interface Extra {
  /** What the document says of it. */
  readonly says: string
  readonly example: string
  /** What people read before it. */
  readonly label: string
  /** It is the id of another mail. */
  readonly isMail?: true
}

export const EXTRAS = {
  resent_from: {
    label: 'Sent again, from',
    says: 'The mail of which this one is sent again; absent on all others',
    example: 'em_01k9f3m2zq8v6t4r2p0nxcwbha',
    isMail: true,
  },
  unsubscribe_list: {
    label: 'Mailing list',
    says: 'The mailing list that it is of, whose link stands in its header if it has one recipient; absent on all others',
    example: 'news',
  },
} as const satisfies Readonly<Record<string, Extra>>

type ExtraName = keyof typeof EXTRAS
export type Extras = { readonly [K in ExtraName]?: string }

export const EXTRA_NAMES = Object.keys(EXTRAS) as readonly ExtraName[]

/** Those that a mail has, in the order of the table. */
export const extrasOf = (
  extras: Extras | null | undefined,
): readonly (Extra & { readonly name: ExtraName; readonly value: string })[] =>
  extras == null
    ? []
    : EXTRA_NAMES.flatMap((name) => {
        const value = extras[name]
        return value === undefined ? [] : [{ ...EXTRAS[name], name, value }]
      })
