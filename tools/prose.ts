/** Rules of plain English that a machine can check in comments and log messages. */

const commentLinesMax = 3

export interface Comment {
  /** Number of the first line, from 1. */
  line: number
  /** The lines without comment marks. Empty lines are left out. */
  lines: string[]
  isDoc: boolean
}

const blockComment = /^([ \t]*)\/\*(\*?)([\s\S]*?)\*\//gm
const lineComments = /(?:^[ \t]*(?:\/\/|--(?= )).*\n?)+/gm

/** Finds comments on lines of their own. Comments behind code on the same line are not checked. */
export function commentsOf(text: string): Comment[] {
  const lineAt = (index: number) => text.slice(0, index).split('\n').length
  const plain = (part: string, mark: RegExp) =>
    part
      .split('\n')
      .map((line) => line.replace(mark, '').trim())
      .filter((line) => line !== '')
  return [
    ...[...text.matchAll(blockComment)].map((match) => ({
      line: lineAt(match.index),
      lines: plain(match[3]!, /^\s*\*/),
      isDoc: match[2] === '*',
    })),
    ...[...text.matchAll(lineComments)].map((match) => ({
      line: lineAt(match.index),
      lines: plain(match[0], /^\s*(?:\/\/|--)/),
      isDoc: false,
    })),
  ].sort((a, b) => a.line - b.line)
}

/** A sentence that starts like this has no subject that a reader could look up. */
const bareStart =
  /^(?:What|Who|Whoever|Whatever|Of|One that|One of which|Those|And|The same(?= (?:for|as|if|in|with|without|when|whenever)\b)|Nobody|Nothing|So (?:many|much|few|long))\b/

/** Phrases that leave out a verb or a noun, and how to write them. */
const unclearPhrases: [RegExp, string][] = [
  [/, against (?:deadlocks|concurrent \w+)/, 'write "to avoid …" or "to exclude …"'],
  [/\banother one than\b/, 'repeat the noun: "a tenant other than …"'],
  [/\bunless \w+(?: \w+){0,4} says? otherwise\b/, 'write "default: …"'],
]

const directive = /^(?:biome-ignore|@ts-|eslint|@type|!)/

/** Returns the problems for which `npm run check` fails. */
export function proseProblems(file: string, text: string): string[] {
  return commentsOf(text)
    .filter(({ lines }) => lines.length > 0 && !directive.test(lines[0]!))
    .flatMap(({ line, lines }) => [
      ...(bareStart.test(lines[0]!)
        ? [`${file}:${line}: a comment starts with a bare "${lines[0]!.match(bareStart)![0]}"`]
        : []),
      ...unclearPhrases
        .filter(([phrase]) => phrase.test(lines.join(' ')))
        .map(([phrase, advice]) => `${file}:${line}: "${lines.join(' ').match(phrase)![0]}" in a comment: ${advice}`),
      ...(lines.length > commentLinesMax
        ? [
            `${file}:${line}: a comment of ${lines.length} lines, at most ${commentLinesMax}; move the rest to the README`,
          ]
        : []),
    ])
}

/** Finds parameters, variables, properties and methods called `of`. The keyword in `for (const a of b)` does not match. */
const declaredOf =
  /\b(?:const|let) of\b|[({[,]\s*(?:\.\.\.)?of\??(?=:|,| =|\)|\]|\s*\})|^\s*(?:async )?of(?:\??:|<[^(]*>\(|\()|[{,] \w+: of(?=,|\)| \})/gm

const commentOrText = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$|'[^'\n]*'|"[^"\n]*"/gm

/** Returns the declarations called `of`: the name does not say what the value is. */
export function nameProblems(file: string, text: string): string[] {
  const code = text.replace(commentOrText, (part) => part.replace(/[^\n]/g, ''))
  return [...code.matchAll(declaredOf)].map((match) => {
    const line = code.slice(0, match.index + match[0].search(/\bof\b/)).split('\n').length
    return `${file}:${line}: something is called "of": give it the name of the thing, such as "query" or "endpoint"`
  })
}

/** Vague words that stand for a term such as connection, node, message or lease. */
const vagueWords =
  /\b(?:told|tells?|heard|hears?|owed|owes?|patience|welcome|guests?|strangers?|neighbou?rs?|house|doors?|knocks?|leavings|sight|whoever|nobody|somebody|everybody|turned away|looked? after|by hand|a word|way to the database)\b/i

/** Returns warnings about vague words and comments without a subject. They do not fail the check. */
export function proseWarnings(file: string, text: string): string[] {
  return commentsOf(text).flatMap(({ line, lines }) => {
    const word = lines.join(' ').match(vagueWords)?.[0]
    return [
      ...(word ? [`${file}:${line}: "${word}" in a comment: is there a word of the trade?`] : []),
      ...(lines[0]?.startsWith('Also ') ? [`${file}:${line}: a comment starts with "Also": what does it?`] : []),
    ]
  })
}

const verb =
  /\b(?:is|are|was|were|be|has|have|had|cannot|could|does|did|do|lost|left|went|took|came|stops?|fails?|needs?|keeps?|joins|gives|\w{3,}(?:ed|ing))\b/i

/** Returns whether a message has no verb. Such a message does not say what happened. */
export const lacksVerb = (message: string) => !verb.test(message)

/** Checks the texts of `defineLogMessage` calls. */
export function logTextProblems(file: string, text: string): string[] {
  return [...text.matchAll(/defineLogMessage\(\{[^}]*?\btext:\s*(['"`])(.*?)\1/gs)]
    .filter(([, , message]) => lacksVerb(message!))
    .map(([, , message]) => `${file}: the log message "${message}" has no verb`)
}
