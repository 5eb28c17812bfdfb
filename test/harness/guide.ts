/** Extracts the files of a guide. A file is a code block below a line that contains only a path in bold, such as `**`src/a.ts`**`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface GuideFile {
  path: string
  language: string
  text: string
}

export function filesOf(guide: string): GuideFile[] {
  const text = readFileSync(new URL(`../../${guide}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^\*\*`([^`]+)`\*\*\n+```(\w+)\n(.*?)^```$/gms)].map(([, path, language, code]) => ({
    path: path!,
    language: language!,
    text: code!,
  }))
}

/** Writes the files below the directory; a `diff` is applied to the existing file. */
export function writeFiles(directory: string, files: GuideFile[]) {
  for (const { path, language, text } of files) {
    const file = join(directory, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, language === 'diff' ? applyDiff(readFileSync(file, 'utf8'), text, path) : text)
  }
}

/** Applies a diff that consists of unchanged lines (` `) and added lines (`+`), with `@@` between the hunks. */
export function applyDiff(original: string, diff: string, path = 'the file'): string {
  let text = original
  for (const hunk of diff.split(/^@@.*\n/m)) {
    const lines = hunk.split('\n').filter((line) => line !== '')
    const before = lines.filter((line) => line.startsWith(' ')).map((line) => line.slice(1))
    const after = lines.map((line) => line.slice(1))
    const found = text.split(`${before.join('\n')}\n`)
    if (found.length !== 2)
      throw new Error(
        `the hunk must match once in ${path}, and it matches ${found.length - 1} times: ${before.join('\n')}`,
      )
    text = found.join(`${after.join('\n')}\n`)
  }
  return text
}
