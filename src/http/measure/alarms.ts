/**
 * NAME      alarms - which workspaces have an alarm that stands, as a metric
 */
import type { StandingAlarm } from '../../store/port/watch/watch.js'
import type { Metric } from '../metrics.js'

export const alarmMetric = (standing: readonly StandingAlarm[]): Metric => ({
  name: 'postern_workspace_alarm',
  help: '1 while too much of the live mail of a workspace is complained of, bounces hard or is deferred',
  type: 'gauge',
  samples: standing.map(({ workspaceId: workspace, alarm }) => ({ labels: { workspace, alarm }, value: 1 })),
})
