/** Creates credentials, and shows their secret once. */
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useMe } from '../../api/me.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { useChange } from '../../api/query.ts'
import { oneOf, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Facts } from '../../parts/card.tsx'
import { CopyButton, saveText } from '../../parts/copy.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { LinkButton } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type Issued = BodyOf<'x509Credentials.create'>
type Created = BodyOf<'basicCredentials.create'>
type Kind = 'basic' | 'x509'

const listOf = (kind: Kind) => (kind === 'basic' ? '/credentials' : `/credentials?kind=${kind}`)
const aboveOf = (kind: Kind) => [{ title: texts.title, to: listOf(kind) }]

export default function NewCredentialsPage() {
  const address = useAddressState({ kind: oneOf(['basic', 'x509'], 'basic') })
  const { kind } = address.values
  const [basic, setBasic] = useState<Created>()
  const [x509, setX509] = useState<Issued>()
  const isCreated = basic !== undefined || x509 !== undefined
  return (
    <>
      <PageHeader title={isCreated ? texts.createdTitle[kind] : texts.create[kind]} above={aboveOf(kind)} />
      <Card>
        {basic ? (
          <CreatedBasic created={basic} />
        ) : x509 ? (
          <IssuedCertificate issued={x509} />
        ) : kind === 'basic' ? (
          <BasicForm onMade={setBasic} />
        ) : (
          <X509Form onMade={setX509} />
        )}
      </Card>
    </>
  )
}

function BasicForm({ onMade }: { onMade(created: Created): void }) {
  const create = useChange('basicCredentials.create')
  const form = useForm({ username: '', password: '' }, create.problem)
  const toast = useToast()
  const { username, password } = form.values
  async function submit(event: FormEvent) {
    event.preventDefault()
    const body = { ...(username !== '' && { username }), ...(password !== '' && { password }) }
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.made)
    onMade(outcome.body)
  }
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <TextField label={texts.username} {...form.field('username')} description={texts.usernameNote} mono autoFocus />
      <TextField
        label={texts.password}
        {...form.field('password')}
        description={texts.passwordNote}
        type="password"
        autoComplete="new-password"
      />
      {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
      <div className="form-actions">
        <AsCommand operation="basicCredentials.create" args={{ body: username === '' ? {} : { username } }} />
        <LinkButton to={listOf('basic')}>{texts.cancel}</LinkButton>
        <Button look="primary" type="submit" isBusy={create.isRunning}>
          {texts.submit}
        </Button>
      </div>
    </form>
  )
}

function X509Form({ onMade }: { onMade(issued: Issued): void }) {
  const create = useChange('x509Credentials.create')
  const form = useForm({ commonName: '', ttl: '31536000' }, create.problem)
  const toast = useToast()
  const { commonName, ttl } = form.values
  const body = { ...(commonName !== '' && { commonName }), ttl: Number(ttl) }
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await create.run({ body })
    if (outcome.kind !== 'done') return
    toast(texts.made)
    onMade(outcome.body)
  }
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <TextField
        label={texts.commonName}
        {...form.field('commonName')}
        description={texts.commonNameNote}
        mono
        autoFocus
      />
      <SelectField
        label={texts.lifetime}
        {...form.field('ttl')}
        options={Object.entries(texts.lifetimes).map(([value, label]) => ({ value, label }))}
        isRequired
      />
      {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
      <div className="form-actions">
        <AsCommand operation="x509Credentials.create" args={{ body }} />
        <LinkButton to={listOf('x509')}>{texts.cancel}</LinkButton>
        <Button look="primary" type="submit" isBusy={create.isRunning}>
          {texts.submit}
        </Button>
      </div>
    </form>
  )
}

function Kept({ kind }: { kind: Kind }) {
  const [, navigate] = useLocation()
  return (
    <div className="form-actions">
      <Button look="primary" onPress={() => navigate(listOf(kind))}>
        {texts.done}
      </Button>
    </div>
  )
}

function CreatedBasic({ created: { username, password } }: { created: Created }) {
  const { data: me } = useMe()
  const mqttUser = `${username}@${me?.tenantId ?? ''}`
  return (
    <div className="form">
      <Facts
        items={[
          [
            texts.mqttUser,
            <span key="user" className="secret-actions">
              <Text value={mqttUser} mono />
              <CopyButton text={mqttUser} />
            </span>,
          ],
        ]}
      />
      <Secret label={texts.password} value={password} fileName={`${username}-password.txt`} />
      <Kept kind="basic" />
    </div>
  )
}

function IssuedCertificate({ issued }: { issued: Issued }) {
  const { commonName, serialNumber, invalidAfter, certificate, certificateChain, privateKey } = issued
  const file = commonName.replace(/[^\w.-]+/g, '-').slice(0, 60)
  return (
    <div className="form">
      <Facts
        items={[
          [texts.columns.commonName, <Text key="name" value={commonName} mono />],
          [texts.columns.serialNumber, <Text key="serial" value={serialNumber} mono />],
          [texts.columns.expires, <Time key="expires" value={invalidAfter} style="full" />],
        ]}
      />
      <Note tone="warn">{texts.filesNote}</Note>
      <div className="secret-actions">
        <Button icon="download" onPress={() => saveText(`${file}.key`, privateKey)}>
          {texts.saveKey}
        </Button>
        <Button icon="download" onPress={() => saveText(`${file}.crt`, certificate)}>
          {texts.saveCertificate}
        </Button>
        <Button icon="download" onPress={() => saveText(`${file}-chain.pem`, certificateChain)}>
          {texts.saveChain}
        </Button>
      </div>
      <Secret label={texts.privateKey} value={privateKey} fileName={`${file}.key`} />
      <Kept kind="x509" />
    </div>
  )
}
