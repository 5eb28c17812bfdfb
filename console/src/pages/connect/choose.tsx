/** The first step of connecting a device: the user chooses or creates an application version, and registers an endpoint. */

import { type FormEvent, useState } from 'react'
import { useApplications } from '../../api/applications.ts'
import { useMay } from '../../api/me.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { EmptyState, ErrorNote, Note } from '../../parts/notes.tsx'
import { cut } from '../../parts/text.tsx'
import { texts } from './texts.ts'

type Application = Pick<ItemOf<'applications.list'>, 'name'> & { versions: { name: string }[] }
interface Made {
  endpointId: string
  token: string
}

const newChoice = 'new'
const firstSuffix = 'v1'
const idLetters = 'bcdfghjkmnpqrstvwxz23456789'

/** Returns four random characters for the id of a device. They are easy to read, and the id is probably not in use yet. */
const randomPart = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => idLetters[byte % idLetters.length]).join('')

/** Returns an option for each version, and for each application that has no version yet. */
const optionsOf = (applications: Application[], mayCreate: boolean) => [
  ...applications.flatMap(({ name, versions }) =>
    versions.length === 0
      ? [{ value: `application ${name}`, label: texts.firstVersion(cut(name, 60).shown) }]
      : versions.map((version) => ({ value: `version ${version.name}`, label: cut(version.name, 80).shown })),
  ),
  ...(mayCreate ? [{ value: newChoice, label: texts.newApplication }] : []),
]

export function ChooseForm({ onMade: onRegistered }: { onMade(endpoint: Made): void }) {
  const applications = useApplications()
  const may = useMay()
  if (applications.isLoading) return <Loading label={texts.loading} />
  if (applications.problem && !applications.isRead)
    return <ErrorNote problem={applications.problem} onRetry={applications.reload} />
  const mayCreate = may('tenant:application:create') || may('platform:application:create')
  const options = optionsOf(applications.items, mayCreate)
  if (options.length === 0)
    return (
      <EmptyState icon="lock" title={texts.title}>
        {texts.mayNotCreate}
      </EmptyState>
    )
  return <ChoiceForm options={options} onMade={onRegistered} />
}

function ChoiceForm({
  options,
  onMade: onRegistered,
}: {
  options: { value: string; label: string }[]
  onMade(endpoint: Made): void
}) {
  const create = useCreation()
  const form = useForm(
    { choice: options[0]!.value, name: texts.applicationDefault, endpointId: texts.idDefault(randomPart()) },
    create.problem,
  )
  const { choice, name, endpointId } = form.values
  async function submit(event: FormEvent) {
    event.preventDefault()
    const creation = await create.run(choice, name, endpointId)
    if (creation) onRegistered(creation)
  }
  return (
    <Card>
      <form className="form" onSubmit={(event) => void submit(event)}>
        {options.length > 1 && (
          <SelectField
            label={texts.version}
            value={choice}
            onChange={(key) => form.set({ choice: key })}
            options={options}
            description={texts.versionNote}
            isRequired
          />
        )}
        {choice === newChoice && (
          <TextField
            label={texts.application}
            {...form.field('name')}
            description={texts.applicationNote(`${name}-${firstSuffix}`)}
            isRequired
            mono
          />
        )}
        <TextField label={texts.id} {...form.field('endpointId')} description={texts.idNote} isRequired mono />
        {create.done && <Note>{create.done}</Note>}
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <div className="form-actions">
          <Button look="primary" type="submit" isBusy={create.isRunning}>
            {texts.create}
          </Button>
        </div>
      </form>
    </Card>
  )
}

/**
 * Creates the application, the version and the endpoint, one after the other, as far as they are missing. A second attempt does not create
 * again what the first attempt has created.
 */
function useCreation() {
  const application = useChange('applications.create')
  const version = useChange('applications.versions.create')
  const endpoint = useChange('endpoints.create')
  const [createdNames, setCreatedNames] = useState<{ application?: string; version?: string }>({})

  async function versionOf(choice: string, name: string): Promise<string | undefined> {
    if (choice.startsWith('version ')) return choice.slice('version '.length)
    const appName = choice === newChoice ? name : choice.slice('application '.length)
    const versionName = `${appName}-${firstSuffix}`
    if (createdNames.version === versionName) return versionName
    if (choice === newChoice && createdNames.application !== appName) {
      if ((await application.run({ body: { name: appName } })).kind !== 'done') return undefined
      setCreatedNames({ application: appName })
    }
    const outcome = await version.run({ appName, body: { nameSuffix: firstSuffix } })
    if (outcome.kind !== 'done') return undefined
    setCreatedNames({ application: appName, version: versionName })
    return versionName
  }

  return {
    async run(choice: string, name: string, endpointId: string): Promise<Made | undefined> {
      for (const { reset } of [application, version, endpoint]) reset()
      const versionName = await versionOf(choice, name)
      if (versionName === undefined) return undefined
      const outcome = await endpoint.run({ body: { appVersion: { name: versionName }, endpointId } })
      return outcome.kind === 'done' ? { endpointId: outcome.body.endpointId, token: outcome.body.token } : undefined
    },
    isRunning: application.isRunning || version.isRunning || endpoint.isRunning,
    problem: application.problem ?? version.problem ?? endpoint.problem,
    /** Text that names the application or version that a failed attempt has created. Undefined if it has created none. */
    done:
      version.problem && createdNames.application !== undefined
        ? texts.madeApplication(createdNames.application)
        : endpoint.problem && createdNames.version !== undefined
          ? texts.madeVersion(createdNames.version)
          : undefined,
  }
}
