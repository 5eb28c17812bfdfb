import { useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'
import { CopyButton, saveText } from './copy.tsx'
import { Note } from './notes.tsx'
import { texts } from './texts.ts'

/**
 * A secret that the platform shows once: copy it or save it as a file. It is never stored by the console. It gets the focus, because the
 * form that had it is gone: a screen reader reads the secret, and Tab goes to its buttons.
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
