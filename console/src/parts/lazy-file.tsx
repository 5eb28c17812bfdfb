/** Parts whose code is in a file of its own. If the file cannot be loaded, only this part says so, and the page keeps what was typed. */
import { type ComponentType, lazy } from 'react'
import { Button } from './button.tsx'
import { Note } from './notes.tsx'
import { texts } from './texts.ts'

/**
 * Returns whether the file of a part could not be loaded: the platform does not answer, or has no files of the older
 * build after an upgrade. Browsers word this error differently.
 */
export const isMissingFile = (error: unknown) =>
  error instanceof Error && /dynamically imported module|module script|Importing a module/i.test(error.message)

const MissingFile = () => (
  <Note
    tone="warn"
    action={
      <Button icon="refresh" onPress={() => location.reload()}>
        {texts.loadAgain}
      </Button>
    }
  >
    {texts.missingFile}
  </Note>
)

/** Like `lazy` of React: `const Chart = lazyFile(() => import('./chart.tsx'))`. */
export const lazyFile = <P extends object>(load: () => Promise<{ default: ComponentType<P> }>) =>
  lazy(() =>
    load().catch((error: unknown) => {
      if (!isMissingFile(error)) throw error
      return { default: MissingFile as ComponentType<P> }
    }),
  )
