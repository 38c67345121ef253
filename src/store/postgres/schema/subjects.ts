/**
 * NAME      subjects - the tables of what is told of mail: webhooks, jobs, statistics, alarms, incidents
 */
import { STATISTICS, WATCH } from '../../sql/schema/counts.js'
import { HOOKS_STEP } from '../../sql/schema/hooks.js'
import { INCIDENTS_STEP } from '../../sql/schema/incidents.js'
import { JOBS_STEP } from '../../sql/schema/jobs.js'
import { tables } from './words.js'

export const SUBJECTS = tables(`${JOBS_STEP}${HOOKS_STEP}${INCIDENTS_STEP}${STATISTICS}${WATCH}`)
