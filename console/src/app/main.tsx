/** Entry of the console: moves to the public address if needed, then shows the app. */
import { createRoot } from 'react-dom/client'
import { moveToPublicAddress } from '../api/platform.ts'
import { guardNavigation } from '../parts/unsaved.ts'
import { App, readStart } from './app.tsx'
import { openSession } from './open-session.ts'
import { applyTheme, followSystem, readTheme } from './theme.ts'

applyTheme(readTheme())
followSystem()
guardNavigation()
if (!moveToPublicAddress()) {
  const start = readStart()
  const opened = start && openSession(start)
  createRoot(document.getElementById('app')!).render(<App opened={opened} />)
}
