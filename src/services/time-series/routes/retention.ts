import type { Http } from '../../../kernel/http/routes.ts'
import * as schemas from '../schemas/retention.ts'
import type { TimeSeriesService } from '../service.ts'

export function retentionRoutes(http: Http, { retentionPreview }: TimeSeriesService) {
  const path = '/api/v1/applications/:applicationName/time-series/retention-preview'
  const config = { scope: 'application:timeseries-config:read' }

  http.get(path, { schema: schemas.previewRetention, config }, ({ ctx, params }) =>
    retentionPreview.previewFor(ctx, params.applicationName),
  )
  // Keys of the body are series names, so any key is valid.
  http.post(
    path,
    { schema: schemas.previewProposedRetention, config: { ...config, anyJson: 'inside' } },
    ({ ctx, params, body }) => retentionPreview.previewFor(ctx, params.applicationName, body),
  )
}
