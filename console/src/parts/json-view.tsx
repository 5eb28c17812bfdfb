import { CopyButton } from './copy.tsx'
import { Text, withoutInvisible } from './text.tsx'
import { texts } from './texts.ts'

const lengthMax = 20_000

/** Shows a JSON value as text. Long values are truncated, but the copy button copies the whole value. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = JSON.stringify(value, null, 2) ?? ''
  const lines = text.slice(0, lengthMax).split('\n')
  return (
    <figure className="json" aria-label={label}>
      <div className="json-tools">
        <CopyButton text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard */}
      <pre tabIndex={0} dir="ltr">
        {lines.map((line) => withoutInvisible(line)).join('\n')}
      </pre>
      {text.length > lengthMax && (
        <p className="text-more">
          <Text value={texts.more(text.length - lengthMax)} />
        </p>
      )}
    </figure>
  )
}
