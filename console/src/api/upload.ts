/** Uploads a file: computes its checksum, then sends the bytes and shows the progress. An upload can be canceled and repeated. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { createClient } from '../../../sdk/src/index.ts'
import type { Arguments } from '../../../sdk/src/types.ts'
import type { Problem } from '../parts/problem.ts'
import { useSession } from './client.ts'
import { baseUrl } from './platform.ts'
import { problemOf } from './problems.ts'
import { sha256OfFile } from './sha256.ts'

export type UploadState =
  | { kind: 'idle' }
  /** The browser computes the checksum. */
  | { kind: 'reading'; bytes: number }
  | { kind: 'sending'; bytes: number }
  | { kind: 'failed'; problem: Problem }
  | { kind: 'canceled' }
  /** The platform has stored the file, and its checksum equals the checksum of the local file. */
  | { kind: 'done'; checksum: string }

export interface Upload {
  file: File | undefined
  state: UploadState
  start(args: object, file: File): Promise<void>
  cancel(): void
  /** Sends the same file again. */
  retry(): Promise<void>
  reset(): void
}

const hexOf = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Returns the upload of an operation that accepts bytes and `content-digest`: `useUpload('software.file.upload')`. Leaving the page cancels
 * the upload.
 */
export function useUpload(name: string): Upload {
  const { session } = useSession()
  const queries = useQueryClient()
  const [state, setState] = useState<UploadState>({ kind: 'idle' })
  const [upload, setUpload] = useState<{ args: object; file: File }>()
  const running = useRef<AbortController>(undefined)
  const isBusy = state.kind === 'reading' || state.kind === 'sending'
  useEffect(() => () => running.current?.abort(), [])
  useEffect(() => {
    if (!isBusy) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isBusy])

  async function start(args: object, file: File) {
    running.current?.abort()
    const control = new AbortController()
    const { signal } = control
    running.current = control
    setUpload({ args, file })
    const show = (next: UploadState) => {
      if (running.current === control) setState(next)
    }
    show({ kind: 'reading', bytes: 0 })
    try {
      const digest = await sha256OfFile(file, (bytes) => show({ kind: 'reading', bytes }), signal)
      show({ kind: 'sending', bytes: 0 })
      const client = createClient({
        url: baseUrl,
        auth: (rejected) => session.token(rejected),
        attempts: 3,
        fetch: fetchWithProgress((bytes) => show({ kind: 'sending', bytes })),
      })
      const header = `sha-256=:${btoa(String.fromCharCode(...digest))}:`
      await client.call(name, { ...args, body: file, 'content-digest': header } as Arguments, { signal })
      show({ kind: 'done', checksum: hexOf(digest) })
    } catch (error) {
      show(signal.aborted ? { kind: 'canceled' } : { kind: 'failed', problem: problemOf(error) })
    }
    await queries.invalidateQueries({ queryKey: [name.split('.')[0]] })
  }
  return {
    file: upload?.file,
    state,
    start,
    cancel: () => running.current?.abort(),
    retry: async () => void (upload && (await start(upload.args, upload.file))),
    reset: () => setState({ kind: 'idle' }),
  }
}

/** Returns a `fetch` that reports how many bytes were sent. It uses XMLHttpRequest, because browsers report the progress only there. */
const fetchWithProgress =
  (onProgress: (bytes: number) => void): typeof fetch =>
  (address, { method = 'GET', headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open(method, String(address))
      for (const [key, value] of new Headers(headers)) request.setRequestHeader(key, value)
      request.responseType = 'arraybuffer'
      request.upload.onprogress = ({ loaded }) => onProgress(loaded)
      const stop = () => request.abort()
      signal?.addEventListener('abort', stop, { once: true })
      request.onloadend = () => {
        signal?.removeEventListener('abort', stop)
        if (signal?.aborted) return reject(signal.reason)
        if (request.status === 0) return reject(new TypeError('Failed to fetch'))
        resolve(responseOf(request))
      }
      request.send(body as XMLHttpRequestBodyInit)
    })

function responseOf(request: XMLHttpRequest): Response {
  const { status } = request
  const headers = new Headers()
  for (const line of request.getAllResponseHeaders().split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const isEmpty = status === 204 || status === 304
  return new Response(isEmpty ? null : (request.response as ArrayBuffer | null), { status, headers })
}
