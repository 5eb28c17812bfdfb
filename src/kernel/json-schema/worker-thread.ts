/** Entry point of a thread that compiles and applies JSON schemas, one request at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { LRUCache } from 'lru-cache'
import { nativeThreadId } from '../thread-time.ts'
import { compileSchema, SchemaError, type Violations } from './compile.ts'
import { cells, type SchemaAnswer, type SchemaRequest, type ThreadAnswer, type ThreadMessage } from './threads.ts'

/** Compiled schemas by their text. A compiled validator takes several times the memory of its text. */
const compiled = new LRUCache<string, (data: string) => Violations>({ maxSize: 1024 * 1024, sizeCalculation: () => 1 })

function compiledOf(schema: string) {
  const known = compiled.get(schema)
  if (known) return known
  const validate = compileSchema(schema)
  compiled.set(schema, validate, { size: schema.length + 1024 })
  return validate
}

function answerTo({ schema, data }: SchemaRequest): SchemaAnswer {
  try {
    const validate = compiledOf(schema)
    return data === undefined ? { violations: [], more: 0 } : validate(data)
  } catch (error) {
    if (error instanceof SchemaError) return { unusable: error.problems }
    const message = error instanceof RangeError ? 'the schema or the value is nested too deeply' : String(error)
    return { unusable: { violations: [{ path: '', message: message.slice(0, 300) }], more: 0 } }
  }
}

const { shared } = workerData as { shared: Int32Array }
Atomics.store(shared, cells.nativeId, nativeThreadId())

parentPort?.on('message', ({ schemas, requests }: ThreadMessage) => {
  const answers = requests.map(({ schema, data }, index): ThreadAnswer => {
    // The time limit of a request starts here: it does not include the start of the thread.
    Atomics.store(shared, cells.progress, index)
    const answer = answerTo({ schema: schemas[schema]!, data })
    return 'violations' in answer && answer.violations.length === 0 ? null : answer
  })
  parentPort?.postMessage(answers)
})
