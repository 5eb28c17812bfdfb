/** Entry of the console: moves to the public address if needed, then shows the app. */
import { createRoot } from 'react-dom/client'
import { moveToPublicAddress } from '../api/platform.ts'
import { guardNavigation } from '../parts/unsaved.ts'
import { App } from './app.tsx'
import { applyTheme, followSystem, readTheme } from './theme.ts'

applyTheme(readTheme())
followSystem()
guardNavigation()
if (!moveToPublicAddress()) createRoot(document.getElementById('app')!).render(<App />)
