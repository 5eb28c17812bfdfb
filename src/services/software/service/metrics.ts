import type { Kit } from '../../../kernel/define-service.ts'

export interface SoftwareMetrics {
  offered(by: 'push' | 'request'): void
  /** Counts and logs the reason why an endpoint got no push. */
  notOffered(reason: string, endpointId: string): void
  reported(outcome: 'applied' | 'failed' | 'unknown'): void
}

export function createSoftwareMetrics({ metrics, log }: Pick<Kit, 'metrics' | 'log'>): SoftwareMetrics {
  const offers = metrics.counter('waypost_software_offers_total', 'Number of versions sent to devices, by occasion.', [
    'by',
  ])
  const refusals = metrics.counter(
    'waypost_software_not_offered_total',
    'Number of pushes of a version that were not sent although the endpoint was connected, by reason.',
    ['reason'],
  )
  const reports = metrics.counter('waypost_software_reports_total', 'Number of reports of devices, by outcome.', [
    'outcome',
  ])
  return {
    offered: (by) => offers.inc({ by }),
    notOffered(reason, endpointId) {
      refusals.inc({ reason })
      log.debug({ endpointId, reason }, 'software not offered')
    },
    reported: (outcome) => reports.inc({ outcome }),
  }
}
