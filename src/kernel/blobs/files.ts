/**
 * Stores contents as `<directory>/ab/cd/<key>`, written as `<directory>/unfinished/<key>` first. Before a write resolves, the
 * bytes, the name and every new folder are synced to disk.
 */
import { constants, promises as fs } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Blobs, blobKeyPattern, pathOfKey } from './blobs.ts'

const unfinished = 'unfinished'
/** Limits the paths in `durable`. */
const foldersMax = 20_000

export function createFileBlobs(directory: string): Blobs {
  const placeOf = (key: string) => join(directory, pathOfKey(key))
  const draftOf = (key: string) => join(directory, unfinished, key)

  const durable = new Set<string>()

  /** Creates a folder and its parents, and syncs each entry in its parent, even if another process created it. */
  async function makeFolder(path: string) {
    if (durable.has(path)) return
    if (path === directory) await fs.mkdir(path, { recursive: true, mode: 0o700 })
    else {
      await makeFolder(dirname(path))
      await fs.mkdir(path, { mode: 0o700 }).catch(unlessExists)
    }
    await syncFolder(dirname(path))
    if (durable.size > foldersMax) durable.clear()
    durable.add(path)
  }

  return {
    async write(key, content) {
      const [place, draft] = [placeOf(key), draftOf(key)]
      await makeFolder(dirname(draft))
      const file = await fs.open(draft, 'wx', 0o600)
      try {
        for await (const piece of content) await writeAll(file, piece)
        await file.sync()
      } finally {
        await file.close()
      }
      await makeFolder(dirname(place))
      await fs.rename(draft, place)
      await syncFolder(dirname(place))
    },

    async read(key, range) {
      const file = await fs.open(placeOf(key), constants.O_RDONLY).catch(unlessMissing)
      return file?.createReadStream({
        highWaterMark: 256 * 1024,
        ...(range && { start: range.first, end: range.last }),
      })
    },

    async remove(key) {
      for (const path of [draftOf(key), placeOf(key)]) await fs.unlink(path).catch(unlessMissing)
    },

    async *keys() {
      for (const one of await namesIn(directory)) {
        if (one === unfinished) yield* filesIn(join(directory, one))
        else for (const two of await namesIn(join(directory, one))) yield* filesIn(join(directory, one, two))
      }
    },
  }
}

async function writeAll(file: fs.FileHandle, piece: Uint8Array) {
  for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten
}

async function syncFolder(path: string) {
  const folder = await fs.open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function* filesIn(folder: string) {
  for (const key of await namesIn(folder)) {
    if (!blobKeyPattern.test(key)) continue
    const found = await fs.stat(join(folder, key)).catch(unlessMissing)
    if (found?.isFile()) yield { key, changedAt: found.mtime }
  }
}

const namesIn = async (folder: string) => (await fs.readdir(folder).catch(unlessMissing)) ?? []

function unlessMissing(error: unknown): undefined {
  const code = (error as { code?: string }).code
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
}

function unlessExists(error: unknown) {
  if ((error as { code?: string }).code !== 'EEXIST') throw error
}
