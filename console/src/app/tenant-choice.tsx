import { type FormEvent, useState } from 'react'
import { consolePath } from '../api/platform.ts'
import { Button } from '../parts/button.tsx'
import { TextField } from '../parts/fields.tsx'
import { Text } from '../parts/text.tsx'
import { StandAlone } from './stand-alone.tsx'
import { recentTenants } from './tenants.ts'
import { texts } from './texts.ts'

const addressOf = (tenant: string) => `${consolePath}/${encodeURIComponent(tenant)}`

/** Asks for the tenant. */
export default function TenantChoice() {
  const recent = recentTenants()
  const [tenant, setTenant] = useState(recent[0] ?? 'default')
  const go = (event: FormEvent) => {
    event.preventDefault()
    if (tenant.trim() !== '') location.assign(addressOf(tenant.trim()))
  }
  return (
    <StandAlone title={texts.chooseTenant} text={texts.chooseTenantText}>
      <form className="form" onSubmit={go}>
        <TextField label={texts.tenant} value={tenant} onChange={setTenant} isRequired autoFocus />
        <Button look="primary" type="submit">
          {texts.continue}
        </Button>
      </form>
      {recent.length > 0 && (
        <nav aria-label={texts.recentTenants}>
          <h2>{texts.recentTenants}</h2>
          <ul className="plain-list">
            {recent.map((name) => (
              <li key={name}>
                <a className="link" href={addressOf(name)}>
                  <Text value={name} />
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </StandAlone>
  )
}
