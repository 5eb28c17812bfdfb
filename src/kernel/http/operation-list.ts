/** The list of the HTTP server's operations, for services that describe them. It is complete when all services are mounted. */
import type { Operation } from './routes.ts'

export interface OperationList {
  /** Returns all operations; none before the server is connected. */
  all(): readonly Operation[]
  /** Sets the server whose operations are listed. */
  connect(server: { operations: readonly Operation[] }): void
}

export function createOperationList(): OperationList {
  let connected: { operations: readonly Operation[] } = { operations: [] }
  return {
    all: () => connected.operations,
    connect(server) {
      connected = server
    },
  }
}
