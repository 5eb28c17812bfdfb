/**
 * `npm run bench`, or `npm run bench -- starting http`: measures, prints the goals and then all figures, and writes bench/RESULTS.md. With
 * `BENCH_PARTS=…`, only the figures of these parts are replaced in this file. Any other BENCH_… variable makes the run a quick run, whose
 * results are not written.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { selectedParts } from './parts.ts'
import { type Figure, isWithinLimit, rowOf, type Section, summaryOf, tableOf } from './report.ts'

const benches: Record<string, { title: string; load(): Promise<() => Promise<Figure[]>> }> = {
  starting: { title: 'Start, idle memory and stop', load: async () => (await import('./starting.ts')).starting },
  http: { title: 'Authenticated reads', load: async () => (await import('./http.ts')).http },
  faults: { title: 'Durability under kill -9', load: async () => (await import('./faults.ts')).faults },
  'faults-devices': {
    title: 'Devices during crashes and disk failures',
    load: async () => (await import('./faults-devices.ts')).faultsDevices,
  },
  events: { title: 'Events and several nodes', load: async () => (await import('./events.ts')).events },
  tenants: { title: 'Ten thousand tenants', load: async () => (await import('./tenants.ts')).tenants },
  binary: { title: 'Uploads and downloads', load: async () => (await import('./binary.ts')).binary },
  register: { title: 'A million endpoints', load: async () => (await import('./register.ts')).register },
  directory: {
    title: 'Search, sort, counts and map of a million endpoints',
    load: async () => (await import('./directory.ts')).directory,
  },
  registration: {
    title: 'Registration of endpoints',
    load: async () => (await import('./registration.ts')).registration,
  },
  configuration: {
    title: 'Configurations of ten thousand endpoints',
    load: async () => (await import('./configuration.ts')).configuration,
  },
  commands: { title: 'Commands', load: async () => (await import('./commands.ts')).commands },
  software: {
    title: 'Software of a million endpoints',
    load: async () => (await import('./software.ts')).software,
  },
  'faults-control': {
    title: 'Commands, configurations and software during crashes',
    load: async () => (await import('./faults-control.ts')).faultsControl,
  },
  'faults-jobs': {
    title: 'Jobs over many endpoints during crashes',
    load: async () => (await import('./faults-jobs.ts')).faultsJobs,
  },
  rules: { title: 'Rules', load: async () => (await import('./rules.ts')).rules },
  'faults-rules': {
    title: 'Rules during crashes',
    load: async () => (await import('./faults-rules.ts')).faultsRules,
  },
  'rules-webhooks': {
    title: 'Webhooks of rules',
    load: async () => (await import('./rules-webhooks.ts')).rulesWebhooks,
  },
  assets: { title: 'Assets', load: async () => (await import('./assets.ts')).assets },
  ingest: { title: 'Documents and their search', load: async () => (await import('./ingest.ts')).ingest },
  'traffic-log': {
    title: 'Two million records of traffic',
    load: async () => (await import('./traffic-log.ts')).trafficLog,
  },
  'time-series': { title: 'Time series', load: async () => (await import('./time-series.ts')).timeSeries },
  'recent-data': {
    title: 'Recent data',
    load: async () => (await import('./recent-data.ts')).recentData,
  },
  'ingest-pipeline': {
    title: 'Documents through a pipeline',
    load: async () => (await import('./ingest-pipeline.ts')).ingestPipeline,
  },
  sandbox: { title: 'Sandbox for scripts', load: async () => (await import('./sandbox.ts')).sandbox },
  lorawan: { title: 'LoRaWAN', load: async () => (await import('./lorawan.ts')).lorawan },
  'faults-lorawan': {
    title: 'LoRaWAN sessions during crashes',
    load: async () => (await import('./faults-lorawan.ts')).faultsLorawan,
  },
  'faults-documents': {
    title: 'Documents during crashes',
    load: async () => (await import('./faults-connections.ts')).faultsDocuments,
  },
  'faults-vpn': {
    title: 'VPN clients during crashes',
    load: async () => (await import('./faults-connections.ts')).faultsVpn,
  },
  vpn: { title: 'VPN', load: async () => (await import('./vpn.ts')).vpn },
  live: { title: 'Live streams of 200 consoles', load: async () => (await import('./live.ts')).live },
  console: { title: 'Web console', load: async () => (await import('./console.ts')).console_ },
  sdk: { title: 'SDK', load: async () => (await import('./sdk.ts')).sdk },
  'command-line': {
    title: 'Command line',
    load: async () => (await import('./command-line.ts')).commandLine,
  },
  gateway: { title: 'Devices', load: async () => (await import('./gateway.ts')).gateway },
}

const requested = process.argv.slice(2)
const unknown = requested.find((name) => !benches[name])
if (unknown) {
  console.error(`no bench ${unknown}; there are ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}

const file = new URL('./RESULTS.md', import.meta.url)
const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node.js ${process.version}, ${process.arch}`
const isQuickRun = Object.keys(process.env).some((name) => name.startsWith('BENCH_') && name !== 'BENCH_PARTS')
const sections: Section[] = []
for (const name of requested.length > 0 ? requested : Object.keys(benches)) {
  const { title, load } = benches[name]!
  console.error(`measuring: ${title}`)
  const figures = await (await load())()
  sections.push({ title, figures })
  if (!isQuickRun) {
    const written = selectedParts ? withReplacedRows(title, figures) : tableOf(figures)
    writeSection(title, `${written}\nMeasured on ${new Date().toISOString().slice(0, 10)} (${machine}).\n`)
  }
}
console.log(`\n${summaryOf(sections)}`)
for (const { title, figures } of sections) console.log(`## ${title}\n\n${tableOf(figures)}`)
process.exit(sections.every(({ figures }) => figures.every(isWithinLimit)) ? 0 : 1)

/** Replaces one section of the results. */
function writeSection(title: string, text: string) {
  const sections = read().split(/^(?=## )/m)
  const section = `## ${title}\n\n${text}\n`
  const index = sections.findIndex((section) => section.startsWith(`## ${title}\n`))
  if (index === -1) sections.push(`\n${section}`)
  else sections[index] = section
  writeFileSync(file, `${sections.join('').trimEnd()}\n`)
}

/** Returns the table of a section in which the rows of these figures are replaced. New rows are added at the end. */
function withReplacedRows(title: string, figures: Figure[]): string {
  const section = read()
    .split(/^(?=## )/m)
    .find((section) => section.startsWith(`## ${title}\n`))
  const lines = section?.split('\n').filter((line) => line.startsWith('|')) ?? tableOf([]).trimEnd().split('\n')
  for (const figure of figures) {
    const row = rowOf(figure)
    const index = lines.findIndex((line) => line.startsWith(`| ${figure.name} |`))
    if (index === -1) lines.push(row)
    else lines[index] = row
  }
  return `${lines.join('\n')}\n`
}

function read(): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '# Benchmark results\n\nThe last results of `npm run bench`. Ratios compare two measurements of the same run; rates depend on the machine.\n\n'
  }
}
