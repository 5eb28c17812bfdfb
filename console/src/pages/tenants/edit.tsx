/** Creates a tenant with its first administrator, whose generated password is shown once. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Secret } from '../../parts/secret.tsx'
import { useToast } from '../../parts/toast.tsx'
import { subscriptionOptions, usePackageOptions } from './form.tsx'
import { texts } from './texts.ts'

type Created = BodyOf<'tenants.create'>
const above = [{ title: texts.title, to: '/tenants' }]
const pageOf = (id: string) => `/tenants/${encodeURIComponent(id)}`

const empty = {
  name: '',
  tenant_id: '',
  package_type: '',
  subscription_type: 'TRIAL',
  username: 'admin',
  email: '',
  first_name: '',
  last_name: '',
}

export default function NewTenantPage() {
  const [createdTenant, setCreatedTenant] = useState<Created>()
  return createdTenant ? <CreatedTenant tenant={createdTenant} /> : <NewTenant onMade={setCreatedTenant} />
}

function CreatedTenant({ tenant }: { tenant: Created }) {
  const [, navigate] = useLocation()
  const { admin, name, tenant_id, id } = tenant
  return (
    <>
      <PageHeader title={texts.createdTitle(name.slice(0, 80))} above={above} />
      <Card>
        <div className="form">
          {admin.password !== undefined && (
            <Secret
              label={texts.password(admin.username.slice(0, 80))}
              value={admin.password}
              fileName={`waypost-${tenant_id}-password.txt`}
            />
          )}
          <div className="form-actions">
            <Button look="primary" onPress={() => navigate(pageOf(id))}>
              {admin.password === undefined ? texts.toTenant : texts.done}
            </Button>
          </div>
        </div>
      </Card>
    </>
  )
}

function NewTenant({ onMade }: { onMade(created: Created): void }) {
  const create = useChange('tenants.create')
  const form = useForm(empty, create.problem)
  const packages = usePackageOptions()
  const toast = useToast()
  const { name, tenant_id, package_type, subscription_type, username, email, first_name, last_name } = form.values
  const body = {
    name,
    ...(tenant_id !== '' && { tenant_id }),
    ...(package_type !== '' && { package_type }),
    subscription_type: subscription_type as Created['subscription_type'],
    admin: { username, email, first_name, last_name },
  }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.created)
    onMade(outcome.body)
  }
  return (
    <>
      <PageHeader title={texts.newTitle} above={above} />
      <Card>
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField label={texts.name} {...form.field('name')} isRequired autoFocus />
          <TextField label={texts.tenantId} {...form.field('tenant_id')} description={texts.tenantIdNote} mono />
          <SelectField
            label={texts.package}
            {...form.field('package_type')}
            options={packages}
            description={texts.packageNote}
          />
          <SelectField
            label={texts.subscription}
            {...form.field('subscription_type')}
            options={subscriptionOptions}
            isRequired
          />
          <h2>{texts.adminTitle}</h2>
          <TextField label={texts.username} {...form.field('username')} description={texts.passwordNote} isRequired />
          <TextField label={texts.email} {...form.field('email')} type="email" isRequired />
          <TextField label={texts.firstName} {...form.field('first_name')} isRequired />
          <TextField label={texts.lastName} {...form.field('last_name')} isRequired />
          {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
          <div className="form-actions">
            <AsCommand operation="tenants.create" args={{ body }} />
            <LinkButton to="/tenants">{texts.cancel}</LinkButton>
            <Button look="primary" type="submit" isBusy={create.isRunning}>
              {texts.submit}
            </Button>
          </div>
        </form>
      </Card>
    </>
  )
}
