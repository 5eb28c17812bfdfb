/** Checks whether the platform has a newer console than this page. */
import { consolePath } from './platform.ts'

/** Name of the file that contains this module: the script of the page, or a chunk of it. */
const scriptName = new URL(import.meta.url).pathname.split('/').at(-1)

/** Returns the name of the script of this page, from its script element. */
const script = () =>
  document.querySelector<HTMLScriptElement>('script[type="module"]')?.src.split('/').at(-1) ?? scriptName

/** Says whether the platform has a newer console. `unknown`: the platform does not respond, or is still building its console. */
export type BuildState = 'same' | 'newer' | 'unknown'

export async function readBuildState(): Promise<BuildState> {
  try {
    const answer = await fetch(`${consolePath}/@/build.json`, { cache: 'no-store' })
    if (!answer.ok) return 'unknown'
    const { script: current } = (await answer.json()) as { script: string | null }
    if (current === null) return 'unknown'
    return current === script() ? 'same' : 'newer'
  } catch {
    // No error is shown here, because the requests of the page fail too, and the page shows their errors.
    return 'unknown'
  }
}
