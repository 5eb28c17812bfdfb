/** Applies the preferences that the platform stores for the user, so that they apply on every device. */
import { useEffect } from 'react'
import { usePreferences } from '../api/preferences.ts'
import { chooseTheme, onTheme } from '../parts/theme.ts'
import { setFormats } from '../parts/time.tsx'
import { setTheme } from './theme.ts'

export function StoredPreferences() {
  const { zone, language, theme } = usePreferences().data ?? {}
  useEffect(() => onTheme(setTheme), [])
  useEffect(() => {
    if (theme) chooseTheme(theme)
  }, [theme])
  useEffect(() => void setFormats({ zone, language }), [zone, language])
  return null
}
