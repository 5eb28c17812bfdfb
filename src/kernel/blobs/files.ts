/**
 * Stores contents as files `<directory>/ab/cd/<key>`. They are first written to `<directory>/unfinished/<key>`. Before a write resolves,
 * the bytes, the name and every new folder are synced to disk.
 */
import { constants, promises as fs } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Blobs, blobKeyPattern, pathOfKey } from './blobs.ts'

const unfinishedFolder = 'unfinished'
/** Maximum number of paths in `durableFolders`. */
const foldersMax = 20_000

export function createFileBlobs(directory: string): Blobs {
  const finalPath = (key: string) => join(directory, pathOfKey(key))
  const unfinishedPath = (key: string) => join(directory, unfinishedFolder, key)

  /** Folders whose entry in their parent is known to be on disk. */
  const durableFolders = new Set<string>()

  /** Creates a folder and its parents. Syncs the entry of each folder in its parent, even if another process created the folder. */
  async function makeFolder(path: string) {
    if (durableFolders.has(path)) return
    if (path === directory) await fs.mkdir(path, { recursive: true, mode: 0o700 })
    else {
      await makeFolder(dirname(path))
      await fs.mkdir(path, { mode: 0o700 }).catch(ignoreExisting)
    }
    await syncFolder(dirname(path))
    if (durableFolders.size > foldersMax) durableFolders.clear()
    durableFolders.add(path)
  }

  return {
    async write(key, content) {
      const [final, partial] = [finalPath(key), unfinishedPath(key)]
      await makeFolder(dirname(partial))
      const file = await fs.open(partial, 'wx', 0o600)
      try {
        for await (const piece of content) await writeAll(file, piece)
        await file.sync()
      } finally {
        await file.close()
      }
      await makeFolder(dirname(final))
      await fs.rename(partial, final)
      await syncFolder(dirname(final))
    },

    async read(key, range) {
      const file = await fs.open(finalPath(key), constants.O_RDONLY).catch(ignoreMissing)
      return file?.createReadStream({
        highWaterMark: 256 * 1024,
        ...(range && { start: range.first, end: range.last }),
      })
    },

    async remove(key) {
      for (const path of [unfinishedPath(key), finalPath(key)]) await fs.unlink(path).catch(ignoreMissing)
    },

    async *keys() {
      for (const level1 of await namesIn(directory)) {
        if (level1 === unfinishedFolder) yield* filesIn(join(directory, level1))
        else
          for (const level2 of await namesIn(join(directory, level1))) yield* filesIn(join(directory, level1, level2))
      }
    },
  }
}

async function writeAll(file: fs.FileHandle, piece: Uint8Array) {
  for (let offset = 0; offset < piece.length; ) offset += (await file.write(piece, offset)).bytesWritten
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
    const status = await fs.stat(join(folder, key)).catch(ignoreMissing)
    if (status?.isFile()) yield { key, changedAt: status.mtime }
  }
}

const namesIn = async (folder: string) => (await fs.readdir(folder).catch(ignoreMissing)) ?? []

function ignoreMissing(error: unknown): undefined {
  const code = (error as { code?: string }).code
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
}

function ignoreExisting(error: unknown) {
  if ((error as { code?: string }).code !== 'EEXIST') throw error
}
