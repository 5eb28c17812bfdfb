/** Sends a message over HTTP as the device would, with a token that the user pastes or creates. The token is kept in memory only. */
import { useState } from 'react'
import { useChange } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import type { Endpoint } from './tab.ts'
import { tabTexts as texts } from './tab-texts.ts'

type Kind = keyof typeof texts.actKinds

const messages: Record<Kind, { extension: string; resource: string; payload: string }> = {
  samples: { extension: 'dcx', resource: 'json', payload: '{"temperature": 21.5}' },
  metadata: { extension: 'epmx', resource: 'update/keys', payload: '{"firmware": "1.2.0"}' },
}
const kinds = Object.keys(messages) as Kind[]

export function ActAsDevice({ endpoint }: { endpoint: Endpoint }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button icon="radio" onPress={() => setOpen(true)}>
        {texts.act}
      </Button>
      {isOpen && <ActDialog endpoint={endpoint} onClose={() => setOpen(false)} />}
    </>
  )
}

function ActDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose(): void }) {
  const { endpointId, appName, appVersion } = endpoint
  const [token, setToken] = useState('')
  const [kind, setKind] = useState<Kind>('samples')
  const [payload, setPayload] = useState(messages.samples.payload)
  const [wrong, setWrong] = useState<string>()
  const [answer, setAnswer] = useState<{ body: unknown }>()
  const create = useChange('tokens.create')
  const send = useChange('devices.messages.send', { also: ['timeSeries', 'traffic', 'endpoints'] })
  async function makeToken() {
    const outcome = await create.run({ endpointId, body: { applicationName: appName } })
    if (outcome.kind === 'done') setToken(outcome.body.token)
  }
  async function run() {
    const { value, problem } = parseJson(payload)
    setWrong(problem)
    setAnswer(undefined)
    if (problem !== undefined) return
    const { extension, resource } = messages[kind]
    const outcome = await send.run({ appVersionName: appVersion.name, extension, token, resource, body: value })
    if (outcome.kind === 'done') setAnswer({ body: outcome.body })
  }
  const problem = create.problem ?? send.problem
  return (
    <Dialog
      title={texts.act}
      isOpen
      onClose={onClose}
      size="wide"
      isDone={answer !== undefined}
      actions={
        <>
          <Button onPress={onClose}>{texts.close}</Button>
          <Button
            look="primary"
            icon="send"
            onPress={() => void run()}
            isBusy={send.isRunning}
            isDisabled={token === ''}
          >
            {texts.send}
          </Button>
        </>
      }
    >
      <p>{texts.actLead}</p>
      <div className="inline-form">
        <TextField
          label={texts.actToken}
          value={token}
          onChange={setToken}
          description={texts.actTokenNote}
          type="password"
          isRequired
          mono
        />
        <Button icon="key" onPress={() => void makeToken()} isBusy={create.isRunning}>
          {texts.createToken}
        </Button>
      </div>
      <SelectField
        label={texts.actKind}
        value={kind}
        onChange={(key) => {
          setKind(key as Kind)
          setPayload(messages[key as Kind].payload)
        }}
        options={kinds.map((value) => ({ value, label: texts.actKinds[value] }))}
        isRequired
      />
      <JsonField label={texts.actPayload} value={payload} onChange={setPayload} problem={wrong} />
      {problem && <ErrorNote problem={problem} />}
      {answer && <Note tone="good">{texts.sent}</Note>}
      {answer?.body !== undefined && answer.body !== null && answer.body !== '' && (
        <JsonView value={answer.body} label={texts.answer} />
      )}
    </Dialog>
  )
}
