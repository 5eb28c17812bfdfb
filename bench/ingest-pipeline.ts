import { type DocumentMap, parseDocument } from '../src/painless/json.ts'
import { compilePipeline } from '../src/services/ingest/pipeline/compile.ts'
import { type Figure, median } from './report.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 15)
const count = 1000
const batches = Number(process.env.BENCH_BATCHES ?? 100)

/** Three typical processors: set a value under a condition, compute a value, rename a field. */
const definition = {
  processors: [
    {
      set: {
        if: 'ctx.dataSample.temperature != null && ctx.dataSample.temperature > 25',
        field: 'dataSample.state',
        value: 'warm',
      },
    },
    { script: { source: 'ctx.dataSample.fahrenheit = ctx.dataSample.temperature * 9 / 5 + 32' } },
    { rename: { field: 'dataSample.temperature', target_field: 'dataSample.celsius' } },
  ],
}

const texts = Array.from({ length: count }, (_, index) =>
  JSON.stringify({
    '@timestamp': '2026-01-01T00:00:00.000Z',
    endpointId: `endpoint-${index}`,
    appName: 'cellar',
    appVersionName: 'cellar-v1',
    dataSample: { temperature: 15.25 + (index % 20), humidity: 40 + (index % 50), place: 'north' },
  }),
)

interface Sample {
  dataSample: { temperature?: number; state?: string; fahrenheit?: number; celsius?: number }
}

/** Does the same as the pipeline, in plain JavaScript. */
function plain(document: Sample): Sample {
  const { dataSample } = document
  if (dataSample.temperature != null && dataSample.temperature > 25) dataSample.state = 'warm'
  dataSample.fahrenheit = (dataSample.temperature! * 9) / 5 + 32
  dataSample.celsius = dataSample.temperature!
  delete dataSample.temperature
  return document
}

const seconds = (work: () => void): number => {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start) / 1e9
}

/** Runs parsed documents through the pipeline and, alternately, through the function `plain`. */
export async function ingestPipeline(): Promise<Figure[]> {
  const compiled = compilePipeline(parseDocument(JSON.stringify(definition)))
  if ('mistakes' in compiled) throw new Error(JSON.stringify(compiled.mistakes))
  const { pipeline } = compiled
  const timestamp = '2026-01-01T00:00:00.000Z'
  const runOurs = (documents: DocumentMap[]) => {
    for (const source of documents) {
      const outcome = pipeline.run({ index: 'index', id: '1', source, timestamp })
      if (!('document' in outcome) || outcome.document === null) throw new Error(JSON.stringify(outcome))
    }
  }
  const runPlain = (documents: Sample[]) => {
    for (const document of documents) plain(document)
  }
  const measured: { ours: number; plain: number }[] = []
  for (let round = -3; round < rounds; round++) {
    let ours = 0
    let forPlain = 0
    for (let batch = 0; batch < batches; batch++) {
      const objects = texts.map((text) => JSON.parse(text) as Sample)
      forPlain += seconds(() => runPlain(objects))
      const maps = texts.map((text) => parseDocument(text) as DocumentMap)
      ours += seconds(() => runOurs(maps))
    }
    const total = count * batches
    if (round >= 0) measured.push({ ours: total / ours, plain: total / forPlain }) // the first rounds warm up
  }
  return [
    {
      name: 'Three steps as plain JavaScript',
      value: median(measured.map((round) => round.plain)),
      unit: 'documents/s',
    },
    { name: 'The same as a pipeline', value: median(measured.map((round) => round.ours)), unit: 'documents/s' },
    {
      name: 'Pipeline against plain JavaScript',
      value: median(measured.map((round) => round.ours / round.plain)),
      unit: 'times',
      limit: { min: 0.15 },
    },
  ]
}
