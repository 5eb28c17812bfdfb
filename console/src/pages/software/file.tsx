/** The file of a software version: upload with checksum and progress, download, replacement. */
import { useSaveDownload } from '../../api/save-download.ts'
import { type UploadState, useUpload } from '../../api/upload.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts } from '../../parts/card.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { FileDrop } from '../../parts/file-drop.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Progress } from '../../parts/progress.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { formTexts } from './form-texts.ts'
import { texts } from './texts.ts'
import type { Software } from './values.ts'

export function SoftwareFile({ software, mayUpdate }: { software: Software; mayUpdate: boolean }) {
  const { appName, version, fileSize, skipDispatchingToEndpoint } = software
  const upload = useUpload('software.file.upload')
  const { kind } = upload.state
  const isBusy = kind === 'reading' || kind === 'sending'
  const hasFile = fileSize !== undefined
  return (
    <Card title={formTexts.file} actions={hasFile && <DownloadFile software={software} />}>
      <div className="stack">
        {hasFile ? (
          <FileFacts software={software} />
        ) : (
          <p className="quiet">{skipDispatchingToEndpoint ? formTexts.fileMissing : formTexts.fileNone}</p>
        )}
        {upload.file && (
          <UploadView state={upload.state} file={upload.file} onCancel={upload.cancel} onRetry={upload.retry} />
        )}
        {mayUpdate && !isBusy && (
          <FileDrop
            label={formTexts.drop}
            hint={hasFile ? formTexts.replaceHint : formTexts.dropHint}
            action={formTexts.choose}
            onFile={(file) => void upload.start({ appName, softwareVersion: version, filename: file.name }, file)}
          />
        )}
      </div>
    </Card>
  )
}

const FileFacts = ({ software: { filename, fileSize = 0, fileChecksum = '' } }: { software: Software }) => (
  <Facts
    items={[
      ...(filename === undefined
        ? []
        : [[texts.fileName, <Text key="name" value={filename} max={120} />] as [string, React.ReactNode]]),
      [texts.fileSize, formatBytes(fileSize)],
      [
        texts.facts.checksum,
        <span key="checksum" className="software-checksum">
          <Text value={fileChecksum} mono />
          <CopyButton text={fileChecksum} label={texts.copyChecksum} />
        </span>,
      ],
    ]}
  />
)

function DownloadFile({ software: { appName, version, filename } }: { software: Software }) {
  const download = useSaveDownload()
  const toast = useToast()
  async function run() {
    const name = filename ?? `${appName}-${version}`
    const problem = await download('software.file.download', { appName, softwareVersion: version }, name)
    if (problem) toast(problem === 'too-large' ? formTexts.downloadTooLarge : problem.message, 'bad')
  }
  return (
    <Button icon="download" size="small" onPress={() => void run()}>
      {formTexts.download}
    </Button>
  )
}

interface ViewProps {
  state: UploadState
  file: File
  onCancel(): void
  onRetry(): Promise<void>
}

function UploadView({ state, file, onCancel, onRetry }: ViewProps) {
  const name = cut(file.name, 60).shown
  if (state.kind === 'done') return <Note tone="good">{formTexts.stored}</Note>
  if (state.kind === 'failed') return <ErrorNote problem={state.problem} onRetry={() => void onRetry()} />
  if (state.kind === 'canceled')
    return (
      <Note
        action={
          <Button icon="refresh" onPress={() => void onRetry()}>
            {formTexts.retryUpload}
          </Button>
        }
      >
        {formTexts.canceled}
      </Note>
    )
  if (state.kind === 'idle') return null
  const isStoring = state.kind === 'sending' && state.bytes >= file.size
  return (
    <div className="software-upload">
      <Progress
        label={state.kind === 'reading' ? formTexts.reading(name) : formTexts.sending(name)}
        value={state.bytes}
        max={file.size}
      >
        {isStoring ? formTexts.storing : formTexts.sent(formatBytes(state.bytes), formatBytes(file.size))}
      </Progress>
      <Button icon="x" onPress={onCancel}>
        {formTexts.cancelUpload}
      </Button>
    </div>
  )
}
