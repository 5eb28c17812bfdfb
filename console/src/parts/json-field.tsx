import { Suspense, useId, useState } from 'react'
import { lazyFile } from './lazy-file.tsx'
import { texts } from './texts.ts'

const Editor = lazyFile(() => import('./json-editor.tsx'))

export interface JsonFieldProps {
  label: string
  name?: string
  /** The text, which may be invalid while the user types. */
  value: string
  onChange(text: string): void
  description?: string
  problem?: string | undefined
  language?: 'json' | 'javascript' | 'yaml'
}

/** Parses a text. If it is not JSON, `problem` is the reason. */
export function parseJson(
  text: string,
): { value: unknown; problem: undefined } | { value: undefined; problem: string } {
  try {
    return { value: JSON.parse(text), problem: undefined }
  } catch (error) {
    return { value: undefined, problem: texts.invalidJson((error as Error).message) }
  }
}

/** An editor for JSON, scripts or YAML. The editor is loaded when the field is first shown. */
export function JsonField({ label, name, value, onChange, description, problem, language = 'json' }: JsonFieldProps) {
  const id = useId()
  const [isTouched, setTouched] = useState(false)
  const wrong = problem ?? (isTouched && language === 'json' && value !== '' ? parseJson(value).problem : undefined)
  return (
    <div className="field">
      <span className="field-label" id={`${id}-label`}>
        {label}
        {name && <code className="field-name">{name}</code>}
      </span>
      <Suspense fallback={<div className="editor editor-loading">{texts.editorLoading}</div>}>
        <Editor
          value={value}
          onChange={onChange}
          onBlur={() => setTouched(true)}
          language={language}
          labelledBy={`${id}-label`}
          describedBy={`${id}-notes`}
          isInvalid={wrong !== undefined}
        />
      </Suspense>
      <div id={`${id}-notes`}>
        {description && <p className="field-description">{description}</p>}
        {wrong && (
          <p className="field-error" role="alert">
            {wrong}
          </p>
        )}
      </div>
    </div>
  )
}
