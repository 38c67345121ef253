/**
 * NAME      subjects - the tables of what is told of mail: webhooks, jobs, statistics, alarms, incidents
 */

import { INCIDENTS_STEP } from '../../sql/bounces.js'
import { JOBS_STEP } from '../../sql/jobs.js'
import { STATISTICS, WATCH } from '../../sql/statistics.js'
import { HOOKS_STEP } from '../../sql/webhooks.js'
import { tables } from './words.js'

export const SUBJECTS = tables(`${JOBS_STEP}${HOOKS_STEP}${INCIDENTS_STEP}${STATISTICS}${WATCH}`)
