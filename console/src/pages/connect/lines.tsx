/** Shows code that sends a message as the device, with the addresses of this platform and the token filled in. */
import { useState } from 'react'
import { useSession } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { TextField } from '../../parts/fields.tsx'
import { parseJson } from '../../parts/json-field.tsx'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { kinds, samplePayload, snippet } from './snippets.ts'
import { texts } from './texts.ts'

type Endpoint = BodyOf<'endpoints.get'>
type Kind = keyof typeof texts.kinds

interface Login {
  username: string
  password: string
}

interface Transport {
  url: string
  required: readonly string[]
}

/** Returns the addresses of the platform by transport. */
function useAddresses() {
  const list = useList('devices.addresses.list', {})
  const found: Record<string, Transport> = Object.fromEntries(list.items.map((item) => [item.transport, item]))
  const { mqtt, mqtts, http } = found
  return { ...list, mqtt, mqtts, http }
}

const isLoopback = (url: string) => /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)

export interface LinesProps {
  endpoint: Endpoint
  kind: Kind
  onKind(kind: Kind): void
  token: string | undefined
  onToken(token: string): void
}

export function Lines({ endpoint, kind, onKind, token, onToken }: LinesProps) {
  const addresses = useAddresses()
  const [login, setLogin] = useState<Login>()
  if (addresses.isLoading) return <Loading label={texts.loading} />
  const { mqtt, mqtts, http } = addresses
  const needsLogin = mqtt?.required.includes('basic') === true
  const needsCertificate = mqtt?.required.includes('x509') === true
  const isHttpOff = http !== undefined && http.required.length > 0
  const isOverHttp = kind === 'curl' || kind === 'page'
  const hint = isOverHttp ? isHttpOff && 'http' : needsCertificate ? 'certificate' : needsLogin && !login && 'login'
  const url = isOverHttp ? http?.url : mqtt?.url
  return (
    <Card title={texts.send}>
      <div className="connect-lines">
        <Segments
          label={texts.with}
          value={kind}
          onChange={onKind}
          options={([...kinds, 'page'] as const).map((value) => ({ value, label: texts.kinds[value] }))}
        />
        {addresses.problem && <ErrorNote problem={addresses.problem} onRetry={addresses.reload} />}
        {token === undefined ? (
          <NoToken endpoint={endpoint} onToken={onToken} />
        ) : hint === 'http' ? (
          <Note tone="warn">{texts.httpOff}</Note>
        ) : hint === 'certificate' ? (
          <Note tone="warn" action={<LinkButton to="/credentials">{texts.toCredentials}</LinkButton>}>
            {texts.needsCertificate}
          </Note>
        ) : hint === 'login' ? (
          <NeedsLogin endpointId={endpoint.endpointId} onLogin={setLogin} />
        ) : kind === 'page' ? (
          <PageAsDevice endpoint={endpoint} token={token} />
        ) : (
          <Snippet
            kind={kind}
            text={
              snippet(kind, {
                mqttUrl: mqtt?.url,
                httpUrl: http?.url,
                versionName: endpoint.appVersion.name,
                token,
                endpointId: endpoint.endpointId,
                login,
              }) ?? ''
            }
            login={isOverHttp ? undefined : login}
          />
        )}
        {kind !== 'page' && token !== undefined && url !== undefined && (
          <Elsewhere key={kind} isOpen={kind === 'arduino'} url={url} mqttsUrl={isOverHttp ? undefined : mqtts?.url} />
        )}
      </div>
    </Card>
  )
}

/**
 * Advice for a device that does not run on the machine of the platform. It is open at first only for a microcontroller, which is always a
 * machine of its own.
 */
function Elsewhere({ isOpen, url, mqttsUrl }: { isOpen: boolean; url: string; mqttsUrl: string | undefined }) {
  if (!isLoopback(url) && mqttsUrl === undefined) return null
  return (
    <details className="connect-elsewhere quiet" open={isOpen}>
      <summary>{texts.elsewhere}</summary>
      {isLoopback(url) && <p>{texts.loopback(new URL(url).hostname)}</p>}
      {mqttsUrl !== undefined && (
        <p>
          {texts.encrypt} <Text value={mqttsUrl} mono />
        </p>
      )}
    </details>
  )
}

function Snippet({ kind, text, login }: { kind: Exclude<Kind, 'page'>; text: string; login: Login | undefined }) {
  return (
    <>
      <p>{texts.needs[kind]}</p>
      <CodeView key={kind} text={text} label={texts.kinds[kind]} />
      {login && <Note>{texts.loginMade(login.username)}</Note>}
      <p className="quiet">{texts.token}</p>
    </>
  )
}

/** Offers to create a new token. The platform stores only hashes of tokens, so a page that is opened again cannot show the old token. */
function NoToken({ endpoint: { endpointId, appName }, onToken }: Pick<LinesProps, 'endpoint' | 'onToken'>) {
  const create = useChange('tokens.create')
  const may = useMay()
  if (!may('endpoint:update', `endpoint-${endpointId}`, `application-${appName}`))
    return <Note tone="warn">{texts.mayNotUpdate}</Note>
  async function run() {
    const outcome = await create.run({ endpointId, body: { applicationName: appName } })
    if (outcome.kind === 'done') onToken(outcome.body.token)
  }
  return (
    <>
      <Note
        action={
          <Button look="primary" icon="key" onPress={() => void run()} isBusy={create.isRunning}>
            {texts.createToken}
          </Button>
        }
      >
        {texts.noToken}
      </Note>
      {create.problem && <ErrorNote problem={create.problem} onRetry={() => void run()} />}
    </>
  )
}

function NeedsLogin({ endpointId, onLogin }: { endpointId: string; onLogin(login: Login): void }) {
  const create = useChange('basicCredentials.create')
  const { session } = useSession()
  const may = useMay()
  async function run() {
    const outcome = await create.run({ body: { username: endpointId } })
    if (outcome.kind !== 'done') return
    const { username, password } = outcome.body
    onLogin({ username: `${username}@${session.tenant}`, password })
  }
  return (
    <>
      <Note
        tone="warn"
        action={
          may('tenant:basic-credentials:create') && (
            <Button look="primary" icon="key" onPress={() => void run()} isBusy={create.isRunning}>
              {texts.createLogin}
            </Button>
          )
        }
      >
        {texts.needsLogin}
      </Note>
      {create.problem && <ErrorNote problem={create.problem} onRetry={() => void run()} />}
    </>
  )
}

/** Sends the message from the browser, for users without a device. */
function PageAsDevice({ endpoint, token }: { endpoint: Endpoint; token: string }) {
  const send = useChange('devices.messages.send', { also: ['timeSeries', 'traffic'] })
  const [payload, setPayload] = useState(samplePayload)
  const [wrong, setWrong] = useState<string>()
  async function run() {
    const { value, problem } = parseJson(payload)
    setWrong(problem)
    if (problem !== undefined) return
    const { name: appVersionName } = endpoint.appVersion
    await send.run({ appVersionName, extension: 'dcx', token, resource: 'json', body: value })
  }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        void run()
      }}
    >
      <p>{texts.page}</p>
      <TextField label={texts.payload} value={payload} onChange={setPayload} problem={wrong} isRequired mono />
      {send.problem && <ErrorNote problem={send.problem} onRetry={() => void run()} />}
      <div className="form-actions">
        <Button look="primary" icon="send" type="submit" isBusy={send.isRunning}>
          {texts.sendNow}
        </Button>
      </div>
    </form>
  )
}
