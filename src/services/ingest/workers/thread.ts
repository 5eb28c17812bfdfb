/** Entry point of a thread that runs pipelines. */
import { parentPort } from 'node:worker_threads'

parentPort?.on('message', () =>
  parentPort?.postMessage({
    type: 'problem',
    problem: { type: 'exception', reason: 'this build cannot run pipelines yet' },
  }),
)
parentPort?.postMessage({ type: 'ready' })
