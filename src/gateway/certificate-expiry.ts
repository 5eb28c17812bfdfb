/** Closes connections whose client certificate expires while they are open. One timer serves all connections. */
import type { Clock } from '../kernel/clock.ts'
import type { DeviceConnection } from './connection-state.ts'

export interface CertificateExpiry {
  opened(connection: DeviceConnection): void
  closed(connection: DeviceConnection): void
}

const checkEveryMs = 1000

export function createCertificateExpiry(
  now: Clock,
  onExpiry: (connection: DeviceConnection) => void,
): CertificateExpiry {
  const waiting = new Map<DeviceConnection, Date>()
  let timer: NodeJS.Timeout | undefined

  function closeExpired() {
    const at = now()
    for (const [connection, validUntil] of waiting) {
      if (validUntil >= at) continue
      waiting.delete(connection)
      onExpiry(connection)
    }
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    opened(connection) {
      const { validUntil } = connection.state.authentication ?? {}
      if (!validUntil) return
      waiting.set(connection, validUntil)
      timer ??= setInterval(closeExpired, checkEveryMs).unref()
    },
    closed: (connection) => void waiting.delete(connection),
  }
}
