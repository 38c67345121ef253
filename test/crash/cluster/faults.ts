/** What breaks in a round. Each says what was not as it must be, in words, and leaves daemons that run. */
import { DATABASE_FAULTS } from './database.js'
import { DEATHS } from './deaths.js'
import type { Fault } from './fault.js'
import { POINTS } from './points.js'

export const FAULTS: readonly Fault[] = [...DEATHS, ...DATABASE_FAULTS, ...POINTS]
