/** A real mail server with STARTTLS and authentication, which records the messages that it receives. */
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAllTests } from './database.ts'
import { aServerCertificate } from './server-certificate.ts'

export interface ReceivedMail {
  from: string
  to: string[]
  /** The whole message, with headers. */
  text: string
  isSecure: boolean
  user: string | undefined
}

/** Response to a command of the client: undefined accepts the command; otherwise a reply such as `[451, 'later']` rejects it. */
export type Reply = [code: number, text: string] | undefined

export async function aMailServer(options: { user?: string; password?: string } = {}) {
  const mails: ReceivedMail[] = []
  const server = { mails, recipient: (_address: string): Reply => undefined, message: (): Reply => undefined }
  const errorOf = ([responseCode, text]: [number, string]) => Object.assign(new Error(text), { responseCode })
  const settings: SMTPServerOptions = {
    ...(await aServerCertificate(['127.0.0.1'])),
    authOptional: options.user === undefined,
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth({ username, password }, _session, done) {
      if (username === options.user && password === options.password) done(null, { user: username })
      else done(errorOf([535, 'wrong password']))
    },
    onRcptTo({ address }, _session, done) {
      const reply = server.recipient(address)
      done(reply ? errorOf(reply) : null)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const reply = server.message()
        if (reply) return done(errorOf(reply))
        mails.push({
          from: (mailFrom as { address: string }).address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString(),
          isSecure: session.secure,
          user: session.user as string | undefined,
        })
        done(null)
      })
    },
  }
  const smtp = new SMTPServer(settings)
  smtp.on('error', () => {})
  await new Promise<void>((done) => smtp.listen(0, '127.0.0.1', done))
  const { port } = smtp.server.address() as AddressInfo
  const close = () => new Promise<void>((done) => smtp.close(done))
  afterAllTests(close)
  const login = options.user === undefined ? '' : `${options.user}:${options.password}@`
  // The certificate is self-signed, so the platform must not verify it.
  return Object.assign(server, { port, url: `smtp://${login}127.0.0.1:${port}?tls.rejectUnauthorized=false`, close })
}
