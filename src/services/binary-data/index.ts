import { Identity } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Register } from '../register/contract.ts'
import { Tenants } from '../tenants/contract.ts'
import { Tokens } from '../tokens/contract.ts'
import { BinaryData } from './contract.ts'
import { uploadTokens } from './device.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { downloadRoutes } from './routes/downloads.ts'
import { listRoutes } from './routes/lists.ts'
import { uploadRoutes, uploadTokenRoutes } from './routes/uploads.ts'
import { createBinaryData } from './service.ts'
import { binaryDataSettings } from './settings.ts'

export default defineService({
  name: 'binary-data',
  provides: BinaryData,
  needs: {
    identity: Identity,
    tenants: Tenants,
    applications: Applications,
    register: Register,
    tokens: Tokens,
  },
  migrations: new URL('./migrations/', import.meta.url),
  contents: [
    { table: 'items', key: 'content_key', size: 'size', sha256: 'checksum', mark: 'store_mark' },
    { table: 'service_contents', key: 'content_key', size: 'size', sha256: 'checksum', mark: 'store_mark' },
  ],
  settings: binaryDataSettings,
  instances: [defineInstance({ name: 'bcx', group: 'Data collection', description: 'Binary data', urlPrefix: '/bcx' })],
  build(kit, services) {
    const service = createBinaryData(kit, services)
    registerEventHandlers(kit.bus, service.deletions)
    return {
      api: service.api,
      device: [uploadTokens(service.api)],
      http: [
        {
          name: 'binary',
          title: 'Files and blobs that endpoints upload',
          roots: ['/bcx/api/v1'],
          routes(http) {
            uploadTokenRoutes(http, service)
            uploadRoutes(http, service, kit.baseUrl)
            downloadRoutes(http, service, kit.baseUrl)
            listRoutes(http, service, kit.baseUrl)
          },
        },
        // Uploads and blob locations are also served without the prefix (document 3).
        {
          name: 'binary',
          roots: [''],
          routes(http) {
            uploadRoutes(http, service, kit.baseUrl)
            downloadRoutes(http, service, kit.baseUrl)
          },
        },
      ],
      periodic: [
        { name: 'binary-data.sweep', everySeconds: 600, run: service.orphans.sweep },
        { name: 'binary-data.compare', everySeconds: 24 * 3600, run: service.orphans.compare },
      ],
      start: service.start,
      stop: service.orphans.stop,
    }
  },
})
