import { CopyButton } from './copy.tsx'
import { cut, Text, withoutInvisible } from './text.tsx'
import { texts } from './texts.ts'

const lengthMax = 20_000

/** Shows a script or another text of several lines unchanged. Long texts are truncated, but the copy button copies the whole text. */
export function CodeView({ text, label }: { text: string; label: string }) {
  const { shown, isCut } = cut(text, lengthMax)
  return (
    <figure className="json code-view" aria-label={label}>
      <div className="json-tools">
        <CopyButton text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard */}
      <pre tabIndex={0} dir="ltr">
        {shown.split('\n').map(withoutInvisible).join('\n')}
      </pre>
      {isCut && (
        <p className="text-more">
          <Text value={texts.more(text.length - shown.length)} />
        </p>
      )}
    </figure>
  )
}
