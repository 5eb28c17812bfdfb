/** Uploads a file on behalf of a device, with an upload token of its endpoint. The token is kept in memory only. */
import { useState } from 'react'
import { useChange } from '../../api/query.ts'
import { type UploadState, useUpload } from '../../api/upload.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { FileDrop } from '../../parts/file-drop.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Progress } from '../../parts/progress.tsx'
import { cut } from '../../parts/text.tsx'
import { texts } from './texts.ts'

interface DialogProps {
  appName: string
  firstEndpoint: string
  onClose(): void
}

export function UploadDialog({ appName, firstEndpoint, onClose }: DialogProps) {
  const [endpointId, setEndpoint] = useState(firstEndpoint)
  const [name, setName] = useState('')
  const [stored, setStored] = useState('')
  const [isMissing, setMissing] = useState(false)
  const token = useChange('files.uploadTokens.create')
  const upload = useUpload('files.upload')
  const { kind } = upload.state
  async function send(file: File) {
    const id = endpointId.trim()
    setMissing(id === '')
    if (id === '') return
    const createdToken = await token.run({ appName, endpointId: id })
    if (createdToken.kind !== 'done') return
    const filename = name.trim() || file.name
    setStored(filename)
    await upload.start({ filename, 'X-Auth-Token': createdToken.body.token }, file)
  }
  return (
    <Dialog
      title={texts.uploadTitle}
      isOpen
      onClose={onClose}
      size="wide"
      isDone={kind === 'done'}
      actions={<Button onPress={onClose}>{texts.close}</Button>}
    >
      <div className="form">
        <p className="quiet">{texts.uploadLead}</p>
        <TextField
          label={texts.uploadEndpoint}
          name="endpointId"
          value={endpointId}
          onChange={setEndpoint}
          description={texts.uploadEndpointNote}
          problem={isMissing ? texts.needsEndpoint : undefined}
          isRequired
          mono
          autoFocus
        />
        <TextField
          label={texts.fileName}
          name="filename"
          value={name}
          onChange={setName}
          description={texts.fileNameNote}
        />
        {token.problem && <ErrorNote problem={token.problem} />}
        {upload.file && (
          <Progressing
            state={upload.state}
            file={upload.file}
            name={cut(stored, 60).shown}
            onCancel={upload.cancel}
            onRetry={upload.retry}
          />
        )}
        {kind !== 'reading' && kind !== 'sending' && (
          <FileDrop label={texts.drop} hint={texts.dropHint} action={texts.choose} onFile={(file) => void send(file)} />
        )}
      </div>
    </Dialog>
  )
}

interface ProgressingProps {
  state: UploadState
  file: File
  name: string
  onCancel(): void
  onRetry(): Promise<void>
}

function Progressing({ state, file, name, onCancel, onRetry }: ProgressingProps) {
  if (state.kind === 'idle') return null
  if (state.kind === 'done') return <Note tone="good">{texts.stored(name)}</Note>
  if (state.kind === 'failed') return <ErrorNote problem={state.problem} onRetry={() => void onRetry()} />
  if (state.kind === 'canceled')
    return <Note action={<Button onPress={() => void onRetry()}>{texts.retry}</Button>}>{texts.canceled}</Note>
  const isStoring = state.kind === 'sending' && state.bytes >= file.size
  return (
    <>
      <Progress
        label={state.kind === 'reading' ? texts.reading(name) : texts.sending(name)}
        value={state.bytes}
        max={file.size}
      >
        {isStoring ? texts.storing : texts.sent(formatBytes(state.bytes), formatBytes(file.size))}
      </Progress>
      <Button icon="x" onPress={onCancel}>
        {texts.cancelUpload}
      </Button>
    </>
  )
}
