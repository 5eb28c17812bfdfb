/** Checks the architecture rules. Prints `file: rule`, and exits with 1 if a rule is violated. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { pathToFileURL } from 'node:url'
import { consoleProblems } from './console-rules.ts'
import { lengthProblems } from './function-length.ts'
import { operationProblems } from './operation-problems.ts'
import { logTextProblems, nameProblems, proseProblems, proseWarnings } from './prose.ts'

const linesMax = 400
const generated = /^sdk\/src\/(?:operations|table|described|described\/\w+)\.ts$/
const publicFiles = /^src\/(services\/[^/]+|identity|gateway)\/(contract|events)\.ts$/
const importLine = /^\s*(?:import|export)\b[^'"]*?\bfrom\s+['"](\.[^'"]+)['"]|^\s*import\s+['"](\.[^'"]+)['"]/gm

const dynamicImport = /\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g

/** Returns the files that a file imports with these patterns. */
const importsOf = (file: string, text: string, ...patterns: RegExp[]) =>
  patterns
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map((match) => normalize(join(dirname(file), (match[1] ?? match[2])!)))

/** Returns the module of a file: the folder of a service, or else the first two segments of the path, such as `src/kernel`. */
const moduleOf = (file: string) => file.match(/^src\/services\/[^/]+/)?.[0] ?? file.split('/').slice(0, 2).join('/')

const isTest = (file: string) => file.endsWith('.test.ts') || file.startsWith('test/')
/** Returns whether the file has one of these roles. The role `store`, for example, has a file `store.ts` or a file in a folder `store/`. */
const isRole = (file: string, ...roles: string[]) => roles.some((role) => new RegExp(`/${role}(\\.ts$|/)`).test(file))

/** The rules for imports. Each returns the rule that an import violates, or undefined. */
export const importRules: ((from: string, to: string) => string | undefined)[] = [
  (from, to) =>
    from.startsWith('src/kernel/') && !to.startsWith('src/kernel/') ? 'the kernel imports only itself' : undefined,
  (from, to) =>
    from.startsWith('src/sandbox/') && !to.startsWith('src/sandbox/') ? 'the sandbox imports only itself' : undefined,
  (from, to) =>
    from.startsWith('src/painless/') && !to.startsWith('src/painless/') ? 'painless imports only itself' : undefined,
  (from, to) =>
    moduleOf(from) !== moduleOf(to) &&
    /^src\/(services|identity|gateway)\//.test(to) &&
    !publicFiles.test(to) &&
    !/^src\/assembly\//.test(from)
      ? 'only contract.ts and events.ts of another service can be imported'
      : undefined,
  (from, to) =>
    isRole(from, 'store') && isRole(to, 'service', 'routes', 'device')
      ? 'a store imports no service, routes or device file'
      : undefined,
  (from, to) =>
    isRole(from, 'service') &&
    (to.startsWith('src/kernel/') ? to.startsWith('src/kernel/http/') : isRole(to, 'routes', 'device'))
      ? 'a service imports no routes or device file'
      : undefined,
  (from, to) =>
    isRole(from, 'routes', 'device') && (isRole(to, 'store') || to === 'src/kernel/db.ts')
      ? 'routes and device files go through the service'
      : undefined,
]

interface TextRule {
  rule: string
  forbidden: RegExp
  allowed: RegExp
}

