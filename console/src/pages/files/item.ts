/** A file or a blob, and its download. */
import { useChange } from '../../api/query.ts'
import { openDownload } from '../../parts/copy.tsx'
import { useToast } from '../../parts/toast.tsx'

export interface Item {
  /** Id of a blob; undefined for a file, which is identified by its name. */
  id?: string
  name: string
  endpointId: string
  size?: number
  createdDate: string
  updatedDate?: string
}

/** Returns the operation that reads the content of an item, with its arguments. */
export const contentOf = (appName: string, { id, name, endpointId }: Item) =>
  id === undefined
    ? { operation: 'files.download', args: { appName, endpointId, filename: name } }
    : { operation: 'blobs.download', args: { appName, endpointId, blobId: id } }

const pathOf = (appName: string, { id, name, endpointId }: Item) => {
  const endpoint = `/bcx/api/v1/applications/${encodeURIComponent(appName)}/endpoints/${encodeURIComponent(endpointId)}`
  return id === undefined
    ? `${endpoint}/files/${encodeURIComponent(name)}`
    : `${endpoint}/binary-data/${encodeURIComponent(id)}/data`
}

const linkSeconds = 60

/** Returns a function that downloads an item with a link that needs no token and is valid for a minute. */
export function useDownload(appName: string): (item: Item) => Promise<void> {
  const link = useChange('links.create')
  const toast = useToast()
  return async (item) => {
    const outcome = await link.run({ body: { path: pathOf(appName, item), validSeconds: linkSeconds } })
    if (outcome.kind === 'done') openDownload(outcome.body.url, item.name)
    else if (outcome.kind === 'failed') toast(outcome.problem.message, 'bad')
  }
}
