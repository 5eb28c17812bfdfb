/**
 * Parses and writes the JSON envelope of configurations (document 3, 2.8; `kaa` is an alias of `platform`): `{<instance>: {platform:
 * {applications: {<application>: {…, versions: {<version>: {…}}}}}}}` and `{<instance>: {platform: {tenants: {<tenant>: {config: {…}}}}}}`.
 */
import { invalidField } from '../../kernel/errors.ts'
import { isObject } from './merge-patch.ts'

/** One configuration of an envelope. `path` is its path in the request, for error messages. */
export interface Entry {
  instance: string
  applicationName: string
  versionName: string | undefined
  config: unknown
  path: string
}

const roots = ['platform', 'kaa']

function membersOf(value: unknown, path: string): [key: string, value: unknown, path: string][] {
  if (!isObject(value)) throw invalidField(path, 'expected an object')
  return Object.entries(value).map(([key, inner]) => [key, inner, path === 'body' ? key : `${path}.${key}`])
}

/** Yields the members of `applications` or `tenants` of every instance. */
function* membersByInstance(envelope: unknown, kind: 'applications' | 'tenants') {
  const instances = membersOf(envelope, 'body')
  if (instances.length === 0) throw invalidField('body', 'expected at least one service instance')
  for (const [instance, wrapped, path] of instances) {
    const [root, ...others] = membersOf(wrapped, path).filter(([key]) => roots.includes(key))
    if (!root) throw invalidField(`${path}.platform`, 'is required')
    if (others.length > 0) throw invalidField(path, 'expected either platform or kaa, not both')
    const group = membersOf(root[1], root[2]).find(([key]) => key === kind)
    if (!group) throw invalidField(`${root[2]}.${kind}`, 'is required')
    const members = membersOf(group[1], group[2])
    if (members.length === 0) throw invalidField(group[2], 'must not be empty')
    for (const [name, value, where] of members) yield { instance, name, value, path: where }
  }
}

/** Parses an envelope of applications. If an application contains only `versions`, there is no entry for the application itself. */
export function readEnvelope(envelope: unknown): Entry[] {
  return [...membersByInstance(envelope, 'applications')].flatMap(
    ({ instance, name: applicationName, value, path }) => {
      const members = membersOf(value, path)
      const versions = members.find(([key]) => key === 'versions')
      const ownMembers = members.filter((member) => member !== versions)
      const ownEntry = {
        instance,
        applicationName,
        versionName: undefined,
        config: Object.fromEntries(ownMembers),
        path,
      }
      const versionEntries = (versions ? membersOf(versions[1], versions[2]) : []).map(
        ([versionName, config, where]) => ({ instance, applicationName, versionName, config, path: where }),
      )
      return ownMembers.length > 0 || !versions ? [ownEntry, ...versionEntries] : versionEntries
    },
  )
}

/** Parses an envelope that may contain only this tenant. */
export function readTenantEnvelope(envelope: unknown, tenantId: string) {
  return [...membersByInstance(envelope, 'tenants')].map(({ instance, name, value, path }) => {
    if (name !== tenantId) throw invalidField(path, `expected only the tenant ${tenantId}`)
    const config = membersOf(value, path).find(([key]) => key === 'config')
    if (!config) throw invalidField(`${path}.config`, 'is required')
    return { instance, config: config[1], path: config[2] }
  })
}

interface StoredConfiguration {
  instance: string
  config: Record<string, unknown>
}

const wrap = (rows: StoredConfiguration[], inner: (config: StoredConfiguration['config']) => object) =>
  JSON.stringify(Object.fromEntries(rows.map(({ instance, config }) => [instance, { platform: inner(config) }])))

/** Writes the envelope of one application or one application version. */
export const writeEnvelope = (
  rows: StoredConfiguration[],
  target: { applicationName: string; versionName?: string | undefined },
) =>
  wrap(rows, (config) => {
    const value = target.versionName === undefined ? config : { versions: { [target.versionName]: config } }
    return { applications: { [target.applicationName]: value } }
  })

export const writeTenantEnvelope = (rows: StoredConfiguration[], tenantId: string) =>
  wrap(rows, (config) => ({ tenants: { [tenantId]: { config } } }))

export interface StoredEntry extends StoredConfiguration {
  applicationName: string
  versionName: string | null
}

/**
 * Writes all configurations as one envelope, in pieces. Rows must be ordered by instance, application and version. The application's own
 * row must come before the rows of its versions.
 */
export async function* writeWholeEnvelope(rows: AsyncIterable<StoredEntry>): AsyncGenerator<string> {
  let previous: StoredEntry | undefined
  /** Separator before `versions`; empty if the current application has no keys of its own. */
  let comma = ''
  yield '{'
  for await (const row of rows) {
    const sameInstance = previous?.instance === row.instance
    const sameApplication = sameInstance && previous?.applicationName === row.applicationName
    if (previous && !sameApplication) yield previous.versionName === null ? '}' : '}}'
    if (previous && !sameInstance) yield '}}}'
    if (previous && !sameApplication) yield ','
    if (!sameInstance) yield `${JSON.stringify(row.instance)}:{"platform":{"applications":{`
    if (!sameApplication) yield `${JSON.stringify(row.applicationName)}:{`
    if (row.versionName === null) {
      const ownKeys = JSON.stringify(row.config).slice(1, -1)
      comma = ownKeys === '' ? '' : ','
      yield ownKeys
    } else {
      const first = !sameApplication || previous?.versionName === null
      yield first ? `${sameApplication ? comma : ''}"versions":{` : ','
      yield `${JSON.stringify(row.versionName)}:${JSON.stringify(row.config)}`
    }
    previous = row
  }
  if (previous) yield previous.versionName === null ? '}}}}' : '}}}}}'
  yield '}'
}
