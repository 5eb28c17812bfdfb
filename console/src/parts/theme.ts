/** The colours that the person chose: light, dark, or those of the system. The app applies and keeps them. */
import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

let chosen: Theme | undefined
const listeners = new Set<(theme: Theme) => void>()

/** Calls the listener with every choice; returns a function that ends this. */
export function onTheme(listener: (theme: Theme) => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function chooseTheme(theme: Theme) {
  chosen = theme
  for (const listener of listeners) listener(theme)
}

/** Returns the choice; undefined while the person has chosen nothing on this page. */
export const useTheme = (): Theme | undefined => useSyncExternalStore(onTheme, () => chosen)
