/** Entry point of the worker thread that creates and signs certificates, authorities and revocation lists. */
import { parentPort } from 'node:worker_threads'
import type { PkiRequest } from './worker.ts'
import { makeAuthority, makeCertificate, makeRevocationList } from './x509.ts'

const tasks = { makeAuthority, makeCertificate, makeRevocationList }

parentPort?.on('message', async ({ id, task, input }: PkiRequest) => {
  try {
    parentPort?.postMessage({ id, output: await tasks[task](input as never) })
  } catch (error) {
    parentPort?.postMessage({ id, problem: (error as Error).stack ?? String(error) })
  }
})
