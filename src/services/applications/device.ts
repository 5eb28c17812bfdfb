/** Device extension `adx`: looks up attributes in the configuration of instance `adx`. */
import type { Extension } from '../../kernel/device.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { defineError } from '../../kernel/errors.ts'
import { Type } from '../../kernel/schema.ts'
import { select } from './attribute-path.ts'
import { attributesInstance } from './configuration.ts'
import type { Applications } from './contract.ts'

export const NoAttribute = defineError<{ path: string }>('no_such_attribute', 404, 'There is no attribute at {path}')

const request = jsonPayload(Type.Object({ q: Type.String({ maxLength: 1024 }) }))

export const attributeDictionary = (applications: Pick<Applications, 'configuration'>): Extension => ({
  name: 'adx',
  receive: resources({
    '/json': async ({ endpoint, payload }) => {
      const { q } = request(payload)
      const { tenantId, applicationName, versionName } = endpoint
      const { config: data } = await applications.configuration({
        tenantId,
        instance: attributesInstance,
        applicationName,
        versionName,
      })
      const attribute = select(data, q)
      if (attribute === undefined) throw NoAttribute({ path: q.slice(0, 200) })
      return { payload: attribute, always: true }
    },
  }),
})
