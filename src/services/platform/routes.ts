import type { Http } from '../../kernel/http/routes.ts'
import * as schemas from './schemas.ts'
import type { PlatformService } from './service.ts'

export const readScope = 'platform:status:read'

/** Removes fields without a value. */
const defined = <T extends object>(row: T) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as never

export function routes(http: Http, platform: PlatformService) {
  const config = { scope: readScope, on: 'platform' } as const
  http.get('/platform', { schema: schemas.readPlatform, config }, () => platform.summary())
  http.get('/nodes', { schema: schemas.listNodes, config }, async () => ({ content: await platform.nodes() }))
  http.get('/database', { schema: schemas.readDatabase, config }, () => platform.database())
  http.get('/queues', { schema: schemas.listQueues, config }, async () => {
    const { jobs, ...rest } = await platform.queues()
    return { jobs: jobs.map(defined), ...rest }
  })
  http.get('/backups', { schema: schemas.listBackups, config }, async () => ({
    content: (await platform.backups()).map(defined),
  }))
  http.get('/settings', { schema: schemas.listSettings, config }, () => ({ content: platform.settings() }))
}
