/** Files and blobs that the device uploaded. */
import { useState } from 'react'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { useSaveDownload } from '../../api/save-download.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { AsCommand } from '../../parts/as-command.tsx'
import { IconButton } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { cut, Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { TabProps } from './tab.ts'
import { tabTexts as texts } from './tab-texts.ts'

type File = ItemOf<'files.list'>

const rowsMax = 100

export default function FilesTab({ endpoint: { endpointId, appName }, mayUpdate }: TabProps) {
  const args = { appName, endpointId, limit: rowsMax, sort: 'DESC' as const }
  const files = useList('files.list', args)
  const blobs = useList('blobs.list', args)
  const [fileToDelete, setFileToDelete] = useState<File>()
  const remove = useChange('files.delete')
  const download = useSaveDownload()
  const toast = useToast()
  async function deleteIt() {
    const outcome = await remove.run({ appName, endpointId, filename: fileToDelete!.name })
    if (outcome.kind !== 'done') return
    toast(texts.fileDeleted)
    setFileToDelete(undefined)
  }
  async function save(operation: 'files.download' | 'blobs.download', file: object, name: string) {
    const problem = await download(operation, { appName, endpointId, ...file }, name)
    if (problem) toast(problem === 'too-large' ? texts.tooLarge : problem.message, 'bad')
  }
  return (
    <>
      <Card title={texts.files} actions={<AsCommand operation="files.list" args={args} />} flush>
        {files.isLoading ? (
          <div className="card-note">
            <Loading label={texts.loading} />
          </div>
        ) : files.problem ? (
          <ErrorNote problem={files.problem} onRetry={files.reload} />
        ) : files.items.length === 0 ? (
          <EmptyState icon="file" title={texts.filesNoneTitle}>
            {texts.filesNone}
          </EmptyState>
        ) : (
          <FileTable>
            {files.items.slice(0, rowsMax).map((file) => (
              <Row key={file.name} name={file.name} size={file.size} at={file.updatedDate}>
                <IconButton
                  icon="download"
                  label={texts.download(cut(file.name, 60).shown)}
                  onPress={() => void save('files.download', { filename: file.name }, file.name)}
                />
                {mayUpdate && (
                  <IconButton
                    icon="trash"
                    label={texts.remove(cut(file.name, 60).shown)}
                    onPress={() => setFileToDelete(file)}
                  />
                )}
              </Row>
            ))}
          </FileTable>
        )}
      </Card>
      {blobs.items.length > 0 && (
        <Card title={texts.blobs} actions={<AsCommand operation="blobs.list" args={args} />} flush>
          <FileTable>
            {blobs.items.slice(0, rowsMax).map(({ id, name, size, createdDate }) => (
              <Row key={id} name={name} size={size} at={createdDate}>
                <IconButton
                  icon="download"
                  label={texts.download(cut(name, 60).shown)}
                  onPress={() => void save('blobs.download', { blobId: id }, name)}
                />
              </Row>
            ))}
          </FileTable>
        </Card>
      )}
      <ConfirmDelete
        objectName={texts.fileObjectName(cut(fileToDelete?.name ?? '', 80).shown)}
        isOpen={fileToDelete !== undefined}
        isBusy={remove.isRunning}
        problem={remove.problem}
        onConfirm={() => void deleteIt()}
        onClose={() => setFileToDelete(undefined)}
      />
    </>
  )
}

const FileTable = ({ children }: { children: React.ReactNode }) => (
  <div className="scroll-x">
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{texts.name}</th>
          <th scope="col">{texts.size}</th>
          <th scope="col">{texts.changed}</th>
          <td>
            <span className="visually-hidden">{texts.actions}</span>
          </td>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)

const Row = ({
  name,
  size,
  at,
  children,
}: {
  name: string
  size: number | undefined
  at: string
  children: React.ReactNode
}) => (
  <tr>
    <th scope="row">
      <Text value={name} max={100} />
    </th>
    <td>{size === undefined ? <Text value="" /> : formatBytes(size)}</td>
    <td>
      <Time value={at} />
    </td>
    <td className="cell-actions">{children}</td>
  </tr>
)
