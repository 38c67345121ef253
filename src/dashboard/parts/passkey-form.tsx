/**
 * NAME      passkey-form - a form that a script of ours shows and sends
 * DESCRIPTION
 *   Only a script can ask a browser for a passkey (client/passkey.ts): without one the form stays hidden.
 */
import type { ComponentChildren } from 'preact'

interface PasskeyFormProps {
  /** As navigator.credentials has it. */
  readonly how: 'create' | 'get'
  readonly action: string
  readonly options: object
  /** With what makes it one of our forms, and its button. */
  readonly children: ComponentChildren
}

export const PasskeyForm = ({ how, action, options, children }: PasskeyFormProps) => (
  <form
    class="form"
    method="post"
    action={action}
    data-passkey={how}
    data-options={JSON.stringify(options)}
    hidden
  >
    <input type="hidden" name="response" value="" />
    {children}
    <p class="wrong" role="alert" data-wrong hidden />
  </form>
)
