/** Documents of an application: whether samples are kept, which pipeline processes them, and the newest documents. */
import { useState } from 'react'
import { useApplicationChoice } from '../../api/application-choice.ts'
import { useMay, useMe } from '../../api/me.ts'
import { useGet } from '../../api/query.ts'
import type { AddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar, SearchBox } from '../../parts/filter-bar.tsx'
import { JsonView } from '../../parts/json-view.tsx'
import { Link, LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { DocumentSettings } from './document-settings.tsx'
import { documentTexts as texts } from './texts.ts'

export const whichDocuments = ['all', 'failed'] as const
const rowsMax = 50

type Address = AddressState<{ application: string; endpoint: string; which: (typeof whichDocuments)[number] }>

export function Documents({ address }: { address: Address }) {
  const choice = useApplicationChoice(address)
  const { application } = choice
  const may = useMay()
  if (choice.problem) return <ErrorNote problem={choice.problem} onRetry={choice.reload} />
  if (choice.isEmpty)
    return (
      <EmptyState
        icon="layers"
        title={texts.noApplicationTitle}
        actions={<LinkButton to="/applications">{texts.createApplication}</LinkButton>}
      >
        {texts.noApplicationText}
      </EmptyState>
    )
  return (
    <>
      <FilterBar address={{ ...address, isChanged: false }}>
        <SelectField
          label={texts.application}
          value={application}
          onChange={(application) => address.set({ application })}
          options={choice.options}
          isCompact
        />
      </FilterBar>
      {application !== '' && (
        <>
          <DocumentSettings key={application} applicationName={application} />
          {may('endpoint:read') && <Newest applicationName={application} address={address} />}
        </>
      )}
    </>
  )
}

interface Hit {
  _id: string
  _source: Record<string, unknown>
}

function Newest({ applicationName, address }: { applicationName: string; address: Address }) {
  const { endpoint, which } = address.values
  const { data: me } = useMe()
  const [shown, setShown] = useState<Hit>()
  const filter = [
    ...(endpoint.trim() === '' ? [] : [{ term: { endpointId: endpoint.trim() } }]),
    ...(which === 'failed' ? [{ exists: { field: 'ingestError' } }] : []),
  ]
  const body = { query: { bool: { filter } }, sort: [{ '@timestamp': 'desc' }], size: rowsMax }
  const found = useGet(
    'ingest.documents.search',
    { tenantID: me?.tenantId ?? '', applicationName, body },
    { enabled: me !== undefined },
  )
  const { hits: page } = (found.data ?? {}) as { hits?: { total: { value: number }; hits: Hit[] } }
  const hits = page?.hits ?? []
  return (
    <Card
      title={texts.newest}
      actions={
        <AsCommand operation="ingest.documents.search" args={{ tenantID: me?.tenantId ?? '', applicationName, body }} />
      }
    >
      <FilterBar address={{ isChanged: filter.length > 0, invalid: [], reset: () => address.set(noConditions) }}>
        <SearchBox label={texts.endpoint} value={endpoint} onChange={(endpoint) => address.set({ endpoint })} />
        <Segments
          label={texts.which}
          options={whichDocuments.map((value) => ({ value, label: texts.whichOf[value] }))}
          value={which}
          onChange={(which) => address.set({ which })}
        />
      </FilterBar>
      {found.isLoading && <Loading label={texts.loading} />}
      {found.problem && <ErrorNote problem={found.problem} onRetry={() => void found.reload()} />}
      {page && hits.length === 0 && (
        <EmptyState icon="database" title={texts.noneTitle}>
          {filter.length > 0 ? texts.noneMatch : texts.none}
        </EmptyState>
      )}
      {hits.length > 0 && (
        <>
          <p className="quiet">{texts.found(page!.total.value, hits.length)}</p>
          <HitTable hits={hits} onShow={setShown} />
        </>
      )}
      <Dialog title={texts.documentTitle} isOpen={shown !== undefined} onClose={() => setShown(undefined)} size="wide">
        {shown && <JsonView label={texts.documentTitle} value={shown._source} />}
      </Dialog>
    </Card>
  )
}

const noConditions = { endpoint: '', which: 'all' as const }

/** Returns a value if it is a text. A pipeline may put a value of any type into a document. */
const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

const HitTable = ({ hits, onShow }: { hits: Hit[]; onShow(hit: Hit): void }) => (
  <div className="scroll-x">
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{texts.columns.time}</th>
          <th scope="col">{texts.columns.endpoint}</th>
          <th scope="col">{texts.columns.document}</th>
          <td>
            <span className="visually-hidden">{texts.open}</span>
          </td>
        </tr>
      </thead>
      <tbody>
        {hits.map((hit) => {
          const endpointId = textOf(hit._source.endpointId)
          return (
            <tr key={hit._id}>
              <td>
                <Time value={textOf(hit._source['@timestamp'])} style="full" />
              </td>
              <td>
                {endpointId === undefined ? (
                  <Text value={hit._source.endpointId} max={60} />
                ) : (
                  <Link to={`/endpoints/${encodeURIComponent(endpointId)}`}>
                    <Text value={endpointId} max={60} />
                  </Link>
                )}
              </td>
              <td>
                {hit._source.ingestError !== undefined && <Badge tone="bad">{texts.failed}</Badge>}{' '}
                <Text value={hit._source.dataSample ?? hit._source} max={160} mono />
              </td>
              <td className="cell-actions">
                <Button size="small" look="quiet" icon="eye" onPress={() => onShow(hit)} aria-label={texts.open} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  </div>
)
