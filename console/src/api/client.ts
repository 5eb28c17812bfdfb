/** The client of the SDK for the session of this page. */
import { createContext, useContext } from 'react'
import { type Client, createClient } from '../../../sdk/src/index.ts'
import { baseUrl } from './platform.ts'
import type { Session } from './session.ts'

export type { Client }

/** Creates the client. It sends a request at most three times, because a person waits, and the page offers to try again. */
export const clientOf = (session: Session): Client =>
  createClient({ url: baseUrl, auth: (rejected) => session.token(rejected), attempts: 3, timeoutMs: 30_000 })

export const ClientContext = createContext<{ client: Client; session: Session } | undefined>(undefined)

export function useSession(): { client: Client; session: Session } {
  const found = useContext(ClientContext)
  if (!found) throw new Error('This component is used outside of the session')
  return found
}
