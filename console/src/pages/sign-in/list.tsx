/** Settings of the sign-in: the rule of second factors, OAuth clients, and issuers of other identity providers. */
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { Issuers } from './issuers.tsx'
import { texts } from './texts.ts'

type Rule = 'off' | 'optional' | 'required'
const rules: Rule[] = ['off', 'optional', 'required']

export default function SignInPage() {
  const may = useMay()
  return (
    <>
      <PageHeader title={texts.title} lead={texts.lead} actions={<AsCommand operation="realm.get" />} />
      {may('identity:realm:read') && <SecondFactorRule mayChange={may('identity:realm:update')} />}
      {may('identity:client:read') && <Clients mayChange={may('identity:client:update')} />}
      {may('identity:issuer:read') && <Issuers />}
    </>
  )
}

function SecondFactorRule({ mayChange }: { mayChange: boolean }) {
  const realm = useGet('realm.get', {})
  const change = useChange('realm.update', { also: ['me'] })
  const toast = useToast()
  async function save(secondFactor: Rule) {
    const outcome = await change.run({ body: { secondFactor } })
    if (outcome.kind === 'done') toast(texts.ruleSaved)
  }
  return (
    <Card title={texts.rule}>
      {realm.isLoading && <Loading label={texts.loading} lines={2} />}
      {realm.problem && <ErrorNote problem={realm.problem} onRetry={() => void realm.reload()} />}
      {realm.data && (
        <div className="form">
          <SelectField
            label={texts.rule}
            name="secondFactor"
            value={realm.data.secondFactor}
            onChange={(rule) => void save(rule as Rule)}
            options={rules.map((value) => ({ value, label: texts.rules[value] }))}
            description={texts.ruleNote}
            isDisabled={!mayChange || change.isRunning}
            isRequired
          />
          {change.problem && <ErrorNote problem={change.problem} />}
        </div>
      )}
    </Card>
  )
}

function Clients({ mayChange }: { mayChange: boolean }) {
  const list = useList('clients.list', { limit: 0 })
  const [rotating, setRotating] = useState<string>()
  return (
    <Card title={texts.clients} flush={list.items.length > 0}>
      {list.isLoading && <Loading label={texts.clients} lines={2} />}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      {list.items.length > 0 && (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.clientColumns.id}</th>
                <th scope="col">{texts.clientColumns.kind}</th>
                <th scope="col">{texts.clientColumns.roles}</th>
                <th scope="col">{texts.clientColumns.addresses}</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {list.items.map((client) => (
                <tr key={client.id}>
                  <th scope="row">
                    <Text value={client.id} max={80} mono />
                  </th>
                  <td>{texts.kinds[client.kind]}</td>
                  <td>
                    <Text value={client.roles.join(', ')} max={120} />
                  </td>
                  <td>
                    <Text value={client.redirectUris.join(', ')} max={200} mono />
                  </td>
                  <td className="cell-actions">
                    {mayChange && !client.public && (
                      <Button size="small" icon="key" onPress={() => setRotating(client.id)}>
                        {texts.rotate}
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rotating !== undefined && <RotateDialog id={rotating} onClose={() => setRotating(undefined)} />}
    </Card>
  )
}

function RotateDialog({ id, onClose }: { id: string; onClose(): void }) {
  const change = useChange('clients.secret.rotate')
  const [secret, setSecret] = useState<string>()
  const toast = useToast()
  async function run() {
    const outcome = await change.run({ id })
    if (outcome.kind !== 'done') return
    toast(texts.rotated)
    setSecret(outcome.body.secret)
  }
  return (
    <Dialog
      title={texts.rotateTitle(id.slice(0, 80))}
      isOpen
      isAlert
      onClose={onClose}
      actions={
        secret === undefined ? (
          <>
            <CancelButton onPress={onClose} />
            <Button look="primary" onPress={() => void run()} isBusy={change.isRunning}>
              {texts.rotate}
            </Button>
          </>
        ) : (
          <Button look="primary" onPress={onClose}>
            {texts.done}
          </Button>
        )
      }
    >
      {secret === undefined ? (
        <p>{texts.rotateText}</p>
      ) : (
        <Secret label={texts.secret} value={secret} fileName={`${id.slice(0, 60)}-secret.txt`} />
      )}
      {change.problem && <ErrorNote problem={change.problem} />}
    </Dialog>
  )
}
