/** Shows which endpoints would be offered a version with each strategy. A preview changes nothing. */
import { useState } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useGet } from '../../api/query.ts'
import { Card, Loading } from '../../parts/card.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import { texts } from './texts.ts'

type Software = BodyOf<'software.get'>
type Strategy = Software['rolloutStrategy']

const strategies = Object.keys(texts.strategies) as Strategy[]
const shownMax = 10

export function Preview({ software: { appName, version, rolloutStrategy } }: { software: Software }) {
  const [chosen, setChosen] = useState<Strategy>()
  // Until the user chooses a strategy, the preview shows the strategy of the version, which changes when the rollout starts.
  const strategy = chosen ?? rolloutStrategy
  const preview = useGet('software.rollout.preview', {
    ...{ appName, softwareVersion: version, rolloutStrategy: strategy },
  })
  const { data } = preview
  return (
    <Card title={texts.preview}>
      <div className="stack">
        <SelectField
          label={texts.previewStrategy}
          name="rolloutStrategy"
          value={strategy}
          onChange={(value) => setChosen(strategies.find((known) => known === value))}
          options={strategies.map((value) => ({ value, label: texts.strategies[value] }))}
          isRequired
        />
        {preview.problem && <ErrorNote problem={preview.problem} onRetry={() => void preview.reload()} />}
        {preview.isLoading && <Loading label={texts.loading} lines={2} />}
        {data && <p>{data.endpointsCount === 0 ? texts.previewNone : texts.previewCount(data.endpointsCount)}</p>}
        {data && data.endpointsCount > 0 && <Found data={data} />}
      </div>
    </Card>
  )
}

const Found = ({ data }: { data: BodyOf<'software.rollout.preview'> }) => (
  <>
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.previewFrom}</th>
            <th scope="col">{texts.previewEndpoints}</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(data.byCurrentVersion).map(([version, number]) => (
            <tr key={version}>
              <th scope="row">
                <Text value={version} max={60} />
              </th>
              <td>{count(number)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    <h3>{texts.previewSample}</h3>
    <ul className="counts">
      {data.sample.slice(0, shownMax).map((endpointId) => (
        <li key={endpointId}>
          <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
            <Text value={endpointId} max={80} />
          </Link>
        </li>
      ))}
    </ul>
    {data.endpointsCount > shownMax && (
      <p className="quiet">{texts.previewShowEndpoints(data.endpointsCount - shownMax)}</p>
    )}
  </>
)
