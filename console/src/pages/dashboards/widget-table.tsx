/** A table of endpoints. */
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { titleOf, type WidgetOf } from './definition.ts'
import {
  cellOf,
  sortedBySeries,
  titleOfColumn,
  useEndpoints,
  useNewestValues,
  valueOfField,
} from './endpoint-fields.tsx'
import { WidgetNote } from './widget-notes.tsx'
import { widgetTexts as texts } from './widget-texts.ts'

const limitDefault = 100
/** Number of rows that are shown at first, and added on request. A table with all rows could slow down the page. */
const shownStep = 50

export function TableWidget({ widget }: { widget: WidgetOf<'table'> }) {
  const { application, filter, sort, columns, limit = limitDefault } = widget
  const list = useEndpoints({ application, filter, sort, limit })
  const { newest, problem, reload } = useNewestValues(list.items, [...columns, sort?.replace(/^-/, '') ?? ''])
  const [shown, setShown] = useState(shownStep)
  if (list.problem) return <ErrorNote problem={list.problem} onRetry={list.reload} />
  if (list.isLoading) return <Loading label={texts.loading} lines={6} />
  const rows = sortedBySeries(list.items.slice(0, limit), sort, newest)
  if (rows.length === 0) return <WidgetNote icon="cpu">{texts.noEndpoints}</WidgetNote>
  const more = Math.min(shownStep, rows.length - shown)
  return (
    <>
      {problem && <ErrorNote problem={problem} onRetry={reload} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard */}
      <section className="widget-scroll" tabIndex={0} aria-label={withoutInvisible(cut(titleOf(widget), 80).shown)}>
        <table className="plain-table widget-table">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  <Text value={titleOfColumn(column)} max={40} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((endpoint) => (
              <tr key={endpoint.endpointId}>
                {columns.map((column) => (
                  <td
                    key={column}
                    className={typeof valueOfField(endpoint, column, newest) === 'number' ? 'number-cell' : undefined}
                  >
                    {cellOf(endpoint, column, newest)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {more > 0 && (
          <div className="widget-more">
            <Button size="small" onPress={() => setShown(shown + shownStep)}>
              {texts.showMore(more)}
            </Button>
          </div>
        )}
      </section>
    </>
  )
}
