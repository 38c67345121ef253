/**
 * NAME      words - text of the document and of the catalogue
 * DESCRIPTION
 *   What stands between backticks there is verbatim, so it is shown in mono.
 */
export const Words = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part))}</>
)
