/** Stores the files of software versions and opens them for downloads. */
import type { Readable } from 'node:stream'
import type { ByteRange } from '../../../kernel/blobs/blobs.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { LinkRejected, NoSoftware, NoSoftwareFile, SoftwareContentLost } from '../errors.ts'
import { verifyLink } from '../links.ts'
import { softwareContentMissing } from '../log-messages.ts'
import * as store from '../store/versions.ts'
import { announceChange } from './announce.ts'
import { accessible, type Deps, readScope, updateScope } from './deps.ts'
import type { Target } from './versions.ts'

export interface NewFile {
  filename: string | undefined
  content: AsyncIterable<Uint8Array>
  length: number
  digest: { header: string; sha256: string } | undefined
}

/** Describes the content of a file. */
interface ContentItem {
  name: string
  size: number
  checksum: string
  updatedDate: Date
}

type Choose = (item: ContentItem) => ByteRange | undefined
type Opened = Promise<{ item: ContentItem; content: Readable | undefined }>

export interface FileRules {
  /** Stores a file, or replaces it as a whole. Resolves with its checksum when the file is durable. */
  upload(ctx: Ctx, target: Target, file: NewFile): Promise<string>
  open(ctx: Ctx, target: Target, choose: Choose): Opened
  /** Opens the file of a signed link. */
  openLink(target: Target, link: { expires: string; signature: string }, choose: Choose): Opened
}

const attemptsMax = 5

export const createFileRules = (deps: Deps): FileRules => ({
  upload: (ctx, target, file) => upload(deps, ctx, target, file),

  async open(ctx, target, choose) {
    const notFound = () => NoSoftwareFile({ ...target })
    const { appName, softwareVersion: version } = target
    const application = await accessible(deps, ctx, { appName, scope: readScope }, notFound)
    return await open(deps, target, () => store.findVersion(deps.kit.db.sql, { ...application, version }), choose)
  },

  async openLink(target, link, choose) {
    const { kit } = deps
    const seconds = Math.floor(kit.now().getTime() / 1000)
    const version = { applicationName: target.appName, version: target.softwareVersion }
    const fileId = verifyLink(kit.secrets, version, link, seconds)
    if (fileId === undefined) throw LinkRejected()
    return await open(deps, target, () => store.findByFile(kit.db.sql, fileId), choose)
  },
})

/** Returns the name of the file. Throws a 400 for a wrong name, and if the specification is not an object (document 5, 4.6). */
function nameFor(row: store.VersionRow, filename: string | undefined): string {
  const name = filename ?? row.filename
  if (name === null) throw invalidField('filename', 'is required, because the version has no filename')
  if (row.filename !== null && name !== row.filename)
    throw invalidField('filename', `the version takes only a file with the name ${row.filename}`)
  const specification: unknown = row.specification === null ? {} : JSON.parse(row.specification)
  if (typeof specification !== 'object' || specification === null || Array.isArray(specification))
    throw invalidField(
      'specification',
      'a file needs a version whose specification is an object, to which the link is added',
    )
  return name
}

async function upload(deps: Deps, ctx: Ctx, target: Target, file: NewFile): Promise<string> {
  const { kit, contents } = deps
  const notFound = () => NoSoftware({ ...target })
  const { appName, softwareVersion: version } = target
  const application = await accessible(deps, ctx, { appName, scope: updateScope }, notFound)
  const known = await store.findVersion(kit.db.sql, { ...application, version })
  if (!known) throw notFound()
  nameFor(known, file.filename)
  const { content, length, digest } = file
  const { tenantId } = application
  const stored = { tenantId, service: 'software', content, length, digest, replacedBytes: known.fileSize ?? 0 }
  return await contents.write(stored, async (sql, { contentKey, size, checksum }) => {
    await store.lockApplication(sql, application)
    const row = await store.findVersion(sql, { ...application, version })
    if (!row) throw notFound()
    const at = kit.now()
    const fields = {
      fileId: kit.newId(),
      fileName: nameFor(row, file.filename),
      fileSize: size,
      fileChecksum: checksum,
    }
    await store.updateVersion(
      sql,
      { ...application, number: row.number },
      { ...fields, fileDate: at, contentKey, updatedDate: at },
    )
    await announceChange(kit, sql, application)
    if (row.contentKey !== null) await contents.release(sql, tenantId, [row.contentKey])
    return checksum
  })
}

/** Opens a content. If the file is replaced meanwhile, the row is looked up again, so that the row and the content belong together. */
async function open(
  { kit, contents }: Deps,
  target: Target,
  find: () => Promise<store.VersionRow | undefined>,
  choose: Choose,
): Opened {
  for (let attempt = 1; ; attempt++) {
    const row = await find()
    if (!row || row.contentKey === null) throw NoSoftwareFile({ ...target })
    const item = { name: row.fileName!, size: row.fileSize!, checksum: row.fileChecksum!, updatedDate: row.fileDate! }
    const range = choose(item)
    if (range === undefined) return { item, content: undefined }
    const isAll = range.first === 0 && range.last === item.size - 1
    const content = await contents.read(row.contentKey, isAll ? undefined : range)
    if (content) return { item, content }
    if (attempt < attemptsMax) continue
    softwareContentMissing(kit.log, { contentKey: row.contentKey, ...target })
    throw SoftwareContentLost()
  }
}
