/** Registers an endpoint, and shows its token once. */

import { type FormEvent, useState } from 'react'
import { useApplications } from '../../api/applications.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Secret } from '../../parts/secret.tsx'
import { texts } from './texts.ts'

type Registered = BodyOf<'endpoints.create'>

export default function NewEndpointPage() {
  const [registered, setRegistered] = useState<Registered>()
  return (
    <>
      <PageHeader title={texts.newTitle} above={[{ title: texts.title, to: '/endpoints' }]} lead={texts.newLead} />
      {registered ? (
        <Made endpoint={registered} onAnother={() => setRegistered(undefined)} />
      ) : (
        <EndpointForm onMade={setRegistered} />
      )}
    </>
  )
}

function EndpointForm({ onMade }: { onMade(endpoint: Registered): void }) {
  const applications = useApplications()
  const create = useChange('endpoints.create')
  const versions = applications.items.flatMap((application) => application.versions.map(({ name }) => name))
  const form = useForm({ appVersion: '', endpointId: '', name: '' }, create.problem)
  const { appVersion, endpointId, name } = form.values
  const chosen = appVersion === '' ? (versions[0] ?? '') : appVersion
  const body = {
    appVersion: { name: chosen },
    ...(endpointId !== '' && { endpointId }),
    ...(name !== '' && { metadata: { name } }),
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind === 'done') onMade(outcome.body)
  }
  if (applications.isLoading) return <Loading label={texts.loading} />
  if (versions.length === 0)
    return (
      <EmptyState
        icon="layers"
        title={texts.newTitle}
        actions={<LinkButton to="/applications">{texts.toApplications}</LinkButton>}
      >
        {texts.noVersions}
      </EmptyState>
    )
  return (
    <Card>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <SelectField
          label={texts.version}
          {...form.field('appVersion')}
          value={chosen}
          options={versions.map((version) => ({ value: version, label: version }))}
          description={texts.versionNote}
          isRequired
        />
        <TextField label={texts.id} {...form.field('endpointId')} description={texts.idNote} mono />
        <TextField label={texts.name} {...form.field('name')} name="metadata.name" description={texts.nameNote} />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <AsCommand operation="endpoints.create" args={{ body }} />
          <LinkButton to="/endpoints">{texts.cancel}</LinkButton>
          <Button look="primary" type="submit" isBusy={create.isRunning}>
            {texts.submit}
          </Button>
        </div>
      </form>
    </Card>
  )
}

function Made({ endpoint: { endpointId, token }, onAnother }: { endpoint: Registered; onAnother(): void }) {
  return (
    <Card title={texts.created}>
      <div className="form">
        <Secret label={texts.token} value={token} fileName={`${endpointId}.token`} />
        <div className="form-actions">
          <Button onPress={onAnother}>{texts.another}</Button>
          <LinkButton to={`/endpoints/${encodeURIComponent(endpointId)}`} look="primary">
            {texts.toEndpoint}
          </LinkButton>
        </div>
      </div>
    </Card>
  )
}
