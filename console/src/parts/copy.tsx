import { useState } from 'react'
import { Button } from './button.tsx'
import { texts } from './texts.ts'
import { useToast } from './toast.tsx'

/** A button that copies a text and confirms it. */
export function CopyButton({ text, label = texts.copy }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const toast = useToast()
  async function copy() {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      setTimeout(() => setCopied(false), 2_000)
    } catch {
      toast(texts.copyFailed, 'bad')
    }
  }
  return (
    <Button size="small" icon={isCopied ? 'check' : 'copy'} onPress={() => void copy()}>
      {isCopied ? texts.copied : label}
    </Button>
  )
}

/** Saves a text as a file, as a download of the browser. */
export function saveText(name: string, text: string, type = 'text/plain') {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const anchor = document.createElement('a')
  anchor.href = address
  anchor.download = name
  anchor.click()
  setTimeout(() => URL.revokeObjectURL(address), 1_000)
}

/** Begins the download of an address that needs no token. */
export function openDownload(address: string, name: string) {
  const anchor = document.createElement('a')
  anchor.href = address
  anchor.download = name
  anchor.click()
}
