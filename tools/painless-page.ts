/** Writes the reference page of the processors and classes that pipelines and scripts can use, from the tables in the code. */
import '../src/painless/script.ts'
import { allClasses, type ClassInfo, functionalMethod, typeNamed } from '../src/painless/types.ts'
import { commonOptions, processors } from '../src/services/ingest/pipeline/processors/registry.ts'

const shortName = (name: string): string => name.replace(/^(?:[a-z0-9]+\.)+/, '')
const packageOf = (name: string): string => name.slice(0, name.length - shortName(name).length - 1)

/** Classes that the page leaves out: scripts use these views of a map only through their interfaces. */
const hidden = /^java\.util\.HashMap\.(?:KeySet|EntrySet|Values)$/

const options = (table: Record<string, string>): string =>
  Object.entries(table)
    .map(([name, meaning]) => `- `.concat('`', name, '`: ', meaning))
    .join('\n')

function processorPart(): string {
  const parts = Object.entries(processors).map(([name, { summary, options: own }]) =>
    [`### ${name}`, summary, options(own)].filter((text) => text !== '').join('\n\n'),
  )
  return `## Processors\n\nEvery processor also has these options:\n\n${options(commonOptions)}\n\n${parts.join('\n\n')}\n`
}

function classPart(info: ClassInfo): string {
  const constants = [...info.constants].map(([name, { type }]) => `static ${shortName(type.name)} ${name}`)
  const constructors = [...info.constructors.values()].map(({ signature }) => signature)
  const statics = [...info.statics.values()].map(({ signature }) => signature)
  const methods = [...info.methods.values()].map(({ signature }) => signature)
  const lines = [...constants, ...constructors, ...statics.sort(), ...methods.sort()]
  const supers = info.supers.map(shortName)
  const above = supers.length > 0 ? ` (${supers.join(', ')})` : ''
  const lambda = functionalMethod(typeNamed(info.name)) ? '\n\nA lambda or method reference can be given for it.' : ''
  const code = lines.length > 0 ? `\n\n    ${lines.join('\n    ')}` : ''
  return `#### ${shortName(info.name)}${above}${lambda}${code}\n`
}

function classesPart(): string {
  const packages = new Map<string, ClassInfo[]>()
  for (const info of allClasses()) {
    if (hidden.test(info.name)) continue
    const name = packageOf(info.name)
    packages.set(name, [...(packages.get(name) ?? []), info])
  }
  return [...packages]
    .sort(([one], [two]) => one.localeCompare(two))
    .map(([name, infos]) => {
      const sorted = infos.sort((one, two) => one.name.localeCompare(two.name))
      return `### ${name}\n\n${sorted.map(classPart).join('\n')}`
    })
    .join('\n')
}

export function painlessPage(note: string): string {
  return `${note}# Ingest pipelines and Painless

A pipeline is \`{"processors": [{"set": {…}}, {"script": {…}}]}\`. \`waypost pipeline simulate <file>\` tries one without a
platform. A document has 1,000,000 steps, one second and 16 MB for all its processors.

${processorPart()}
## Painless

Scripts find the document in \`ctx\` (with \`_index\`, \`_id\` and \`_ingest.timestamp\`) and their \`params\`. In an \`if\` the
document is read-only. The types are \`boolean\`, \`byte\`, \`short\`, \`char\`, \`int\`, \`long\`, \`float\`, \`double\`, \`def\`,
arrays and the classes below. Regular expressions are those of RE2: without back references and look-around, and with a running
time that grows with the text only.

A class has the methods of the classes in parentheses too.

${classesPart()}`
}
