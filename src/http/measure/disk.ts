/**
 * NAME      disk - whether there is room, for the log, the health check and the metrics
 */
import { createDiskWatch, type DiskWatch } from '../../base/disk.js'
import type { Log } from '../../base/log.js'
import type { Config } from '../../config/config.js'
import { formatSize } from '../../config/units.js'
import { gauge } from '../metrics.js'

/** Below limits.min_free_disk nothing more is accepted; said once each time. */
export const watchDisk = (config: () => Config, log: Log): DiskWatch =>
  createDiskWatch({
    folder: config().data_dir,
    mark: () => config().limits.min_free_disk,
    changed: (isLow, free) => {
      if (isLow)
        log.error({ free, key: 'limits.min_free_disk' }, 'disk nearly full, nothing more is accepted')
      else log.info({ free }, 'there is room on the disk again')
    },
  })

export const diskText = ({ limits, data_dir }: Config, free: number): string =>
  `low: ${Math.floor(free / 2 ** 20)}MiB are free in ${data_dir}, limits.min_free_disk is ${formatSize(limits.min_free_disk)}`

export const diskMetric = ({ free }: DiskWatch) =>
  gauge('postern_disk_free_bytes', 'Free space under data_dir', free ?? 0)
