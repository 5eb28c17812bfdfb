/** Commands of an endpoint: sends a command and waits for its result, and lists earlier commands. */
import { useState } from 'react'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { TextField } from '../../parts/fields.tsx'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { EmptyState, ErrorNote, Note } from '../../parts/notes.tsx'
import { NumberField } from '../../parts/number-field.tsx'
import { Text } from '../../parts/text.tsx'
import { nowMs, Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { commandTexts as texts } from './command-texts.ts'
import type { TabProps } from './tab.ts'
import { useCommands } from './use-commands.ts'

type Commands = ReturnType<typeof useCommands>
type Command = Commands['items'][number]

export default function CommandsTab(props: TabProps) {
  const [tried, setTried] = useState<string[]>([])
  const commands = useCommands(props, tried)
  return (
    <div className="columns">
      {props.mayUpdate && (
        <TryOut {...props} commands={commands} onSent={(type) => setTried((all) => [...new Set([...all, type])])} />
      )}
      <CommandList {...props} commands={commands} />
    </div>
  )
}

interface TryOutProps extends TabProps {
  commands: Commands
  onSent(type: string): void
}

const waitSecondsDefault = 10

function TryOut({ endpoint: { endpointId }, entry, commands, onSent }: TryOutProps) {
  const [commandType, setType] = useState('')
  const [payload, setPayload] = useState('')
  const [sentPayload, setSentPayload] = useState('')
  const [awaitTimeout, setWait] = useState(waitSecondsDefault)
  const [wrong, setWrong] = useState<string>()
  const [sentAt, setSentAt] = useState<number>()
  const [result, setResult] = useState<{ body: unknown; ms: number }>()
  const send = useChange('commands.send')
  const isTypeRefused = send.problem?.field === 'commandType'
  const body = payload.trim() === '' ? undefined : parseJson(payload).value
  useUnsaved(payload !== sentPayload)
  async function run() {
    const problem = payload.trim() === '' ? undefined : parseJson(payload).problem
    setWrong(problem)
    if (problem) return
    const from = nowMs()
    setSentAt(from)
    setResult(undefined)
    onSent(commandType)
    const outcome = await send.run({ endpointId, commandType, awaitTimeout, commandTtl: 3_600_000, body })
    commands.reload()
    if (outcome.kind !== 'done') return
    setSentPayload(payload)
    setResult({ body: outcome.body, ms: nowMs() - from })
  }
  return (
    <Card title={texts.tryOut}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        {entry?.connection !== 'connected' && <Note>{texts.notConnected}</Note>}
        <TextField
          label={texts.type}
          name="commandType"
          value={commandType}
          onChange={setType}
          description={
            commands.types.length > 0 ? texts.knownTypes(commands.types.slice(0, 8).join(', ')) : texts.typeNote
          }
          problem={isTypeRefused ? send.problem?.message : undefined}
          isRequired
          mono
        />
        <JsonField
          label={texts.payload}
          name="payload"
          value={payload}
          onChange={setPayload}
          description={texts.payloadNote}
          problem={wrong}
        />
        <NumberField
          label={texts.wait}
          name="awaitTimeout"
          value={awaitTimeout}
          onChange={setWait}
          min={0}
          max={60}
          isRequired
        />
        {send.problem && !isTypeRefused && <ErrorNote problem={send.problem} />}
        <div className="form-actions">
          <AsCommand operation="commands.send" args={{ endpointId, commandType, awaitTimeout, body }} />
          <Button look="primary" icon="send" type="submit" isBusy={send.isRunning} isDisabled={commandType === ''}>
            {texts.send}
          </Button>
        </div>
        {send.isRunning && sentAt !== undefined && <Note>{texts.waiting(awaitTimeout)}</Note>}
        {result && <Result {...result} />}
      </form>
    </Card>
  )
}

/** Shows the result of a command. If there is no result in time, the platform responds with 202 and no body. */
function Result({ body, ms }: { body: unknown; ms: number }) {
  if (body === undefined || body === null) return <Note tone="warn">{texts.noResult}</Note>
  return (
    <>
      <Note tone="good">{texts.resultAfter(ms)}</Note>
      <JsonView value={body} label={texts.result} />
    </>
  )
}

const tones: Record<Command['status'], Tone> = { PENDING: 'info', EXECUTED: 'good', EXPIRED: 'warn' }

const toneOf = ({ status, statusCode = 0 }: Command): Tone => (statusCode >= 400 ? 'bad' : tones[status])

function CommandList({ endpoint: { endpointId }, mayUpdate, commands }: TabProps & { commands: Commands }) {
  const remove = useChange('commands.delete')
  const toast = useToast()
  async function removeOne({ commandType, commandId }: Command) {
    const outcome = await remove.run({ endpointId, commandType, commandId })
    if (outcome.kind === 'done') toast(texts.deleted)
  }
  return (
    <Card title={texts.list} flush>
      {remove.problem && <ErrorNote problem={remove.problem} />}
      {commands.isLoading ? (
        <div className="card-note">
          <Loading label={texts.loading} />
        </div>
      ) : commands.problem ? (
        <ErrorNote problem={commands.problem} onRetry={commands.reload} />
      ) : commands.items.length === 0 ? (
        <EmptyState icon="send" title={texts.emptyTitle}>
          {texts.empty}
        </EmptyState>
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.type}</th>
                <th scope="col">{texts.state}</th>
                <th scope="col">{texts.payload}</th>
                <th scope="col">{texts.result}</th>
                <th scope="col">{texts.sent}</th>
                {mayUpdate && (
                  <td>
                    <span className="visually-hidden">{texts.actions}</span>
                  </td>
                )}
              </tr>
            </thead>
            <tbody>
              {commands.items.slice(0, 100).map((command) => (
                <tr key={`${command.commandType} ${command.commandId}`}>
                  <th scope="row">
                    <Text value={`${command.commandType} ${command.commandId}`} mono />
                  </th>
                  <td>
                    <Badge tone={toneOf(command)}>{texts.states[command.status]}</Badge>
                  </td>
                  <td>
                    <Text value={command.requestPayload} mono max={80} />
                  </td>
                  <td>
                    {command.statusCode !== undefined && `${command.statusCode} `}
                    <Text value={command.responsePayload ?? command.reasonPhrase} mono max={80} />
                  </td>
                  <td>
                    <Time value={command.createdAt} />
                  </td>
                  {mayUpdate && (
                    <td className="cell-actions">
                      <IconButton
                        icon="trash"
                        label={texts.deleteOne(`${command.commandType} ${command.commandId}`)}
                        onPress={() => void removeOne(command)}
                      />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
