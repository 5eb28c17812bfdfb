/** Addresses of the VPN (document 5, 8.2). Each tenant has a /20, whose last /24 is for administrators. All functions are pure. */
import type { Network } from './settings.ts'

export type ClientType = 'admin' | 'device'

export const rangePrefix = 20
export const rangeSize = 4096
export const adminSize = 256
const adminOffset = rangeSize - adminSize

/**
 * Offsets in the range of a tenant that clients of a type can get. The first address of the range is not assigned, and the second is the
 * platform's own.
 */
export const offsets: Record<ClientType, { first: number; last: number }> = {
  device: { first: 2, last: adminOffset - 1 },
  // The last address of the range is its broadcast address.
  admin: { first: adminOffset + 1, last: rangeSize - 2 },
}

export const rangeCount = ({ prefix }: Network) => 2 ** (rangePrefix - prefix)

export const addressText = (address: number) =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.')

export const addressNumber = (text: string) => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)

/** Returns the first address of the range that contains the address. */
export const rangeStartOf = (address: number) => address - (address % rangeSize)

/** Returns the platform's own address in the range of a client. */
export const platformAddressOf = (address: number) => rangeStartOf(address) + 1

export const adminStartOf = (rangeStart: number) => rangeStart + adminOffset

/** Returns the field `subnet` of a client: the whole range for a device, the last /24 of the range for an administrator. */
export function subnetOf(type: ClientType, address: string): string {
  const start = rangeStartOf(addressNumber(address))
  return type === 'device' ? `${addressText(start)}/${rangePrefix}` : `${addressText(adminStartOf(start))}/24`
}

export const isInNetwork = ({ first, prefix }: Network, address: number) =>
  address >= first && address < first + 2 ** (32 - prefix)
