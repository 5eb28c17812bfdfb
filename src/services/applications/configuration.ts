import { defineInstance } from '../../kernel/configuration.ts'
import { AnyJson, Type } from '../../kernel/schema.ts'

/** The attributes of an application may be any JSON object, and the attributes of a version any JSON value (document 3, 2.8). */
export const attributesInstance = defineInstance({
  name: 'adx',
  group: 'Configuration management',
  description: 'Attribute dictionary extension',
  urlPrefix: '/adx',
  schemas: { application: Type.Object({}, { additionalProperties: true }), version: AnyJson() },
  anyJsonOfVersions: true,
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
