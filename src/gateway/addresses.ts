/** Public addresses of the listeners for devices, and the authentication that a tenant requires on each. */
import { ConfigurationError } from '../kernel/settings.ts'
import type { GatewaySettings } from './settings.ts'
import type { Method, Tenants, Transport } from './tenants.ts'

export interface DeviceAddress {
  transport: Transport
  url: string
  required: readonly Method[]
}

export type ListDeviceAddresses = (tenantId: string) => Promise<DeviceAddress[]>

interface Parts {
  baseUrl(): string
  settings: Pick<GatewaySettings, 'mqttUrl' | 'mqttsUrl'>
  tenants: Pick<Tenants, 'get'>
  /** Addresses of this node's open listeners; undefined while they are closed. */
  listeners(): { mqttUrl: string; mqttsUrl: string } | undefined
}

export function createListAddresses({ baseUrl, settings, tenants, listeners }: Parts): ListDeviceAddresses {
  checkScheme('WAYPOST_MQTT_URL', settings.mqttUrl, 'mqtt:')
  checkScheme('WAYPOST_MQTTS_URL', settings.mqttsUrl, 'mqtts:')
  /**
   * Returns a listener's URL with the public host name. Only the port is taken from the address that the node listens on, because devices
   * often cannot reach that address.
   */
  const publicUrl = (listenerUrl: string) => {
    const { protocol, port } = new URL(listenerUrl)
    return `${protocol}//${new URL(baseUrl()).hostname}:${port}`
  }
  return async (tenantId) => {
    const required = (await tenants.get(tenantId))?.required
    const open = listeners()
    const urls: Record<Transport, string | undefined> = {
      mqtt: settings.mqttUrl ?? (open && publicUrl(open.mqttUrl)),
      mqtts: settings.mqttsUrl ?? (open && publicUrl(open.mqttsUrl)),
      websocket: `${baseUrl().replace(/^http/, 'ws')}/mqtt`,
      http: baseUrl(),
    }
    return (Object.keys(urls) as Transport[]).flatMap((transport) => {
      const url = urls[transport]
      return url === undefined ? [] : [{ transport, url, required: required?.[transport] ?? [] }]
    })
  }
}

function checkScheme(setting: string, url: string | undefined, scheme: string) {
  if (url !== undefined && new URL(url).protocol !== scheme)
    throw new ConfigurationError(`${setting} is ${url}; expected an address such as ${scheme}//devices.example.com`)
}
