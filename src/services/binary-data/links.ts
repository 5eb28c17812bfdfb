/** Builds the external addresses of items. They start with the service's prefix, even if the request used a path without it. */
import type { Item } from './store/items.ts'

const root = '/bcx/api/v1'

const pathOf = ({ applicationName, endpointId, kind, name, id }: Item) => {
  const collection = kind === 'file' ? `files/${encodeURIComponent(name)}` : `binary-data/${id}`
  return `/applications/${encodeURIComponent(applicationName)}/endpoints/${encodeURIComponent(endpointId)}/${collection}`
}

/** Returns the address of the resource. */
export const linkOf = (baseUrl: string, item: Item) => baseUrl + root + pathOf(item)

/** Returns the address of the content. */
export const downloadLinkOf = (baseUrl: string, item: Item) =>
  item.kind === 'file' ? linkOf(baseUrl, item) : `${linkOf(baseUrl, item)}/data`

export const fileView = (baseUrl: string, item: Item) => {
  const { name, endpointId, size, createdDate, updatedDate } = item
  return { name, endpointId, url: downloadLinkOf(baseUrl, item), size, createdDate, updatedDate }
}

export const blobView = (baseUrl: string, item: Item) => {
  const { id, name, size, createdDate } = item
  return { id, name, url: downloadLinkOf(baseUrl, item), size, createdDate }
}

export const listedBlobView = (baseUrl: string, item: Item) => ({
  ...blobView(baseUrl, item),
  endpointId: item.endpointId,
})
