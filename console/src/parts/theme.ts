/** The theme that the user chose: light, dark, or the theme of the operating system. The app applies and stores it. */
import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

let chosen: Theme | undefined
const listeners = new Set<(theme: Theme) => void>()

/** Calls the listener with every choice. Returns a function that removes the listener. */
export function onTheme(listener: (theme: Theme) => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function chooseTheme(theme: Theme) {
  chosen = theme
  for (const listener of listeners) listener(theme)
}

/** Returns the chosen theme, or undefined until the user chooses a theme on this page. */
export const useTheme = (): Theme | undefined => useSyncExternalStore(onTheme, () => chosen)
