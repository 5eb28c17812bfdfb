/** The chosen theme: light, dark, or the theme of the operating system. It is not a secret, so the browser may store it. */
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
    // The browser denies storage, so the choice is lost after a reload.
  }
  applyTheme(theme)
}

/** Applies a change of the theme of the operating system, unless the user has chosen light or dark. */
export const followSystem = () =>
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => applyTheme(readTheme()))
