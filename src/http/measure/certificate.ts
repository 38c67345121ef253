/**
 * NAME      certificate - when the one that is served expires
 */
import { gauge, type Metric } from '../metrics.js'

export const certificateMetric = (expiresAt: number): Metric =>
  gauge(
    'postern_certificate_expires_timestamp_seconds',
    'When the certificate that is served expires, in Unix time',
    Math.floor(expiresAt / 1_000),
  )
