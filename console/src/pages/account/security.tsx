/** Password and second factors of the caller. */
import type { FormEvent } from 'react'
import { useSession } from '../../api/client.ts'
import type { BodyOf } from '../../api/operation-types.ts'
import { baseUrl } from '../../api/platform.ts'
import { useChange } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useForm } from '../../parts/form.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type SecondFactorState = NonNullable<BodyOf<'me.profile.get'>['secondFactor']>

export function Password() {
  const change = useChange('me.password.update')
  const form = useForm({ presentPassword: '', newPassword: '' }, change.problem)
  const { session } = useSession()
  const toast = useToast()
  async function submit(event: FormEvent) {
    event.preventDefault()
    const outcome = await change.run({ body: form.values })
    if (outcome.kind !== 'done') return
    form.markSaved()
    toast(texts.passwordChanged)
    await session.signInAgain('here')
  }
  return (
    <Card title={texts.password}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextField
          label={texts.presentPassword}
          {...form.field('presentPassword')}
          type="password"
          autoComplete="current-password"
          isRequired
        />
        <TextField
          label={texts.newPassword}
          {...form.field('newPassword')}
          description={texts.newPasswordNote}
          type="password"
          autoComplete="new-password"
          isRequired
        />
        {form.otherProblem && <ErrorNote problem={form.otherProblem} />}
        <p className="field-description">{texts.passwordNote}</p>
        <div className="form-actions">
          <Button
            type="submit"
            isBusy={change.isRunning}
            isDisabled={form.values.presentPassword === '' || form.values.newPassword === ''}
          >
            {texts.changePassword}
          </Button>
        </div>
      </form>
    </Card>
  )
}

export function SecondFactors({ state: { rule, factors, recoveryCodes } }: { state: SecondFactorState }) {
  const { session } = useSession()
  return (
    <Card
      title={texts.factors}
      actions={
        rule !== 'off' && (
          <Button
            size="small"
            icon="external"
            onPress={() => void window.open(`${baseUrl}/auth/realms/${encodeURIComponent(session.tenant)}/account`)}
          >
            {texts.manageFactors}
          </Button>
        )
      }
    >
      <div className="stack">
        <p>{texts.rules[rule]}</p>
        {factors.length === 0 && rule !== 'off' && <p className="quiet">{texts.factorsEmpty}</p>}
        {factors.length > 0 && (
          <div className="scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th scope="col">{texts.factorColumns.name}</th>
                  <th scope="col">{texts.factorColumns.kind}</th>
                  <th scope="col">{texts.factorColumns.added}</th>
                  <th scope="col">{texts.factorColumns.used}</th>
                </tr>
              </thead>
              <tbody>
                {factors.map((factor) => (
                  <tr key={`${factor.kind}/${factor.createdAt}`}>
                    <th scope="row">
                      <Text value={factor.name} max={60} />
                    </th>
                    <td>{texts.factorKinds[factor.kind]}</td>
                    <td>
                      <Time value={factor.createdAt} />
                    </td>
                    <td>{factor.lastUsedAt ? <Time value={factor.lastUsedAt} /> : texts.never}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {factors.length > 0 && <p className="quiet">{texts.recoveryCodes(recoveryCodes)}</p>}
      </div>
    </Card>
  )
}
