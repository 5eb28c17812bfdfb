/** Connects a device: creates its endpoint, shows code that sends a first message, and waits for this message. */
import { useEffect, useRef, useState } from 'react'
import { useGet } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { Loading } from '../../parts/card.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Arrival } from './arrival.tsx'
import { ChooseForm } from './choose.tsx'
import { Lines } from './lines.tsx'
import { kinds } from './snippets.ts'
import { texts } from './texts.ts'

export default function ConnectPage() {
  const address = useAddressState({ endpoint: text(), with: oneOf([...kinds, 'page'], 'mosquitto') })
  const { endpoint, with: kind } = address.values
  // The token that this page has created, and the endpoint that it identifies. The token is kept in memory only.
  const [registered, setRegistered] = useState<{ endpointId: string; token: string }>()
  const token = registered?.endpointId === endpoint ? registered.token : undefined
  useFocusOnHeading(endpoint)
  if (endpoint === '')
    return (
      <>
        <PageHeader title={texts.title} lead={texts.lead} />
        <ChooseForm
          onMade={(fresh) => {
            setRegistered(fresh)
            address.set({ endpoint: fresh.endpointId })
          }}
        />
      </>
    )
  return (
    <ConnectEndpoint
      endpointId={endpoint}
      kind={kind}
      onKind={(chosen) => address.set({ with: chosen })}
      token={token}
      onToken={(fresh) => setRegistered({ endpointId: endpoint, token: fresh })}
    />
  )
}

/** Moves the focus to the heading of the next step when that step replaces the form. */
function useFocusOnHeading(endpoint: string) {
  const last = useRef(endpoint)
  useEffect(() => {
    if (last.current === endpoint) return
    last.current = endpoint
    document.getElementById('page-title')?.focus({ preventScroll: true })
  }, [endpoint])
}

interface ConnectEndpointProps {
  endpointId: string
  kind: keyof typeof texts.kinds
  onKind(kind: keyof typeof texts.kinds): void
  token: string | undefined
  onToken(token: string): void
}

function ConnectEndpoint({ endpointId, ...lines }: ConnectEndpointProps) {
  const endpoint = useGet('endpoints.get', { endpointId })
  const above = [{ title: texts.title, to: '/connect' }]
  const { data } = endpoint
  return (
    <>
      <PageHeader title={texts.titleOf(endpointId)} above={above} lead={texts.leadOf} />
      {endpoint.isLoading && <Loading label={texts.loading} />}
      {endpoint.problem && <ErrorNote problem={endpoint.problem} onRetry={() => void endpoint.reload()} />}
      {data && (
        <div className="columns connect">
          <Lines endpoint={data} {...lines} />
          <Arrival endpoint={data} />
        </div>
      )}
    </>
  )
}
