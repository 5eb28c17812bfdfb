import { Component, type ReactNode } from 'react'
import { readBuildState } from '../api/build.ts'
import { Button } from '../parts/button.tsx'
import { isMissingFile } from '../parts/lazy-file.tsx'
import { Text } from '../parts/text.tsx'
import { texts } from './texts.ts'

interface Props {
  title: string
  children: ReactNode
  /** Called before the children are shown again. Forgets a file that could not be loaded, so that the file is loaded again. */
  onReset?(): void
}

interface State {
  error: Error | undefined
}

const retryMs = 3_000

/** Shows an error in place of a page that throws, so that the rest of the console still works. React requires a class for this. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined }
  timer: ReturnType<typeof setTimeout> | undefined

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override componentDidCatch(error: Error) {
    if (isMissingFile(error)) void this.recover()
  }

  override componentWillUnmount() {
    clearTimeout(this.timer)
  }

  /**
   * Recovers when a file could not be loaded. After an upgrade, the page is reloaded, because the new console has other files. Otherwise
   * the file is loaded again later, when the platform responds.
   */
  async recover() {
    const build = await readBuildState()
    if (build === 'newer') location.reload()
    if (build === 'unknown') this.timer = setTimeout(() => void this.recover(), retryMs)
    if (build === 'same') this.timer = setTimeout(() => this.reset(), retryMs)
  }

  reset() {
    this.props.onReset?.()
    this.setState({ error: undefined })
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    const isMissing = isMissingFile(error)
    return (
      <div className="empty" role="alert">
        <h1 id="page-title" tabIndex={-1}>
          {isMissing ? texts.missing : texts.crashed}
        </h1>
        <p>{isMissing ? texts.missingText : texts.crashedText}</p>
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
