/** Creates an API key for the caller, and shows it once. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useMe } from '../../api/me.ts'
import { baseUrl } from '../../api/platform.ts'
import { useChange, useGet, useList } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { SelectField, SwitchField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Secret } from '../../parts/secret.tsx'
import { nowMs, utcOf } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

const above = [{ title: texts.title, to: '/api-keys' }]
const dayMs = 86_400_000

export default function NewApiKeyPage() {
  const [createdKey, setCreatedKey] = useState<{ name: string; key: string }>()
  return createdKey ? <CreatedKey made={createdKey} /> : <KeyForm onMade={setCreatedKey} />
}

function CreatedKey({ made: { name, key } }: { made: { name: string; key: string } }) {
  const [, navigate] = useLocation()
  const { data: me } = useMe()
  return (
    <>
      <PageHeader title={texts.createdTitle} above={above} />
      <Card>
        <div className="form">
          <Secret
            label={texts.key}
            value={key}
            fileName={`waypost-${me?.tenantId}-${name.replace(/[^\w-]+/g, '-').slice(0, 40)}.key`}
          />
          <p>
            {texts.tryIt} <code>{`curl -H "X-Identity-API-Key: $KEY" ${baseUrl}/iam/api/v1/me`}</code>
          </p>
          <div className="form-actions">
            <Button look="primary" onPress={() => navigate('/api-keys')}>
              {texts.done}
            </Button>
          </div>
        </div>
      </Card>
    </>
  )
}

function KeyForm({ onMade: onCreated }: { onMade(createdKey: { name: string; key: string }): void }) {
  const create = useChange('apiKeys.create')
  const form = useForm({ name: '', expiresAt: '90', isLimited: false, scopes: [] as string[] }, create.problem)
  const profile = useGet('me.profile.get', {})
  const catalogue = useList('scopes.list', {})
  const toast = useToast()
  const { name, expiresAt, isLimited, scopes } = form.values
  const ownScopes = new Set(profile.data?.scopes.map(({ scope }) => scope))
  const body = () => ({
    name,
    ...(isLimited && { scopes }),
    ...(expiresAt !== 'never' && { expiresAt: utcOf(nowMs() + Number(expiresAt) * dayMs) }),
  })
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body: body() })
    if (outcome.kind !== 'done') return
    toast(texts.created)
    onCreated(outcome.body)
  }
  return (
    <>
      <PageHeader title={texts.create} above={above} />
      <Card>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField label={texts.name} {...form.field('name')} description={texts.nameNote} isRequired autoFocus />
          <SelectField
            label={texts.expiry}
            {...form.field('expiresAt')}
            options={['30', '90', '365', 'never'].map((value) => ({ value, label: texts.expiries[value]! }))}
            isRequired
          />
          <SwitchField
            label={texts.limit}
            value={isLimited}
            onChange={(isLimited) => form.set({ isLimited })}
            description={texts.limitNote}
          />
          {isLimited && (
            <CheckList
              label={texts.scopes}
              options={catalogue.items
                .filter(({ scope }) => ownScopes.has(scope))
                .map(({ scope, sentence }) => ({ value: scope, description: sentence }))}
              {...form.field('scopes')}
            />
          )}
          {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
          <div className="form-actions">
            <AsCommand operation="apiKeys.create" args={{ body: { name, ...(isLimited && { scopes }) } }} />
            <LinkButton to="/api-keys">{texts.cancel}</LinkButton>
            <Button look="primary" type="submit" isBusy={create.isRunning}>
              {texts.submit}
            </Button>
          </div>
        </form>
      </Card>
    </>
  )
}
