/** The chosen theme: light, dark, or that of the system. It is not a secret, so the browser may store it. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'waypost.theme'

export function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(key)
    return kept === 'light' || kept === 'dark' ? kept : 'system'
  } catch {
    return 'system'
  }
}

export function applyTheme(theme: Theme) {
  const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

export function setTheme(theme: Theme) {
  try {
    localStorage.setItem(key, theme)
  } catch {
    // A browser that denies storage forgets the choice.
  }
  applyTheme(theme)
}

/** Follows the system while nothing else is chosen. */
export const followSystem = () =>
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => applyTheme(readTheme()))
