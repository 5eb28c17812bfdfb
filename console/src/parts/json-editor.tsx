/**
 * CodeMirror with the colours of the console, because its own colours have too little contrast in the dark theme. Import it lazily, as
 * `json-field.tsx` does.
 */
import { javascript } from '@codemirror/lang-javascript'
import { json } from '@codemirror/lang-json'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Compartment, EditorState } from '@codemirror/state'
import { keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { basicSetup, EditorView } from 'codemirror'
import { useEffect, useRef } from 'react'

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.attributeName], color: 'var(--code-name)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--code-value)' },
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: 'var(--code-word)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
])

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--input)', color: 'var(--ink)', fontSize: '13px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--ink)', minHeight: '8rem' },
  '.cm-gutters': { backgroundColor: 'var(--ground)', color: 'var(--soft)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'var(--selection)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--raised)',
    color: 'var(--ink)',
    borderColor: 'var(--line-strong)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-soft)', outline: 'none' },
})

const languages = { json, javascript, yaml }

export interface EditorProps {
  value: string
  onChange(text: string): void
  onBlur?(): void
  language: keyof typeof languages
  labelledBy: string
  describedBy: string
  isInvalid: boolean
  isReadOnly?: boolean
}

export default function JsonEditor({
  value,
  onChange,
  onBlur,
  language,
  labelledBy,
  describedBy,
  isInvalid,
  isReadOnly = false,
}: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const handlers = useRef({ onChange, onBlur })
  handlers.current = { onChange, onBlur }
  const attributes = useRef(new Compartment())

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor keeps its state; later values are set below
  useEffect(() => {
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          basicSetup,
          // Tab has no key binding, so that Tab leaves the editor as in every other field.
          keymap.of([]),
          languages[language](),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          EditorState.readOnly.of(isReadOnly),
          attributes.current.of([]),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) handlers.current.onChange(state.doc.toString())
          }),
          EditorView.domEventHandlers({ blur: () => handlers.current.onBlur?.() }),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [language, isReadOnly])

  useEffect(() => {
    view.current?.dispatch({
      effects: attributes.current.reconfigure(
        EditorView.contentAttributes.of({
          'aria-labelledby': labelledBy,
          'aria-describedby': describedBy,
          'aria-invalid': String(isInvalid),
          'aria-multiline': 'true',
        }),
      ),
    })
  }, [labelledBy, describedBy, isInvalid])

  useEffect(() => {
    const editor = view.current
    if (!editor || editor.state.doc.toString() === value) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } })
  }, [value])

  return <div ref={host} className={isInvalid ? 'editor editor-invalid' : 'editor'} />
}
