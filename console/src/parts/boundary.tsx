import { Component, type ReactNode } from 'react'

interface BoundaryProps {
  children: ReactNode
  fallback(error: Error, retry: () => void): ReactNode
  /** A change of this value clears the error, and the children are shown again. */
  resetKey?: string
}

/** Shows an error in place of a component that throws, so that the rest of the page still works. React requires a class for this. */
export class Boundary extends Component<BoundaryProps, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override componentDidUpdate(before: BoundaryProps) {
    if (this.state.error && before.resetKey !== this.props.resetKey) this.setState({ error: undefined })
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return this.props.fallback(error, () => this.setState({ error: undefined }))
  }
}
