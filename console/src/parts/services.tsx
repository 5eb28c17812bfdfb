/** Services that the app passes to parts, because parts may import only other parts. */
import { createContext, useContext } from 'react'

export interface CommandTexts {
  curl: string
  cli: string
  sdk: string
  scopes: string[]
}

export interface PartsServices {
  /** Returns the call of an operation as commands for curl, the command line and the SDK. */
  commandTexts(operation: string, args: Record<string, unknown>): Promise<CommandTexts>
  /** Returns whether the user may open the page of a path. */
  mayOpen(path: string): boolean
}

export const ServicesContext = createContext<PartsServices>({
  commandTexts: () => Promise.reject(new Error('There is no provider of commands')),
  mayOpen: () => true,
})

export const useServices = () => useContext(ServicesContext)
