/** Asks whether the platform has a newer console than this page. */
import { consolePath } from './platform.ts'

/** Name of the script of this page. */
const own = new URL(import.meta.url).pathname.split('/').at(-1)

/** The module that has `import.meta.url` can be a chunk, so the script element decides. */
const script = () => document.querySelector<HTMLScriptElement>('script[type="module"]')?.src.split('/').at(-1) ?? own

export async function hasNewerBuild(): Promise<boolean> {
  try {
    const answer = await fetch(`${consolePath}/@/build.json`, { cache: 'no-store' })
    const { script: current } = (await answer.json()) as { script: string | null }
    return answer.ok && current !== null && current !== script()
  } catch {
    return false
  }
}