const textRules: TextRule[] = [
  {
    rule: 'messages at warn and above are defined with defineLogMessage',
    forbidden: /\blog\??\.(?:warn|error|fatal)\(/,
    // `define-log-message.ts` writes every defined message. `database.ts` passes on log lines of PostgreSQL.
    allowed: /^src\/(?:kernel\/define-log-message|assembly\/database)\.ts$/,
  },
  {
    rule: 'only src/config.ts and src/command-line-config.ts read process.env',
    forbidden: /process\.env/,
    allowed: /^src\/(?:command-line-)?config\.ts$/,
  },
  {
    rule: 'only kernel/clock.ts reads the time',
    forbidden: /\bDate\.now\(|new Date\(\)|performance\.now\(/,
    // The sandbox and `painless` read the time themselves, because they import no file of the kernel.
    allowed: /^src\/(?:kernel|sandbox|painless)\/clock\.ts$/,
  },
  { rule: 'only kernel/ids.ts makes ids', forbidden: /randomUUID/, allowed: /^src\/kernel\/ids\.ts$/ },
  {
    rule: 'no classes but errors',
    forbidden: /^\s*(?:export\s+)?class\s+\w+(?!.*extends\s+\w*Error\b)/m,
    allowed: /^$/,
  },
  { rule: 'no barrel files', forbidden: /^export \* from/m, allowed: /^$/ },
  {
    rule: 'SQL belongs in a store',
    forbidden: /sql(?:<[^>]*>)?`\s*(?:select|insert|update|delete|with)\b/i,
    allowed: /\/store(?:\.ts$|\/)|^src\/(?:kernel|assembly|cli)\//,
  },
  {
    rule: 'only kernel/http imports Fastify',
    forbidden: /from 'fastify'/,
    // Exceptions: OpenID Connect, and the HTTP protocol of devices, whose paths are topics.
    allowed: /^src\/kernel\/|^src\/identity\/provider\/|^src\/gateway\/http\//,
  },
]

/**
 * The only files that may register a hook for all tests. In a process that runs several test files, the hook of database.ts does nothing,
 * because test/harness/shared-process.ts runs the cleanups. Test files that open the console have a process of their own.
 */
const hookOwners = ['test/harness/database.ts', 'test/harness/browser.ts', 'test/harness/console.ts']
const hookOfAll = /^(?:after|afterEach|beforeEach)\(/m

/** Returns the violations in these files (path → text). */
export function findProblems(files: Map<string, string>): string[] {
  const problems: string[] = []
  const graph = new Map<string, string[]>()
  for (const [file, text] of files) {
    problems.push(...lengthProblems(file, text), ...proseProblems(file, text))
    problems.push(...nameProblems(file, text))
    if (isTest(file)) {
      if (hookOfAll.test(text) && !hookOwners.includes(file))
        problems.push(`${file}: a hook would run for all files of the process; use afterAllTests`)
      continue
    }
    graph.set(file, importsOf(file, text, importLine, dynamicImport))
    if (!file.startsWith('src/') && !file.startsWith('console/')) continue
    const targets = importsOf(file, text, importLine)
    if (file.startsWith('console/')) {
      problems.push(...consoleProblems(file, text, targets))
      continue
    }
    for (const target of targets)
      for (const rule of importRules) {
        const broken = rule(file, target)
        if (broken) problems.push(`${file}: ${broken} (${target})`)
      }
    const lines = text.split('\n').length
    if (lines > linesMax) problems.push(`${file}: ${lines} lines, at most ${linesMax}`)
    for (const { rule, forbidden, allowed } of textRules)
      if (!allowed.test(file) && forbidden.test(text)) problems.push(`${file}: ${rule}`)
    problems.push(...foreignTables(file, text), ...logTextProblems(file, text))
  }
  return [...new Set([...problems, ...findCircularImports(graph)])]
}

/** Checks that a store uses only its own PostgreSQL schema. */
function foreignTables(file: string, text: string): string[] {
  const schemaName = file.match(/^src\/(?:services\/)?([^/]+)\/(?:.*\/)?store(?:\.ts|\/)/)?.[1]?.replaceAll('-', '_')
  if (!schemaName) return []
  return [...text.replace(/\/\*.*?\*\/|\/\/.*$/gms, '').matchAll(/\b(?:from|join|into|update)\s+([a-z_]+)\.[a-z_]+/g)]
    .filter(([, schema]) => schema !== schemaName && schema !== 'excluded')
    .map(([, schema]) => `${file}: uses another service's tables (${schema})`)
}

function findCircularImports(graph: Map<string, string[]>): string[] {
  const problems: string[] = []
  const finished = new Set<string>()
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) {
      problems.push(`circular import: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`)
      return
    }
    if (finished.has(file)) return
    for (const target of graph.get(file) ?? []) visit(target, [...path, file])
    finished.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return problems
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const files = ['src', 'test', 'tools', 'bench', 'sdk/src', 'console/src']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts') && !generated.test(file))
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]))
  for (const [file, text] of texts) for (const warning of proseWarnings(file, text)) console.warn(`warning: ${warning}`)
  const document = JSON.parse(readFileSync('docs/reference/openapi.json', 'utf8'))
  const problems = [...findProblems(texts), ...operationProblems(document)]
  for (const problem of problems) console.log(problem)
  if (problems.length > 0) process.exit(1)
}
