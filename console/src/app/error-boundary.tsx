import { Component, type ReactNode } from 'react'
import { hasNewerBuild } from '../api/build.ts'
import { Button } from '../parts/button.tsx'
import { Text } from '../parts/text.tsx'
import { texts } from './texts.ts'

interface State {
  error: Error | undefined
}

/** A file of an older build is gone after an upgrade; loading the page again gets the new one. */
const isMissingFile = ({ message, name }: Error) =>
  /dynamically imported module|module script|Importing a module/i.test(message) || name === 'ChunkLoadError'

/** Keeps the rest of the console alive when a page fails. React needs a class for it. */
export class ErrorBoundary extends Component<{ title: string; children: ReactNode }, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override componentDidCatch(error: Error) {
    // Only if there is another build: a page that fails again must not load for ever.
    if (isMissingFile(error)) void hasNewerBuild().then((isNewer) => isNewer && location.reload())
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <div className="empty" role="alert">
        <h1 id="page-title" tabIndex={-1}>
          {texts.crashed}
        </h1>
        <p>{texts.crashedText}</p>
        <pre className="crash">
          <Text value={`${this.props.title}: ${error.message}`} max={1000} />
        </pre>
        <Button look="primary" icon="refresh" onPress={() => location.reload()}>
          {texts.reload}
        </Button>
      </div>
    )
  }
}
