/**
 * Finds broken links and names of missing files in Markdown documents, and services that ARCHITECTURE.md does not list. Prints each problem
 * as `document: problem`, and exits with 1 if there is a problem.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { pathToFileURL } from 'node:url'

const link = /\]\((?!https?:)([^)\s]+)\)/g
const fileName = /`([\w./*-]+\.(?:ts|mjs|md|svg)|[\w./-]+\/[\w-]+\.sql)`/g
/** Files that every service has: a document may name them without a folder. */
const commonName =
  /^(?:index|contract|events|settings|errors|configuration|log-messages|routes|schemas|service|store|device|states|event-handlers)\.ts$|^README\.md$/

/** Returns the anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .trim()
    .replaceAll(' ', '-')

const withoutCode = (text: string) => text.replace(/^```.*?^```/gms, '')

function brokenLinks(
  document: string,
  text: string,
  documents: Map<string, string>,
  exists: (path: string) => boolean,
) {
  return [...withoutCode(text).matchAll(link)].flatMap(([, target]) => {
    const [path = '', anchor] = target!.split('#')
    const file = path === '' ? document : normalize(join(dirname(document), path)).replace(/\/$/, '')
    if (!exists(file)) return [`${document}: the target of the link ${target} does not exist`]
    const headings = withoutCode(documents.get(file) ?? '').matchAll(/^#+ (.*)$/gm)
    if (anchor === undefined || [...headings].some(([, heading]) => anchorOf(heading!) === anchor)) return []
    return [`${document}: the link ${target} names a heading that does not exist`]
  })
}

/**
 * Returns the file names in a document for which no file exists: neither beside or below the document, nor relative to the root, `src/` or
 * `src/kernel/`.
 */
function unknownFiles(document: string, text: string, files: Set<string>, exists: (path: string) => boolean) {
  const folder = dirname(document)
  const below = [...files].filter((file) => file.startsWith(`${folder}/`))
  const isKnown = (name: string) =>
    commonName.test(name) ||
    [folder, '.', 'src', 'src/kernel'].some((start) => exists(normalize(join(start, name)))) ||
    below.some((file) => file.endsWith(`/${name}`))
  return [...withoutCode(text).matchAll(fileName)]
    .filter(([, name]) => !name!.includes('*') && !isKnown(name!))
    .map(([, name]) => `${document}: there is no file ${name}`)
}

/** Returns the services that `src/assembly/catalogue.ts` imports and the folder list of ARCHITECTURE.md does not name. */
export const unlistedServices = (architecture: string, catalogue: string): string[] =>
  [...catalogue.matchAll(/'\.\.\/services\/([\w-]+)\/index\.ts'/g)]
    .map(([, name]) => name!)
    .filter((name) => !new RegExp(`^ +${name}/ `, 'm').test(architecture))
    .map((name) => `ARCHITECTURE.md: the list of folders lacks the service ${name}`)

/** Checks `documents` (path → text); `files` are all files of the repository. In guides only links are checked. */
export function documentProblems(documents: Map<string, string>, files: Set<string>): string[] {
  const folders = new Set<string>()
  for (const file of files)
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) folders.add(folder)
  const exists = (path: string) => files.has(path) || folders.has(path)
  const problems = [...documents].flatMap(([document, text]) => [
    ...brokenLinks(document, text, documents, exists),
    ...(document.startsWith('docs/guides/') ? [] : unknownFiles(document, text, files, exists)),
  ])
  return [...new Set(problems)]
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const exclude = (name: string) => name === 'node_modules' || name === 'data' || name === '.git'
  const files = globSync('**/*.*', { exclude }).concat('LICENSE')
  const documents = files.filter((file) => file.endsWith('.md') && !file.startsWith('docs/reference/'))
  const texts = new Map(documents.map((file) => [file, readFileSync(file, 'utf8')]))
  const catalogue = readFileSync('src/assembly/catalogue.ts', 'utf8')
  const problems = [
    ...documentProblems(texts, new Set(files)),
    ...unlistedServices(texts.get('ARCHITECTURE.md') ?? '', catalogue),
  ]
  for (const problem of problems) console.log(problem)
  if (problems.length > 0) process.exit(1)
}
