import { defineEvent } from '../../kernel/bus.ts'

export interface ApplicationEvent {
  tenantId: string
  applicationName: string
}
export interface VersionEvent extends ApplicationEvent {
  versionName: string
}
export interface ConfigurationEvent {
  tenantId: string
  instance: string
  level: 'tenant' | 'application' | 'version'
  /** Set if the configuration belongs to an application or version. */
  applicationName?: string
  /** Set if the configuration belongs to a version. */
  versionName?: string
}

// Events of one application are delivered in order. Events of different applications do not wait for each other.
const key = ({ applicationName }: ApplicationEvent) => applicationName

export const ApplicationCreated = defineEvent<ApplicationEvent>('applications.application.created', {
  description: 'An application was created',
  key,
})
export const ApplicationUpdated = defineEvent<ApplicationEvent>('applications.application.updated', {
  description: 'The display name or description of an application changed',
  key,
})
export const ApplicationDeleted = defineEvent<ApplicationEvent>('applications.application.deleted', {
  description: 'An application was deleted; the deletion of each of its versions was published before',
  key,
})
export const VersionCreated = defineEvent<VersionEvent>('applications.version.created', {
  description: 'A version of an application was created',
  key,
})
export const VersionUpdated = defineEvent<VersionEvent>('applications.version.updated', {
  description: 'The display name or description of an application version changed',
  key,
})
export const VersionDeleted = defineEvent<VersionEvent>('applications.version.deleted', {
  description: 'A version of an application was deleted, alone or with its application',
  key,
})
export const ConfigurationChanged = defineEvent<ConfigurationEvent>('applications.configuration.changed', {
  description: 'The configuration of a service instance changed for a tenant, an application or a version',
  key: ({ tenantId, applicationName }) => applicationName ?? tenantId,
})
