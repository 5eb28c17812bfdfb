/** Sends a command to one endpoint without waiting for its result, which the list shows later. */
import { type FormEvent, useState } from 'react'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { JsonField, parseJson } from '../../parts/json-field.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { NumberField } from '../../parts/number-field.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

const ttlSecondsDefault = 3_600

export function SendCommand({ onClose }: { onClose(): void }) {
  const send = useChange('commands.send')
  const form = useForm({ endpointId: '', commandType: '', payload: '', ttl: ttlSecondsDefault }, send.problem)
  const [wrong, setWrong] = useState<string>()
  const toast = useToast()
  const { endpointId, commandType, payload, ttl } = form.values
  const parsed = payload.trim() === '' ? { value: undefined, problem: undefined } : parseJson(payload)
  const args = {
    ...{ endpointId: endpointId.trim(), commandType: commandType.trim(), awaitTimeout: 0, commandTtl: ttl * 1000 },
    body: parsed.value,
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    setWrong(parsed.problem)
    if (parsed.problem) return
    const outcome = await send.run(args)
    if (outcome.kind !== 'done') return
    toast(texts.sent)
    onClose()
  }
  return (
    <Dialog title={texts.sendTitle} isOpen onClose={onClose} size="wide">
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField
          label={texts.endpointId}
          {...form.field('endpointId')}
          description={texts.endpointNote}
          isRequired
          mono
          autoFocus
        />
        <TextField label={texts.type} {...form.field('commandType')} description={texts.typeNote} isRequired mono />
        <JsonField label={texts.payload} {...form.field('payload')} description={texts.payloadNote} problem={wrong} />
        <NumberField
          label={texts.ttl}
          {...form.field('ttl')}
          name="commandTtl"
          description={texts.ttlNote}
          min={0}
          max={31_536_000}
          isRequired
        />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="commands.send" args={args} />
          <CancelButton onPress={onClose} />
          <Button
            look="primary"
            icon="send"
            type="submit"
            isBusy={send.isRunning}
            isDisabled={endpointId.trim() === '' || commandType.trim() === ''}
          >
            {texts.submit}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
