/**
 * NAME      settings - what a pool asks of its upstreams, changed
 */
import { ActionForm, Choice, Field, Send, useOwnRefusal } from '../../parts/form.js'
import type { Pool } from './upstream.js'

export const Settings = ({ pool }: { readonly pool: Pool }) => {
  return (
    <details class="fold" open={useOwnRefusal('settings') !== null}>
      <summary>Change these</summary>
      <ActionForm action="settings">
        <Field name="name" label="Name" value={pool.name} required maxLength={63} />
        <Choice
          name="return_path"
          label="Return path"
          value={pool.return_path}
          options={[
            ['verp', 'signed, one per recipient: bounces are matched by it'],
            ['fixed', 'one for all'],
          ]}
        />
        <Choice
          name="notify_success"
          label="Reports of delivery"
          value={String(pool.notify_success)}
          options={[
            ['true', 'asked of the upstreams (RFC 3461)'],
            ['false', 'not asked'],
          ]}
        />
        <Choice
          name="relayed_means"
          label="A report “relayed” makes a mail"
          value={pool.relayed_means}
          options={[
            ['sent', 'sent'],
            ['delivered', 'delivered'],
          ]}
        />
        <Send plain>Save</Send>
      </ActionForm>
    </details>
  )
}
