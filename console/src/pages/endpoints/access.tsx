/** Shows the tokens of the device, and who may see, change or delete the endpoint, and why. */
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { ConfirmDelete } from '../../parts/confirm-delete.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { Menu, type MenuEntry } from '../../parts/menu.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { Reasons } from '../../parts/reasons.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import type { TabProps } from './tab.ts'
import { tabTexts as texts } from './tab-texts.ts'

type Token = ItemOf<'tokens.list'>

export default function AccessTab(props: TabProps) {
  const may = useMay()
  const maySeePeople = ['identity:user:read', 'identity:role:read', 'identity:grant:read'].every((scope) => may(scope))
  return (
    <>
      <Tokens {...props} />
      {maySeePeople && <WhoMay {...props} />}
    </>
  )
}

const tones: Record<Token['status'], Tone> = { Active: 'good', Inactive: 'quiet', Suspended: 'warn', Revoked: 'bad' }

function Tokens({ endpoint: { endpointId, appName }, mayUpdate }: TabProps) {
  const tokens = useList('tokens.list', { endpointId, limit: 100 }, { refreshMs: 10_000 })
  const create = useChange('tokens.create')
  const [createdToken, setCreatedToken] = useState<string>()
  async function run() {
    const outcome = await create.run({ endpointId, body: { applicationName: appName } })
    if (outcome.kind === 'done') setCreatedToken(outcome.body.token)
  }
  return (
    <Card
      title={texts.tokens}
      actions={
        <>
          <AsCommand operation="tokens.list" args={{ endpointId }} />
          {mayUpdate && (
            <Button size="small" icon="plus" onPress={() => void run()} isBusy={create.isRunning}>
              {texts.createToken}
            </Button>
          )}
        </>
      }
      flush
    >
      <div className="card-note form">
        <p className="quiet">{texts.tokensNote}</p>
        {createdToken !== undefined && (
          <Secret label={texts.tokenMade} value={createdToken} fileName={`${endpointId}.token`} />
        )}
        {(create.problem ?? tokens.problem) && <ErrorNote problem={(create.problem ?? tokens.problem)!} />}
        {tokens.isLoading && <Loading label={texts.loading} />}
        {tokens.isRead && tokens.items.length === 0 && <p>{texts.tokensNone}</p>}
      </div>
      {tokens.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.tokenId}</th>
                <th scope="col">{texts.status}</th>
                <th scope="col">{texts.created}</th>
                <th scope="col">{texts.changed}</th>
                <td>
                  <span className="visually-hidden">{texts.actions}</span>
                </td>
              </tr>
            </thead>
            <tbody>
              {tokens.items.map((token) => (
                <tr key={token.endpointTokenId}>
                  <th scope="row">
                    <Text value={token.endpointTokenId} mono max={40} />
                  </th>
                  <td>
                    <Badge tone={tones[token.status]}>{texts.tokenStates[token.status]}</Badge>
                  </td>
                  <td>
                    <Time value={token.createdDate} />
                  </td>
                  <td>
                    <Time value={token.updatedDate} />
                  </td>
                  <td className="cell-actions">{mayUpdate && <TokenMenu endpointId={endpointId} token={token} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

function TokenMenu({ endpointId, token }: { endpointId: string; token: Token }) {
  const { endpointTokenId, status } = token
  const [isAsked, setAsked] = useState(false)
  const change = useChange('tokens.status.update')
  const remove = useChange('tokens.delete')
  const toast = useToast()
  async function set(next: 'Active' | 'Suspended' | 'Revoked') {
    const outcome = await change.run({ endpointId, endpointTokenId, body: { status: next } })
    if (outcome.kind === 'done') toast(texts.tokenDone)
    if (outcome.kind === 'failed') toast(outcome.problem.message, 'bad')
  }
  async function deleteIt() {
    const outcome = await remove.run({ endpointId, endpointTokenId })
    if (outcome.kind !== 'done') return
    toast(texts.tokenDone)
    setAsked(false)
  }
  const entries: MenuEntry[] = [
    ...(status === 'Active'
      ? [{ id: 'suspend', label: texts.suspend, icon: 'pause' as const, onAction: () => void set('Suspended') }]
      : []),
    ...(status === 'Suspended'
      ? [{ id: 'resume', label: texts.resume, icon: 'play' as const, onAction: () => void set('Active') }]
      : []),
    ...(status === 'Revoked'
      ? []
      : [
          {
            id: 'revoke',
            label: texts.revoke,
            icon: 'lock' as const,
            isDanger: true,
            onAction: () => void set('Revoked'),
          },
        ]),
    { id: 'delete', label: texts.deleteToken, icon: 'trash', isDanger: true, onAction: () => setAsked(true) },
  ]
  return (
    <>
      <Menu entries={entries} />
      <ConfirmDelete
        objectName={texts.tokenObjectName}
        also={[{ name: texts.tokenAlso, count: 1 }]}
        isOpen={isAsked}
        isBusy={remove.isRunning}
        problem={remove.problem}
        onConfirm={() => void deleteIt()}
        onClose={() => setAsked(false)}
      />
    </>
  )
}

const scopes = ['endpoint:read', 'endpoint:update', 'endpoint:delete'] as const

function WhoMay({ endpoint: { endpointId, appName } }: TabProps) {
  const address = useAddressState({ tab: text('now'), scope: oneOf(scopes, 'endpoint:update') })
  const { scope } = address.values
  const args = { scope, resource: [`application-${appName}`, `endpoint-${endpointId}`] }
  const holders = useList('access.list', args)
  return (
    <Card title={texts.who} actions={<AsCommand operation="access.list" args={args} />} flush>
      <div className="card-note">
        <SelectField
          label={texts.whoScope}
          value={scope}
          onChange={(key) => address.set({ scope: key as typeof scope })}
          options={scopes.map((value) => ({ value, label: texts.scopes[value], description: value }))}
          isRequired
        />
      </div>
      {holders.problem && <ErrorNote problem={holders.problem} onRetry={holders.reload} />}
      {holders.isLoading ? (
        <div className="card-note">
          <Loading label={texts.loading} />
        </div>
      ) : holders.items.length === 0 ? (
        <p className="card-note quiet">{texts.whoNone}</p>
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.whoName}</th>
                <th scope="col">{texts.whoWhy}</th>
              </tr>
            </thead>
            <tbody>
              {holders.items.slice(0, 100).map(({ subject, name, reasons }) => (
                <tr key={`${subject.type} ${subject.id}`}>
                  <th scope="row">
                    <Text value={name} max={60} />{' '}
                    <span className="quiet">{texts.subjectTypes[subject.type] ?? subject.type}</span>
                  </th>
                  <td>
                    <Reasons reasons={reasons} scope={scope} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}
