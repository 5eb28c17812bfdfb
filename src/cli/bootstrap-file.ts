/** Reads bootstrap.json: the addresses and first credentials of a platform on this machine. */
import { join } from 'node:path'
import { CommandError } from './api/errors.ts'
import { readFileSync } from './api/files.ts'

export interface Bootstrap {
  baseUrl: string
  mqttUrl?: string
  default: { tenantId: string; backendClient: { id: string; secret: string } }
}

export function readBootstrap(dataDirectory: string): Bootstrap {
  const file = join(dataDirectory, 'bootstrap.json')
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new CommandError(
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'not JSON'}): start the platform first, and set WAYPOST_DATA to its data directory`,
    )
  }
}
