/** All kinds of objects that `waypost apply` supports, in the order of creation: objects need only objects of earlier kinds. */
import { describe, operationNames } from '../../../sdk/src/descriptions.ts'
import type { Client, Options } from '../../../sdk/src/index.ts'
import { dashed } from '../api/dashed.ts'
import { CommandError } from '../api/errors.ts'
import {
  bodyFields,
  createdAt,
  type Fields,
  type Found,
  type Kind,
  kindOf,
  required,
  requireNoRemoval,
  requireVersion,
  stepKey,
  textField,
} from './kind.ts'
import { rule } from './rule.ts'
import { ruleExecution } from './rule-execution.ts'

async function* applications(client: Client) {
  for await (const { name } of client.list<{ name: string }>('applications.list')) yield { applicationName: name }
}

const application = kindOf({ name: 'application', noun: 'applications', idField: 'name' })

const countOfVersion = (client: Client, version: string) =>
  client.list('endpoints.list', { applicationVersionName: [version] }).total

/** The kind of application versions. A version is identified by its application and a suffix. */
const version: Kind = {
  name: 'version',
  fields: () => [required('applicationName'), ...bodyFields('applications.versions.create')],
  identity: ['applicationName', 'nameSuffix'],
  keyOf: (fields) => `${textField('version', fields, 'applicationName')}-${textField('version', fields, 'nameSuffix')}`,
  references: (fields) => [stepKey('application', textField('version', fields, 'applicationName'))],
  async *list(client) {
    for await (const { applicationName } of applications(client)) {
      const { body } = await client.call('applications.get', { appName: applicationName })
      for (const { name } of (body as { versions?: { name: string }[] }).versions ?? []) {
        const args = { appName: applicationName, appVersionName: name }
        const { body: found, etag } = await client.call('applications.versions.get', args)
        const { displayName, description } = found as Fields
        const nameSuffix = name.slice(applicationName.length + 1)
        const fields = { applicationName, nameSuffix, ...defined({ displayName, description }) }
        yield { key: name, identity: createdAt(found as Fields), args, fields, etag }
      }
    }
  },
  async create(client, { applicationName, ...body }, options) {
    await client.call('applications.versions.create', { appName: applicationName, body }, options)
  },
  async update(client, { args, etag, fields: present }, fields) {
    requireNoRemoval('version', present, fields)
    const { displayName, description } = fields
    const body = defined({ displayName, description })
    const options = etag === undefined ? {} : { ifMatch: etag }
    const answer = await client.call('applications.versions.patch', { ...args, body }, options)
    requireVersion(answer, 'version', version.keyOf(fields))
  },
  async delete(client, { args }) {
    await client.call('applications.versions.delete', args)
  },
  endpoints: async (client, fields, found) => (found ? await countOfVersion(client, version.keyOf(fields)) : undefined),
}

/** The kind of default configurations of versions. */
const configuration: Kind = {
  name: 'configuration',
  fields: () => [required('version'), { name: 'name', required: false }, required('config')],
  identity: ['version', 'name'],
  keyOf: (fields) => `${textField('configuration', fields, 'version')}/${fields.name ?? 'default'}`,
  references: (fields) => [stepKey('version', textField('configuration', fields, 'version'))],
  async *list(client) {
    for await (const { key } of version.list(client)) {
      const args = { appVersionName: key }
      for await (const item of client.list<ConfigurationItem>('configurations.defaults.list', args)) {
        const { name, configId, config, createdDate: identity } = item
        const fields = { version: key, name, config: JSON.parse(config) as unknown }
        yield { key: `${key}/${name}`, identity, args: { ...args, name }, fields, etag: configId }
      }
    }
  },
  create: (client, fields, options) => putConfiguration(client, fields, options),
  update: (client, { etag }, fields) =>
    putConfiguration(client, fields, etag === undefined ? {} : { ifMatch: `"${etag}"` }),
  async delete(client, { args }) {
    await client.call('configurations.defaults.delete', args)
  },
  endpoints: async (client, fields) => await countOfVersion(client, textField('configuration', fields, 'version')),
}

