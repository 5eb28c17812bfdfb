import { defineInstance, forApplicationAndVersion } from '../../kernel/configuration.ts'
import { Type } from '../../kernel/schema.ts'

/** The attribute dictionary accepts any JSON object. */
export const attributesInstance = defineInstance({
  name: 'adx',
  group: 'Configuration management',
  description: 'Attribute dictionary extension',
  urlPrefix: '/adx',
  schemas: forApplicationAndVersion(Type.Object({}, { additionalProperties: true })),
})

export const applicationsInstances = [
  attributesInstance,
  defineInstance({
    name: 'tekton',
    group: 'Configuration management',
    description: 'Application manager',
    urlPrefix: '/tekton',
  }),
]
