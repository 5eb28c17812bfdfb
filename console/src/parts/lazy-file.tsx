/**
 * Components whose code is in a separate file. If the file cannot be loaded, only this component shows an error, and the page keeps its
 * input.
 */
import { type ComponentType, lazy } from 'react'
import { Button } from './button.tsx'
import { Note } from './notes.tsx'
import { texts } from './texts.ts'

/**
 * Returns whether the error means that the file of a component could not be loaded: the platform does not respond, or no longer has the
 * files of the older build after an upgrade. The text of this error differs between browsers.
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

/** Loads a component when it is first shown, like `lazy` of React: `const Chart = lazyFile(() => import('./chart.tsx'))`. */
export const lazyFile = <P extends object>(load: () => Promise<{ default: ComponentType<P> }>) =>
  lazy(() =>
    load().catch((error: unknown) => {
      if (!isMissingFile(error)) throw error
      return { default: MissingFile as ComponentType<P> }
    }),
  )