interface ConfigurationItem {
  name: string
  configId: string
  config: string
  createdDate: string
}

async function putConfiguration(client: Client, fields: Fields, options: Options) {
  const args = { appVersionName: fields.version, name: fields.name ?? 'default', body: fields.config }
  const answer = await client.call('configurations.defaults.update', args, options)
  requireVersion(answer, 'configuration', configuration.keyOf(fields))
}

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

const filterKind = kindOf({
  name: 'filter',
  noun: 'endpointFilters',
  parents: applications,
  async endpoints(client, _, found) {
    if (!found) return undefined
    const { body } = await client.call('endpointFilters.get', found.args)
    return (body as { matchedEndpointsCount?: number }).matchedEndpointsCount
  },
})

const filter: Kind = {
  ...filterKind,
  // The API accepts three names for the query, and returns it as `documentQuery`.
  normalize({ mongoQuery = null, query = null, ...fields }) {
    const queries = [fields.documentQuery ?? null, mongoQuery, query].filter((one) => one !== null)
    if (queries.length > 1)
      throw new CommandError('filter: documentQuery, mongoQuery and query are the same field; give one of them', 2)
    return queries.length === 0 ? fields : { ...fields, documentQuery: queries[0] }
  },
}

const roleKind = kindOf({
  name: 'role',
  noun: 'roles',
  idField: 'name',
  isOwn: ({ builtIn }) => builtIn !== true,
})

const role: Kind = { ...roleKind, sets: ['scopes'] }

const assetTypeKind = kindOf({ name: 'asset-type', noun: 'assetTypes', nameField: 'type' })

const assetType: Kind = {
  ...assetTypeKind,
  // The platform keeps the pools of an asset type if the request does not contain them.
  update: (client, found, fields) => assetTypeKind.update(client, found, { poolIds: [], ...fields }),
}

/** Values that the platform stores for absent fields of actions and triggers. */
const partDefaults: Record<string, Fields> = {
  'cron-trigger': { timezone: 'UTC' },
  'webhook-action': { retryConfig: { timeoutMs: 1000, maxAttempts: 1, backoffMultiplier: 2 } },
  'send-email-action': { contentType: 'TEXT' },
  'alert-activation-action': { entityType: 'ENDPOINT', severityLevel: 'MEDIUM' },
  'alert-resolution-action': { entityType: 'ENDPOINT' },
}

/** Returns one kind for each type of actions and triggers, such as `webhook-action` and `cron-trigger`. */
const partKinds = (suffix: 'Actions' | 'Triggers'): Kind[] =>
  operationNames()
    .map((name) => name.split('.'))
    .filter(([noun, verb]) => noun!.endsWith(suffix) && verb === 'list')
    .filter(([noun]) => describe(`${noun}.create`)?.aliasOf === undefined)
    .map(([noun]) => {
      const name = dashed(noun!.slice(0, -1))
      const defaults = Object.hasOwn(partDefaults, name) ? partDefaults[name]! : {}
      return { ...kindOf({ name, noun: noun! }), defaults }
    })

const actions = partKinds('Actions')
const triggers = partKinds('Triggers')
const dashboard = kindOf({ name: 'dashboard', noun: 'dashboards', idField: 'dashboardId' })
const alertSettingKind = kindOf({ name: 'alert-setting', noun: 'alertSettings' })
const alertSetting: Kind = { ...alertSettingKind, defaults: { state: 'ENABLED' } }

export const kinds: Kind[] = [
  role,
  application,
  version,
  configuration,
  filter,
  assetType,
  ...triggers,
  ...actions.filter(({ name }) => name !== ruleExecution.name),
  rule,
  ruleExecution,
  alertSetting,
  dashboard,
]

export const findKind = (name: unknown) => kinds.find((kind) => kind.name === name)
export type { Fields, Found, Kind }
