import { lineDifference } from './line-difference.ts'
import { cut, withoutInvisible } from './text.tsx'
import { texts } from './texts.ts'

const linesMax = 2_000
const signs = { same: ' ', removed: '−', added: '+' } as const

/** Shows the difference between two texts: `<Difference label="Changes" before={…} after={…} />`. */
export function Difference({ label, before, after }: { label: string; before: string; after: string }) {
  const lines = lineDifference(before, after)
  if (lines.every(({ kind }) => kind === 'same')) return <p className="quiet">{texts.noDifference}</p>
  return (
    <figure className="json" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard */}
      <pre tabIndex={0} dir="ltr" className="difference">
        {lines.slice(0, linesMax).map(({ kind, text }, line) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
          <span key={line} className={`difference-${kind}`}>
            {kind === 'same' ? (
              signs.same
            ) : (
              <>
                <span aria-hidden="true">{signs[kind]}</span>
                <span className="visually-hidden">{texts[kind]}</span>
              </>
            )}{' '}
            {withoutInvisible(cut(text, 2_000).shown)}
            {'\n'}
          </span>
        ))}
      </pre>
      {lines.length > linesMax && <p className="text-more">{texts.moreLines(lines.length - linesMax)}</p>}
    </figure>
  )
}
