/**
 * NAME      steps - verbs of the port that are several transactions
 */
import type { Store } from '../port/store.js'
import type { Calls } from './calls.js'

export const stepsOf = (current: () => Calls) =>
  ({
    async decideIncident(...args) {
      const { call } = current().asOrder()
      let changed = 0
      for (let isFirst = true; ; isFirst = false) {
        const step = await call('decideStep', ...args, isFirst)
        if (typeof step === 'string') return step
        changed += step.changed
        if (!step.again) return changed
      }
    },
    async updateWorkspace(id, change, moving) {
      if (moving !== undefined) throw new Error('moving mail is not done by PostgreSQL yet')
      return current().call('updateWorkspace', id, change)
    },
  }) satisfies Partial<Store>
