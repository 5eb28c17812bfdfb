/** Changes name, package and subscription of a tenant. */
import type { FormEvent } from 'react'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange, useList } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Tenant = BodyOf<'tenants.get'>
type Subscription = Tenant['subscription_type']

export const subscriptionOptions = Object.entries(texts.subscriptions).map(([value, label]) => ({ value, label }))

/** Returns the packages that a tenant can have, as options. */
export function usePackageOptions() {
  const list = useList('tenants.packageTypes.list', {})
  return list.items.map(({ name, description }) => ({
    value: name,
    label: name,
    ...(description && { description: description.slice(0, 200) }),
  }))
}

export function TenantForm({ tenant, onDone }: { tenant: Tenant; onDone(): void }) {
  const change = useChange('tenants.update')
  const first = {
    name: tenant.name,
    package_type: tenant.package_type ?? '',
    subscription_type: tenant.subscription_type as string,
  }
  const form = useForm(first, change.problem)
  const packages = usePackageOptions()
  const toast = useToast()
  async function submit(event: FormEvent) {
    event.preventDefault()
    const { name, package_type, subscription_type } = form.values
    // Only the changed fields are sent, so that changes of another administrator stay.
    const body = {
      ...(name !== first.name && { name }),
      ...(package_type !== first.package_type && { package_type }),
      ...(subscription_type !== first.subscription_type && { subscription_type: subscription_type as Subscription }),
    }
    const outcome = await change.run({ tenant_pk: tenant.id, body })
    if (outcome.kind !== 'done') return
    toast(texts.saved)
    onDone()
  }
  return (
    <Card title={texts.about}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField label={texts.name} {...form.field('name')} isRequired autoFocus />
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
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <CancelButton onPress={onDone} />
          <Button look="primary" type="submit" isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}
