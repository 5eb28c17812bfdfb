import { Name, Type } from '../../../kernel/schema.ts'

export const appName = Name({ description: 'Name of the application.' })
export const softwareVersion = Name({
  description: 'Semantic version (SemVer 2.0.0), such as `1.2.3` or `2.0.0-rc.1`.',
})
export const endpointId = Name({ description: 'Id of the endpoint.' })
export const ofApplication = Type.Object({ appName })
export const ofVersion = Type.Object({ appName, softwareVersion })
export const ofEndpoint = Type.Object({ appName, endpointId })

export const noApplication = { 404: 'The application does not exist, or the caller lacks the scope on it.' }
export const noSoftware = { 404: 'The version or its application does not exist, or the caller lacks the scope on it.' }
