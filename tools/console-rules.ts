/** The architecture rules of the web console; console/README.md explains them to authors of pages. */

const linesMax = 400

interface Rule {
  rule: string
  /** Files that the rule applies to. */
  files: RegExp
  except?: RegExp
  forbidden: RegExp
}

const textRules: Rule[] = [
  {
    rule: 'only console/src/api calls fetch',
    files: /./,
    except: /^console\/src\/api\//,
    forbidden: /\bfetch\(|new (?:XMLHttpRequest|EventSource|WebSocket)\(/,
  },
  {
    rule: 'texts are not inserted as HTML',
    files: /./,
    forbidden: /dangerouslySetInnerHTML|\.(?:inner|outer)HTML\b|insertAdjacentHTML|document\.write/,
  },
  {
    rule: 'an address begins with its path, because the router reads ?tab=… as the overview',
    files: /./,
    forbidden: /\b(?:to|href)(?:=\{?|: )["'`]\?/,
  },
  { rule: 'texts are not run as code', files: /./, forbidden: /\beval\(|new Function\(/ },
  {
    rule: 'only parts/time.tsx reads and formats dates',
    files: /^console\/src\/(?:pages|parts|app)\//,
    except: /^console\/src\/parts\/time\.tsx$/,
    forbidden: /new Date\(|Date\.(?:now|parse)\b|Intl\.(?:DateTime|RelativeTime)/,
  },
  {
    rule: 'tokens and data are never stored; only themes and names of tenants are',
    files: /./,
    except: /^console\/src\/app\/(?:theme|tenants)\.ts$/,
    forbidden: /\b(?:local|session)Storage\b|indexedDB|document\.cookie/,
  },
  {
    rule: 'texts of a page are in texts.ts of its folder',
    files: /^console\/src\/(?:pages|app)\/.*\.tsx$/,
    forbidden: />[^<>{}()=;]*[A-Za-z]{3,}[^<>{}()=;]*<\//,
  },
  {
    rule: 'no classes but errors and error boundaries',
    files: /./,
    except: /^console\/src\/(?:app\/error-boundary|parts\/boundary)\.tsx$/,
    forbidden: /^\s*(?:export\s+)?class\s+\w+(?!.*extends\s+\w*Error\b)/m,
  },
  { rule: 'no barrel files', files: /./, forbidden: /^export \* from/m },
]

const folderOf = (file: string) => file.match(/^console\/src\/([^/]+)/)?.[1] ?? ''

/** For each folder of the console, the folders that it may import. `sdk` is sdk/src. */
const allowed: Record<string, string[]> = {
  app: ['app', 'pages', 'parts', 'api'],
  pages: ['pages', 'parts', 'api'],
  parts: ['parts'],
  api: ['api', 'parts', 'sdk'],
}

function importProblem(from: string, to: string): string | undefined {
  const target = to.startsWith('sdk/src/') ? 'sdk' : folderOf(to)
  const source = folderOf(from)
  if (allowed[source]?.includes(target)) {
    const page = /^console\/src\/pages\/([^/]+)\//
    const [, pageFolder] = page.exec(from) ?? []
    const [, other] = page.exec(to) ?? []
    const isOfOtherPage = source === 'pages' && pageFolder !== undefined && other !== undefined && pageFolder !== other
    return isOfOtherPage ? 'a page imports nothing of another page; move it to parts' : undefined
  }
  return target === 'sdk'
    ? 'only console/src/api imports the SDK'
    : `console/src/${source} imports only ${allowed[source]?.join(', ')}`
}

/** Returns the violations in a file of the console. */
export function consoleProblems(file: string, text: string, targets: string[]): string[] {
  const problems = targets.flatMap((target) => {
    const problem = importProblem(file, target)
    return problem ? [`${file}: ${problem} (${target})`] : []
  })
  const lines = text.split('\n').length
  if (lines > linesMax) problems.push(`${file}: ${lines} lines, at most ${linesMax}`)
  const code = text.replace(/\/\*.*?\*\/|^\s*\/\/.*$/gms, '')
  for (const { rule, files, except, forbidden } of textRules)
    if (files.test(file) && !except?.test(file) && forbidden.test(code)) problems.push(`${file}: ${rule}`)
  return problems
}
