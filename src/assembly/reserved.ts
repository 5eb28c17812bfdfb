/** What belongs to services of the specification that are not here yet. Each part moves into its service's `index.ts` with it. */
import { type ConfigurationInstance, defineInstance } from '../kernel/configuration.ts'

/** Doors by the names that WAYPOST_AUTH knows, with their roots (document 3, "Words and roots"). Nothing answers there yet. */
export const reservedDoors: Record<string, string[]> = {
  configuration: ['/ecr/api/v1'],
  command: ['/cex/api/v1', '/rci/api/v1'],
  software: ['/otao/api/v1'],
  ingest: ['/asf/api/v1'],
  vpn: ['/vpms/api/v1'],
  rules: ['/re/api/v1'],
  assets: ['/am'],
  lorawan: ['/api/v1', '/netc/api/v1', '/ttnc/api/v1'],
}

const reserved = (name: string, group: string, description: string) =>
  defineInstance({ name, group, description, urlPrefix: `/${name}` })

/** Service instances that can be configured already. */
export const reservedInstances: ConfigurationInstance[] = [
  reserved('am', 'Identity management', 'Asset manager'),
  reserved('asf', 'Data collection', 'Ingest pipelines'),
  reserved('netc', 'Communication', 'LoRaWAN connector'),
  reserved('re', 'Command invocation', 'Rules engine'),
  reserved('vpms', 'Communication', 'VPN clients'),
]
