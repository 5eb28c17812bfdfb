import { useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'
import { CopyButton, saveText } from './copy.tsx'
import { Note } from './notes.tsx'
import { texts } from './texts.ts'

/**
 * Shows a secret that the platform returns only once; the user can copy it or save it as a file. The console never stores it. The secret
 * gets the focus, because the form that had the focus no longer exists: a screen reader then reads the secret, and Tab moves to its
 * buttons.
 */
export function Secret({ label, value, fileName }: { label: string; value: string; fileName: string }) {
  const id = useId()
  const output = useRef<HTMLOutputElement>(null)
  useEffect(() => output.current?.focus({ preventScroll: true }), [])
  return (
    <div className="secret">
      <span className="field-label" id={id}>
        {label}
      </span>
      <output className="secret-value" aria-labelledby={id} tabIndex={-1} ref={output}>
        {value}
      </output>
      <div className="secret-actions">
        <CopyButton text={value} />
        <Button size="small" icon="download" onPress={() => saveText(fileName, `${value}\n`)}>
          {texts.saveFile}
        </Button>
      </div>
      <Note tone="warn">{texts.secretOnce}</Note>
    </div>
  )
}
