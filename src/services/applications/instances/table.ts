/** Every service instance of the platform: what can be configured, and by which schema. */
import type { TSchema } from '../../../kernel/schema.ts'
import { checkConnectivityKeys, checkSchemaText, checkSeriesNames, type Problem } from './checks.ts'
import * as shapes from './shapes.ts'

export type Level = 'tenant' | 'application' | 'version'

type Group =
  | 'Data collection'
  | 'Identity management'
  | 'Communication'
  | 'Configuration management'
  | 'Command invocation'
  | 'Software updates'

export interface Instance {
  name: string
  serviceName: string
  serviceGroup: Group
  description: string
  /** Absent where there is no REST interface. */
  urlPrefix?: string
  /** A level without a schema accepts any JSON object. */
  schemas: { [level in Level]?: TSchema }
  /** What a JSON schema cannot say. */
  check?(config: Record<string, unknown>): Problem | undefined
}

type Row = Omit<Instance, 'name' | 'serviceName' | 'serviceGroup' | 'schemas'> &
  Partial<Pick<Instance, 'serviceName' | 'schemas'>>

const instance = (name: string, serviceGroup: Group, row: Row): Instance => ({
  name,
  serviceName: name.toUpperCase(),
  serviceGroup,
  schemas: {},
  ...row,
})
const onBoth = (schema: TSchema) => ({ application: schema, version: schema })

const all: Instance[] = [
  instance('adx', 'Configuration management', {
    description: 'Attribute dictionary extension',
    urlPrefix: '/adx',
    schemas: onBoth(shapes.AttributeConfiguration),
  }),
  instance('al', 'Communication', { description: 'Traffic log', urlPrefix: '/al' }),
  instance('am', 'Identity management', { description: 'Asset manager', urlPrefix: '/am' }),
  instance('asf', 'Data collection', { description: 'Ingest pipelines', urlPrefix: '/asf' }),
  instance('bcx', 'Data collection', { description: 'Binary data', urlPrefix: '/bcx' }),
  instance('ccm', 'Identity management', { description: 'Client credentials', urlPrefix: '/ccm' }),
  instance('cex', 'Command invocation', { description: 'Commands', urlPrefix: '/cex' }),
  instance('cm', 'Identity management', { description: 'Endpoint tokens', urlPrefix: '/cm' }),
  instance('cmx', 'Configuration management', { description: 'Configuration extension' }),
  instance('cmx_ota', 'Software updates', { serviceName: 'CMX', description: 'Software update extension' }),
  instance('dcx', 'Data collection', {
    description: 'Data collection extension',
    schemas: onBoth(shapes.DataCollectionConfiguration),
  }),
  instance('ecr', 'Configuration management', {
    description: 'Endpoint configurations',
    urlPrefix: '/ecr',
    schemas: onBoth(shapes.EndpointConfiguration),
    check: checkSchemaText,
  }),
  instance('epl', 'Communication', {
    description: 'Endpoint connectivity',
    schemas: onBoth(shapes.ConnectivityConfiguration),
    check: checkConnectivityKeys,
  }),
  instance('epmx', 'Identity management', {
    description: 'Endpoint metadata extension',
    schemas: onBoth(shapes.MetadataConfiguration),
  }),
  instance('epr', 'Identity management', { description: 'Endpoint register', urlPrefix: '/epr' }),
  instance('epts', 'Data collection', {
    description: 'Time series',
    urlPrefix: '/epts',
    schemas: { application: shapes.TimeSeriesConfiguration, version: shapes.TimeSeriesVersionConfiguration },
    check: checkSeriesNames,
  }),
  instance('kpc', 'Communication', {
    description: 'Device gateway',
    urlPrefix: '/kpc',
    schemas: { ...onBoth(shapes.GatewayConfiguration), tenant: shapes.GatewayTenantConfiguration },
  }),
  instance('netc', 'Communication', { description: 'LoRaWAN connector', urlPrefix: '/netc' }),
  instance('otao', 'Software updates', { description: 'Software versions', urlPrefix: '/otao' }),
  instance('re', 'Command invocation', { description: 'Rules engine', urlPrefix: '/re' }),
  instance('rsx', 'Communication', {
    description: 'Request status extension',
    schemas: onBoth(shapes.RequestStatusConfiguration),
  }),
  instance('tekton', 'Configuration management', { description: 'Application manager', urlPrefix: '/tekton' }),
  instance('tenant-manager', 'Identity management', { description: 'Tenant manager', urlPrefix: '/tenant-manager' }),
  instance('tsx', 'Communication', { description: 'Time synchronization extension' }),
  instance('vpms', 'Communication', { description: 'VPN clients', urlPrefix: '/vpms' }),
]

export const instances: ReadonlyMap<string, Instance> = new Map(all.map((row) => [row.name, row]))
