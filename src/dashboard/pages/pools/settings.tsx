/**
 * NAME      settings - what a pool asks of its upstreams, changed
 */
import type { Refused } from '../../page.js'
import { ActionForm, Choice, Field, Send } from '../../parts/form.js'
import type { Visit } from '../../visit.js'
import type { Pool } from './state.js'

interface SettingsProps {
  readonly visit: Visit
  readonly refused: Refused | null
  readonly pool: Pool
}

export const Settings = ({ visit, refused, pool }: SettingsProps) => {
  const of = { refused, action: 'settings' }
  return (
    <details class="fold" open={refused?.action === 'settings'}>
      <summary>Change these</summary>
      <ActionForm visit={visit} action="settings" refused={refused}>
        <Field {...of} name="name" label="Name" value={pool.name} required maxLength={63} />
        <Choice
          {...of}
          name="return_path"
          label="Return path"
          value={pool.return_path}
          options={[
            ['verp', 'signed, one per recipient: bounces are matched by it'],
            ['fixed', 'one for all'],
          ]}
        />
        <Choice
          {...of}
          name="notify_success"
          label="Reports of delivery"
          value={String(pool.notify_success)}
          options={[
            ['true', 'asked of the upstreams (RFC 3461)'],
            ['false', 'not asked'],
          ]}
        />
        <Choice
          {...of}
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
