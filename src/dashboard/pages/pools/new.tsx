/**
 * NAME      new - another pool, with its first upstream
 */
import type { Page } from '../../page.js'
import { ActionForm, Field, Send } from '../../parts/form.js'
import { Head } from '../../parts/page-parts.js'
import { MemberFields, memberOf } from './member-form.js'
import type { Pool } from './upstream.js'

export const newPoolPage: Page = {
  path: '/pools/new',
  opens: 'createEgressPool',
  async view() {
    return {
      title: 'New pool',
      body: (
        <>
          <Head
            crumb={['/pools', 'Pools', 'new']}
            title="Make a pool"
            says="With its first upstream; others are added on its page."
          />
          <ActionForm action="create">
            <Field name="name" label="Name" required maxLength={63} placeholder="main" />
            <MemberFields member={null} />
            <Send>Make the pool</Send>
          </ActionForm>
        </>
      ),
    }
  },
  does: { create: 'createEgressPool' },
  actions: {
    async create(visit, form) {
      const body = { name: form.text('name'), members: [memberOf(form)] }
      const pool = await visit.ask<Pool>('POST', '/v1/egress-pools', { body })
      return {
        to: visit.link(`/pools/${pool.id}`),
        notice: `The pool ${pool.name} is made. Test it, then choose it for a workspace.`,
      }
    },
  },
}
