/** Answers requests that Node.js cannot parse. Their path is unknown, so the answer has the default error format. */
import { maxHeaderSize } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

/** Responses to requests whose path has a broken escape, such as `/console/%E0`, by the start of the path. Other paths get an error. */
export type UnreadablePaths = Map<string, RespondToPath>
export type RespondToPath = (reply: FastifyReply) => Promise<unknown>

interface ParseError extends Error {
  code?: string
  /** The rule that the request breaks, such as "Invalid header value char". */
  reason?: string
}

const answers: Record<string, [status: string, message: string]> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    `the first line and the header fields of the request have more than ${maxHeaderSize} bytes`,
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'the chunk extensions of the request are too long'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not arrive in time'],
}

export function answerUnreadable(error: ParseError, socket: Socket): void {
  // A client that has closed the connection receives no answer.
  if (error.code !== 'ECONNRESET' && socket.writable) socket.write(answerOf(error))
  socket.destroy(error)
}

function answerOf({ code = '', reason }: ParseError): string {
  const [status, message] = answers[code] ?? ['400 Bad Request', `the request is not valid HTTP: ${reason ?? code}`]
  const body = JSON.stringify({ message })
  return [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
