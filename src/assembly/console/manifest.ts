/** The list of files of a build of the web console. Only these files are served. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface BuiltFile {
  type: string
  /** Sizes in bytes, by encoding. `identity` is the file itself. The compressed files have the same name with `.br` or `.gz`. */
  sizes: { identity: number; br?: number; gzip?: number }
}

export interface Manifest {
  /** Name of the script that the page loads. */
  script: string
  /** Names of the files that the script imports. The page loads them together with the script, not after it. */
  imports: string[]
  style: string
  /** Name of the worker script. All tabs share this worker. */
  worker: string
  /** Name of the script that signs the user in on the page of the API reference. */
  reference: string
  files: Record<string, BuiltFile>
}

export const manifestName = 'manifest.json'
export const suffixes = { br: '.br', gzip: '.gz', identity: '' } as const
export type Encoding = keyof typeof suffixes

export async function readManifest(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, manifestName), 'utf8')) as Manifest
}
