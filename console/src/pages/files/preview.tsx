/** Shows an image or a text. The kind is recognised by the bytes, because names and media types can be wrong. */
import { useEffect, useRef, useState } from 'react'
import { useFirstBytes } from '../../api/first-bytes.ts'
import { formatBytes } from '../../parts/amounts.tsx'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { CodeView } from '../../parts/code-view.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import type { Problem } from '../../parts/problem.ts'
import { cut, withoutInvisible } from '../../parts/text.tsx'
import { contentOf, type Item, useDownload } from './item.ts'
import { imageTypeOf, textOf } from './kinds.ts'
import { texts } from './texts.ts'

const textBytesMax = 64 * 1024
const imageBytesMax = 10 * 1024 * 1024

type Shown =
  | { kind: 'note'; note: string }
  | { kind: 'image'; address: string }
  | { kind: 'text'; text: string; bytes: number }
  | { kind: 'failed'; problem: Problem }

export function Preview({ appName, item, onClose }: { appName: string; item: Item; onClose(): void }) {
  const shown = useContent(appName, item)
  const download = useDownload(appName)
  return (
    <Dialog
      title={withoutInvisible(cut(item.name, 100).shown)}
      isOpen
      onClose={onClose}
      size="wide"
      actions={
        <>
          <Button onPress={onClose}>{texts.close}</Button>
          <Button icon="download" onPress={() => void download(item)}>
            {texts.downloadIt}
          </Button>
        </>
      }
    >
      {shown === undefined ? <Loading label={texts.loading} /> : <Content shown={shown} item={item} />}
    </Dialog>
  )
}

function Content({ shown, item: { name, size = 0 } }: { shown: Shown; item: Item }) {
  const [isBroken, setBroken] = useState(false)
  if (shown.kind === 'failed') return <ErrorNote problem={shown.problem} />
  if (shown.kind === 'note') return <Note>{shown.note}</Note>
  if (shown.kind === 'image')
    return isBroken ? (
      <Note tone="warn">{texts.imageBroken}</Note>
    ) : (
      <img
        className="file-image"
        src={shown.address}
        alt={withoutInvisible(cut(name, 100).shown)}
        onError={() => setBroken(true)}
      />
    )
  return (
    <>
      <CodeView label={texts.content} text={shown.text} />
      {shown.bytes < size && <p className="quiet">{texts.firstPart(formatBytes(shown.bytes), formatBytes(size))}</p>}
    </>
  )
}

function useContent(appName: string, item: Item): Shown | undefined {
  const [shown, setShown] = useState<Shown>()
  const read = useRef(useFirstBytes())
  useEffect(() => {
    let address: string | undefined
    let isClosed = false
    void contentShown(read.current, appName, item).then((next) => {
      if (next.kind === 'image') address = next.address
      if (!isClosed) setShown(next)
      else if (address) URL.revokeObjectURL(address)
    })
    return () => {
      isClosed = true
      if (address) URL.revokeObjectURL(address)
    }
  }, [appName, item])
  return shown
}

async function contentShown(read: ReturnType<typeof useFirstBytes>, appName: string, item: Item): Promise<Shown> {
  if (item.size === 0) return { kind: 'note', note: texts.empty }
  const { operation, args } = contentOf(appName, item)
  const first = await read(operation, args, textBytesMax)
  if ('problem' in first) return { kind: 'failed', problem: first.problem }
  const type = imageTypeOf(first.bytes)
  if (type === undefined) {
    const text = textOf(first.bytes, first.bytes.length < (item.size ?? 0))
    return text === undefined ? { kind: 'note', note: texts.binary } : { kind: 'text', text, bytes: first.bytes.length }
  }
  if ((item.size ?? 0) > imageBytesMax) return { kind: 'note', note: texts.imageTooLarge }
  const whole = await read(operation, args, imageBytesMax)
  if ('problem' in whole) return { kind: 'failed', problem: whole.problem }
  return { kind: 'image', address: URL.createObjectURL(new Blob([whole.bytes], { type })) }
}
